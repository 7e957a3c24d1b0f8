-- The window that the last responses described (window.go): the service shows that of the minute or
-- of the day, whichever has fewer requests left.
--
-- A report r has the outcome of r.n requests that differ in nothing but Remaining, of which it has
-- the lowest:
--   limit, remaining   of the headers; limit is 0 without them
--   reset              of the header, in seconds of the service's clock
--   reset_in           the longest that it may be from the response until then
--   dated, future      the service's clock is known; Reset is later than it
--   sent, received     how long ago; exchange.lua replaces it by when

local SAME = 30000       -- largest difference between two Resets of the same window
local GRAIN = 1000       -- by which Reset may be rounded down
local MARGIN = 1000      -- added to Reset once a window ended later than its Reset

-- end_within returns when the window of a report, which was open at start, is certainly over, and
-- whether its Reset is usable. grain is by how much that may be rounded down.
local function end_within(r, start, grain)
  local slack, hour, longest = 10000, 3600000, 400 * 24 * 3600000
  if r.reset_in > longest then
    return start + MINUTE, false
  end
  local wait = r.reset_in + grain + s.margin
  local ends, most = r.received + wait, start + MINUTE
  if ends > most and ends - most <= slack then
    ends = most -- a minute's window that was open at start is over a minute later
  end
  if r.dated then
    return ends, r.future
  end
  -- Without a Date, a clock that is wrong by minutes is more likely than a window of minutes.
  local minutes = wait > MINUTE + slack and wait < hour
  return ends, not s.distrust and wait > 0 and not minutes
end

-- grain returns by how much Reset may be rounded down.
local function grain()
  return s.minutes and 0 or GRAIN
end

-- end_of is end_within for the grain of the windows.
local function end_of(r, start)
  return end_within(r, start, grain())
end

-- compare_by_hand is compare without a usable Reset: the window in which the request was sent decides.
local function compare_by_hand(r)
  if r.epoch ~= s.epoch then
    return not r.over and not s.slides and 'past' or 'same'
  end
  return r.over and 'next' or 'same'
end

-- compare returns how the window of a report relates to the known one: 'past', 'same' or 'next'. It
-- compares Resets, which are all by the service's clock.
local function compare(r, usable)
  if s.epoch == 0 then
    return 'next'
  elseif not usable then
    return compare_by_hand(r)
  elseif s.reset == 0 then
    return 'same'
  end
  local apart = (r.reset - s.reset) * 1000
  if apart > SAME then
    return 'next'
  elseif apart < -SAME then
    return r.known < s.by and 'past' or 'next' -- the service shows the window of another limit now
  elseif apart > 0 and not s.slides and s.ends - s.start < SAME + 2 * GRAIN and r.sent >= s.ends
    and r.limit - r.remaining <= r.n + s.outstanding then
    return 'next' -- windows are shorter than half a minute, as those of a test: nothing of the one before counts
  end
  return 'same'
end

-- is_minute reports whether windows are minutes of the wall clock; r is the first report of a window.
-- They are if this one ends on a full minute and began before the request.
local function is_minute(r)
  local recent = 2000
  local ends, usable = end_of(r, r.received)
  return r.reset % 60 == 0 and (s.minutes or (usable and ends - r.received < MINUTE - recent))
end

-- open begins a new window with its first report.
local function open(r)
  s.lost = keep(s.lost, function(loss)
    return may_stray(loss, r.sent)
  end)
  s.low = {}
  s.alone = math.max(s.alone, math.ceil(s.alone / 2)) -- halves it below zero
  s.minutes = is_minute(r)
  -- The second response of a fleet that begins shows whether another one began in the same instant.
  -- To wait for more of them costs a round trip each.
  s.look = s.epoch == 0 and 2 + s.outstanding or 0
  s.epoch = s.epoch + 1
  s.limit, s.shown, s.reset, s.by, s.start, s.ends, s.day, s.own = 0, 0, 0, 0, 0, 0, false, 0
