-- The window that the last answers described: the service shows the minute's or the day's, whichever has
-- fewer requests left.
--
-- A report r is of r.n answers that say the same but for their Remaining, of which it has the lowest:
--   limit, remaining   the headers, limit 0 if there were none
--   reset              the header, in seconds of the service's clock, and
--   reset_in           from when the answer came until then, as long as it may be
--   dated, ahead       there was a Date; Reset is later than it
--   sent, received     how long ago, replaced in exchange.lua by when

-- within is when the window of a report is over for certain that was open at start, and whether its Reset is of
-- any use. grain is by how much that may have been rounded down.
local function within(r, start, grain)
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
    return ends, r.ahead
  end
  -- Without a Date, a clock that is minutes off is likelier than a window of minutes.
  local minutes = wait > MINUTE + slack and wait < hour
  return ends, not s.distrust and wait > 0 and not minutes
end

local function grain()
  return s.minutes and 0 or GRAIN
end

-- compare places the window of a report. Resets are told apart by the service's own clock.
local function compare(r)
  local _, usable = within(r, r.received, grain())
  if s.epoch == 0 then
    return 'next'
  elseif not usable and r.epoch ~= s.epoch and not r.late and not s.slides then
    return 'past'
  elseif not usable and r.epoch == s.epoch and r.late then
    return 'next' -- the one before was over
  elseif not usable or not s.reset then
    return 'same'
  end
  local apart = (r.reset - s.reset) * 1000
  if apart > SAME then
    return 'next'
  elseif apart < -SAME then
    return r.known < s.by and 'past' or 'next' -- the service describes another limit now
  elseif apart > 0 and r.sent >= s.ends and r.limit - r.remaining <= r.n + s.outstanding then
    return 'next' -- a short window: the one before was over, and nothing of it counts any more
  end
  return 'same'
end

-- is_minute reports whether the window that r is the first of is a minute of the clock: it ends on one, and
-- is older than the request which otherwise would have begun it.
local function is_minute(r)
  local young = 2000
  local ends, usable = within(r, r.received, grain())
  return r.reset % 60 == 0 and (s.minutes or (usable and ends - r.received < MINUTE - young))
end

local function crowded()
  return s.shared or s.was_shared
end

-- open begins a window of which nothing is known but this report.
local function open(r)
  s.lost = keep(s.lost, function(loss)
    return r.sent - loss[3] < STRAY
  end)
  s.low = {}
  s.opening = math.max(0, r.limit - r.remaining - (r.rejected and 0 or r.n))
  s.own, s.look, s.was_shared, s.shared = 0, 0, s.shared, false
  local others = s.opening > s.outstanding
  if others or s.epoch == 0 then
    s.look = 2 + s.outstanding
  end
  if others and not s.slides then
    s.pause = r.received + PATIENCE -- somebody else may have the whole rest of the window on its way
  end
  s.minutes = is_minute(r)
  s.epoch = s.epoch + 1
  s.limit, s.shown, s.by, s.reset, s.start, s.ends, s.day = 0, 0, 0, nil, nil, 0, false
end

-- describe updates the window by a report that belongs to it.
local function describe(r)
  if not s.start then
    s.start, s.ends = r.received, r.received + MINUTE + s.margin
  end
  if r.known >= s.by then
    s.limit, s.shown = r.limit, r.reset
  end
  local _, usable = within(r, r.received, grain())
  if not usable or (s.reset and r.reset < s.reset and r.known < s.by) then
    return
  end
  local moved = r.reset ~= s.reset
  if (moved or r.late) and s.reset then
    s.start = r.received -- it slides: what was open at its start may be gone
    s.slides = s.slides or moved
  end
  local ends = within(r, s.start, grain())
  if moved or r.late then
    s.reset, s.ends = r.reset, ends
    s.by = moved and s.answers or s.by
  else
    s.ends = math.min(s.ends, ends) -- both are on the safe side
  end
  s.day = s.day or s.ends - s.start > MINUTE
end

-- learn takes over what a report says.
local function learn(r)
  s.answers = s.answers + 1
  s.heard = math.max(s.heard, r.received)
  local order = compare(r)
  if order == 'past' then
    return
  elseif order == 'next' then
    open(r)
  end
  describe(r)
  if not r.rejected then
    s.own = s.own + r.n
  end
  push(r.known, r.sent, r.remaining)
  if s.limit - r.remaining - s.opening > s.own + s.outstanding then
    s.shared = true -- somebody outside the fleet uses the key
  end
  if r.foreign then -- the others too may have sent some without the state, and have not said so yet
    s.look, s.pause = s.own + 1, now + PATIENCE
  end
end
