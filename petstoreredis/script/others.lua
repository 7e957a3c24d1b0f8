-- What is known of others outside the fleet who use the key (others.go), and the requests in flight
-- that are not late (young.go): late ones keep their reservation and leave the part.

local CROWDED, CALM = 16, 4 -- parts of what is left, as in others.go
local FEW, RUSH = 6, 8
local QUIET = 5000 -- after how long without a response others may have come
local BLIND = 2    -- requests in flight as long as no response had a limit

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

-- remove ends n requests that were admitted at a step. A command that is repeated removes none that
-- are not there.
local function remove(step, n)
  if s.step - step < STEPS then
    local slot = step % STEPS + 1
    n = math.min(n, s.counts[slot])
    s.young, s.counts[slot] = s.young - n, s.counts[slot] - n
  end
end

-- late_in is in how long the oldest request in flight will be late, nil if there is none.
local function late_in()
  for step = math.max(0, s.step - STEPS + 1), s.step do
    if s.counts[step % STEPS + 1] > 0 then
      return s.born + (step + STEPS) * STEP - now
    end
  end
  return nil
end

local function crowded()
  return s.shared or s.was_shared
end

-- reserve is how much of the window a request has to leave for those that others have on their way.
local function reserve()
  return crowded() and math.min(math.max(1, s.theirs), math.max(0, s.limit - 1)) or 0
end

-- watch looks for requests of others in this window, after the response to a request of the fleet.
local function watch(r, opened)
  -- What the window has counted since the last response before the grant, without what may have
  -- been the fleet's.
  local came, span = r.base - r.remaining - s.admitted, r.received - r.heard
  if opened or r.epoch ~= s.epoch then
    came, span = s.limit - r.remaining - s.own - s.outstanding, MINUTE - (s.ends - r.received)
    s.opening = math.max(0, came)
  elseif came > 0 then
    s.shared = true
  end
  span = math.max(span, r.took)
  if span > 0 and came > 0 then
    came = math.ceil(came * r.took / span)
  end
  s.theirs = math.max(came, s.theirs - math.floor((s.theirs + 7) / 8))
end

-- in_flight is the number of requests that are not late. What goes back unused is in young for a
-- second at most.
local function in_flight()
  return math.min(s.young, s.outstanding)
end

-- share is how many requests that are not late may be on their way: all that is left, if nobody
-- else uses the key. In place of the unknownPart of others.go a fleet sends its first requests one
-- by one, see open in window.lua.
local function share()
  local rest, part, few = left(), 1, 0
  if crowded() or s.opening > 0 then
    few = math.min(FEW, math.floor((rest - RUSH * s.theirs) / CALM))
    rest, part = rest - 2 * s.theirs, now - s.tight >= MINUTE and CALM or CROWDED
  elseif s.slides or now - s.heard > QUIET then
    part, few = CALM, FEW
  end
  return math.max(1, math.floor(rest / part), few)
end

-- blindly is how many requests may be on their way without rate limit headers.
local function blindly()
  return s.trickle and 1 or BLIND
end