end

-- count adds the requests of a report to counted, a list of {from, to, n}. Those whose responses
-- came in the same second share an entry, so that there are 62 at most.
local function count(r)
  local last, total = s.counted[#s.counted], 0
  if last and math.floor(r.received / 1000) <= math.floor(last[2] / 1000) then
    last[1], last[2], last[3] = math.min(last[1], r.sent - GRAIN), math.max(last[2], r.received), last[3] + r.n
  else
    table.insert(s.counted, {r.sent - GRAIN, r.received, r.n})
  end
  for _, c in ipairs(s.counted) do
    total = total + c[3]
  end
  while total - s.counted[1][3] >= s.limit and s.counted[2] do -- no window counts more
    total = total - table.remove(s.counted, 1)[3]
  end
end

-- describe_by_hand updates a window without a usable Reset. It is over, or if it slides has room for
-- one more, a minute after its oldest request was counted at the latest.
local function describe_by_hand(r, more)
  if more and r.remaining >= r.limit - r.n - s.outstanding then
    s.counted = {} -- a new window: the requests of the old one are not in it
  elseif more and s.epoch > 1 then
    s.slides = true
  end
  s.counted = keep(s.counted, function(c) return r.received < c[2] + MINUTE end)
  if not r.rejected then
    count(r)
  end
  -- unsure: entries that may have left the window before this response. Its Remaining then has their
  -- room already.
  local unsure, sure = 0, 0
  for i, c in ipairs(s.counted) do
    if unsure == i - 1 and r.received >= c[1] + MINUTE then
      unsure = i
    else
      sure = sure + c[3]
    end
  end
  if r.limit - r.remaining <= sure + s.outstanding then
    for _ = 1, unsure do
      table.remove(s.counted, 1)
    end
    unsure = 1 -- all of those have left the window
  end
  if s.counted[1] then
    s.ends = s.counted[math.max(unsure, 1)][2] + MINUTE + s.margin
    s.by_hand = true
  end
end

-- move_reset updates the Reset of the window, and reports whether that changes the window's end.
local function move_reset(r)
  local moved = r.reset ~= s.reset
  if not moved and not r.over then
    return false
  end
  if s.reset ~= 0 then
    s.start = r.received -- it slides: its old start may no longer be in it
  end
  if moved then
    s.slides = s.slides or s.reset ~= 0
    s.reset, s.by = r.reset, s.responses
  end
  return true
end

-- describe updates the window from a report that belongs to it.
local function describe(r, usable)
  local opened = s.start == 0
  if opened then
    s.start, s.ends = r.received, r.received + MINUTE
  end
  if r.known >= s.by then
    s.limit, s.shown = r.limit, r.reset
  end
  if not usable then
    describe_by_hand(r, opened or rose(r))
    return
  elseif s.reset ~= 0 and r.reset < s.reset and r.known < s.by then
    return
  end
  local moved = move_reset(r)
  local ends = end_of(r, s.start)
  if not moved and not s.by_hand then
    ends = math.min(s.ends, ends) -- each process has its own range of the service's clock
  end
  s.ends, s.by_hand = ends, false
  s.day = s.day or s.ends - s.start > MINUTE
end

-- learn updates the budget from the headers of a report.
local function learn(r)
  s.heard = math.max(s.heard, r.received)
  local _, usable = end_of(r, r.received)
  local order = compare(r, usable)
  if order == 'past' then
    return
  elseif order == 'next' then
    open(r)
  end
  describe(r, usable)
  if not r.rejected then
    s.own = s.own + r.n
  end
  push(r.known, r.sent, r.remaining)
  if r.elsewhere then -- other processes may have sent some as well, and not reported them yet
    s.look, s.pause = s.own + 1, now + RETURN
  elseif not r.rejected then -- a 429 may be of another window than it shows
    watch(r, order == 'next')
  end
end
