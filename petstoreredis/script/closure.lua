-- The gate that a 429 closes for the whole fleet (closure.go).

-- backoff returns the shortest wait after a 429: 0 after the first in a row that says how long.
local function backoff(unknown)
  if unknown then
    return MINUTE * 2 ^ math.min(s.streak - 1, 4)
  elseif s.streak > 1 then
    return math.min(1000 * 2 ^ math.min(s.streak - 2, 6), MINUTE)
  end
  return 0
end

-- closed_until returns the time until which a 429 closes the key, and the limit that closed it.
local function closed_until(r)
  local slack = 2000 -- Retry-After and Reset are both rounded
  local ends, usable = nil, false
  if r.limit > 0 then
    ends, usable = end_within(r, r.received, r.retry > 0 and 0 or grain()) -- Retry-After is rounded up
  end
  if not usable then
    ends = nil
  end
  local opens = r.retry > 0 and r.received + r.retry or 0
  if ends and (r.remaining == 0 or opens == 0) then
    opens = math.max(opens, ends)
  end
  local scope = 'minute'
  if opens - (ends or r.received + MINUTE) > slack then
    scope = 'ban'
  elseif opens - r.received > MINUTE + slack then
    scope = 'day'
  end
  return math.max(opens, r.received + backoff(not ends and r.retry <= 0)), scope
end

-- unexpected_429 learns from a 429 to a request for which there should have been room.
local function unexpected_429(r)
  if r.probe and r.epoch > 0 then -- the window was taken for over, but was not
    s.margin = MARGIN
    s.distrust = s.distrust or not r.dated
  elseif not r.probe and r.limit > 0 and r.remaining == 0 and r.retry <= MINUTE then
    s.alone = CROWDED -- foreign requests used up the window
  end
end

-- trickles reports whether short closures follow each other, without headers: the service counts in
-- a sliding window, in which requests become free one by one.
local function trickles(r)
  return s.epoch == 0 and s.closures > 1 and r.received - s.gate < MINUTE and r.retry > 0 and r.retry < MINUTE / 2
end

-- reject closes the gate after a 429.
local function reject(r)
  if r.closures == s.closures then -- not a further 429 to requests sent before the closure
    s.closures = s.closures + 1
    s.streak = s.streak + 1
  end
  if not s.rejected then
    unexpected_429(r)
  end
  if trickles(r) then
    r.retry = MINUTE / 2
  end
  s.rejected = true
  s.closed = math.max(s.closed, r.received)
  local gate, scope = closed_until(r)
  if gate > s.gate then
    s.gate, s.scope = gate, scope
  end
end

-- reopen opens a closed gate for one probe, but not soon after another one (rule 9).
local function reopen()
  local closed = now < s.gate or (s.epoch > 0 and now < s.ends and left() <= reserve())
  if not closed or (s.reopened > 0 and now < s.closed + MINUTE * 2 ^ math.min(s.reopened - 1, 4)) then
    return
  end
  s.gate, s.scope, s.streak, s.rejected = 0, '', 0, true -- rejected demands a probe
  s.reopened = s.reopened + 1
  s.pause = 0
  s.proved = now -- closures before now that processes remember no longer count
end
