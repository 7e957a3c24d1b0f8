-- What is known of others outside the fleet who use the key (others.go), and the requests in flight
-- that are not late (young.go): late ones keep their reservation and leave the part.

local UNKNOWN, QUIET_PART = 16, 4 -- parts of what is left, as in others.go
local FEW, FEW_PART, RUSH = 6, 4, 8
local QUIET, BLIND = 5000, 2

-- advance forgets the requests that have become late.
local function advance()
  local step = math.floor((now - s.born) / STEP)
  for i = math.max(s.step, step - STEPS) + 1, step do
    local slot = i % STEPS + 1
    s.young, s.counts[slot] = s.young - s.counts[slot], 0
  end
  s.step = math.max(s.step, step)
end

-- add counts n requests that are admitted now.
local function add(n)
  local slot = s.step % STEPS + 1
  s.young, s.counts[slot] = s.young + n, s.counts[slot] + n
end

-- remove ends n requests that were admitted at a step, and none that are not there.
local function remove(step, n)
  if s.step - step < STEPS then
    local slot = step % STEPS + 1
    n = math.min(n, s.counts[slot])
    s.young, s.counts[slot] = s.young - n, s.counts[slot] - n
  end
end

-- late_in returns in how long the oldest request in flight will be late, nil if there is none.
local function late_in()
  for step = math.max(0, s.step - STEPS + 1), s.step do
    if s.counts[step % STEPS + 1] > 0 then
      return s.born + (step + STEPS) * STEP - now
    end
  end
  return nil
end

-- reserve returns how much of the window to leave for the requests that others have in flight.
local function reserve()
  return s.alone < 0 and math.min(math.max(1, s.theirs), math.max(0, s.limit - 1)) or 0
end

-- watch infers how many requests of others the window has.
local function watch(r, opened)
  -- What the window has counted since the last response before the grant, without what may have
  -- been the fleet's.
  s.took = s.took == 0 and r.took or math.min(r.took, 2 * s.took)
  local came, span = r.base - r.remaining - s.admitted, r.received - r.heard
  opened = opened or r.epoch ~= s.epoch
  if opened and s.day then
    return -- most of what a day has counted is long over
  elseif opened then
    came, span = s.limit - r.remaining - s.own - s.outstanding, MINUTE - (s.ends - r.received)
    if came > 0 then
      s.alone = math.min(s.alone, 0)
    elseif s.epoch > 1 and s.alone >= 0 then
      s.alone = 2 * TRUSTED
    end
  elseif came > 0 then
    s.alone = CROWDED
  end
  span = math.max(span, r.took)
  if span > 0 and came > 0 then
    came = math.ceil(came * s.took / span)
  end
  s.theirs = math.max(came, s.theirs - math.floor((s.theirs + 7) / 8))
end

-- in_flight returns the number of requests that are not late. What goes back unused is in young for
-- a second at most.
local function in_flight()
  return math.min(s.young, s.outstanding)
end

-- share returns how many requests that are not late may be in flight.
local function share()
  local part = math.max(1, math.floor(UNKNOWN / 2 ^ math.floor(math.max(0, s.alone) / 2)))
  if now - s.heard > QUIET then
    part = math.max(part, QUIET_PART)
  end
  local few = math.min(FEW, math.floor((left() - RUSH * s.theirs) / FEW_PART))
  return math.max(1, math.floor((left() - 2 * s.theirs) / part), few)
end

-- blindly returns how many requests may be in flight without rate limit headers.
local function blindly()
  return s.closures > 0 and 1 or BLIND
end
