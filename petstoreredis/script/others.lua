-- What is known about foreign requests, of processes outside the fleet (others.go), and how many
-- requests in flight are not late (recent.go): late ones keep their reservation and leave the part.

local UNKNOWN, QUIET_PART = 16, 4 -- parts of what is left, as in others.go
local FEW, FEW_PART, RUSH = 6, 4, 8
local QUIET, BLIND = 5000, 2

-- advance removes the requests that have become late from recent.
local function advance()
  local step = math.floor((now - s.born) / STEP)
  for i = math.max(s.step, step - STEPS) + 1, step do
    local slot = i % STEPS + 1
    s.recent, s.counts[slot] = s.recent - s.counts[slot], 0
  end
  s.step = math.max(s.step, step)
end

-- add counts n requests that are admitted now.
local function add(n)
  local slot = s.step % STEPS + 1
  s.recent, s.counts[slot] = s.recent + n, s.counts[slot] + n
end

-- remove removes n requests that were granted in a step, or as many as are left of it.
local function remove(step, n)
  if s.step - step < STEPS then
    local slot = step % STEPS + 1
    n = math.min(n, s.counts[slot])
    s.recent, s.counts[slot] = s.recent - n, s.counts[slot] - n
  end
end

-- late_in returns in how long the oldest request in recent will be late; nil if there is none.
local function late_in()
  for step = math.max(0, s.step - STEPS + 1), s.step do
    if s.counts[step % STEPS + 1] > 0 then
      return s.born + (step + STEPS) * STEP - now
    end
  end
  return nil
end

-- reserve returns how many requests of the window to leave to foreign ones in flight.
local function reserve()
  return s.alone < 0 and math.min(math.max(1, s.foreign), math.max(0, s.limit - 1)) or 0
end

-- watch infers from a report how many foreign requests the window has.
local function watch(r, opened)
  -- came: requests that the window counted since the last response before the grant, without those
  -- that may have been the fleet's. span: the time in which they came.
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
  s.foreign = math.max(came, s.foreign - math.floor((s.foreign + 7) / 8))
end

-- not_late returns the number of requests that are not late. Permits that come back unused are in
-- recent for a second at most.
local function not_late()
  return math.min(s.recent, s.outstanding)
end

-- share returns how many requests that are not late may be in flight (rule 6).
local function share()
  local part = math.max(1, math.floor(UNKNOWN / 2 ^ math.floor(math.max(0, s.alone) / 2)))
  if now - s.heard > QUIET then
    part = math.max(part, QUIET_PART)
  end
  local few = math.min(FEW, math.floor((left() - RUSH * s.foreign) / FEW_PART))
  return math.max(1, math.floor((left() - 2 * s.foreign) / part), few)
end

-- blindly returns how many requests may be in flight without rate limit headers.
local function blindly()
  return s.closures > 0 and 1 or BLIND
end
