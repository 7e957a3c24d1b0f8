-- One pot of permits for all processes that share an API key. KEYS[1] is a hash with the fields of
-- new(), ARGV[1] an order (script.go); times are milliseconds of this server's clock. A permit is
-- out until its process reports the outcome: remaining - out are left. Responses lower the pot.
-- Permits lapse with it, at the latest after a minute. A pot that no response has described yet
-- (reset is 0) has one permit, whose request finds out what the service allows.
local arg, time, minute, patience, early = cjson.decode(ARGV[1]), redis.call('TIME'), 60000, 2000, 2000
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function new()
  return {
    window = now, -- when this pot began; identifies it
    remaining = 1, -- the least Remaining in this pot
    out = 0, -- permits whose outcome is not known
    limit = 0, -- X-RateLimit-Limit
    reset = 0, -- X-RateLimit-Reset, 0 before the first response
    ends = now + minute, -- when the permits lapse
    processes = 0, -- processes that asked for permits of the last windows
    asked = 0, -- processes that asked for permits of this pot
    claimed = 0, -- permits that processes got of their shares of this pot
    failures = 0, -- 429s, or single requests without a response, in a row
    at = now, -- when this script ran last
  }
end

-- A pot that is missing, junk, or older than a process knows (after a failover) begins anew.
local function read()
  local found, pot, missing = redis.pcall('HGETALL', KEYS[1]), new(), 11
  for i = 1, #found, 2 do
    local name, value = found[i], tonumber(found[i + 1])
    if pot[name] and value and value >= 0 and value < 1e14 then
      pot[name], missing = value, missing - 1
    elseif name == 'scope' then
      pot.scope = found[i + 1]
    end
  end
  if missing == 0 and pot.at >= arg.at and pot.at <= now + 1000 and pot.ends < now + 400 * 24 * 60 * minute then
    return pot, false
  end
  redis.call('DEL', KEYS[1])
  pot = new()
  if arg.at > 0 then pot.remaining, pot.ends = 0, now + 1000 end -- first, permits of the lost pot are used
  return pot, true
end
local pot, fresh = read()

local function begin(permits) -- a new pot
  if pot.reset > 0 then
    pot.processes = math.max(pot.asked, math.floor(pot.processes * 3 / 4))
    pot.asked, pot.claimed = 0, 0
  end
  pot.window = math.max(now, pot.window + 1)
  pot.remaining, pot.out, pot.reset, pot.ends, pot.scope = permits, 0, 0, now + minute, nil
end

-- What is left at the end of a window is valid in the next one, too. If it is little, one request
-- goes ahead. It also does if the one before has had no response for too long.
local function lapse()
  local left = pot.remaining - pot.out
  local much = pot.reset > 0 and left > 0 and left * 4 >= pot.limit
  if pot.reset == 0 and pot.out > 0 then pot.failures = pot.failures + 1 end
  begin(much and left or 1)
end

-- close takes all permits away after a 429.
local function close()
  pot.failures = pot.failures + 1
  local backoff = pot.failures > 1 and math.min(500 * 2 ^ (pot.failures - 1), minute) or 0
  if arg.retry_in <= 0 then backoff = minute * 2 ^ math.min(pot.failures - 1, 4) end
  begin(0)
  pot.ends, pot.scope = now + math.max(arg.retry_in, backoff), arg.scope
end

-- describe learns from the headers of a response. mine: its permit is of this pot. While something
-- is left, a pot ends after a minute, so that what dead processes hold of the day comes back.
local function describe(mine)
  local ends = now + (arg.ends_in > 0 and arg.ends_in or minute)
  local lower = pot.reset == 0 or arg.reset > pot.reset + 30 or arg.remaining < pot.remaining
  if mine and lower or fresh and arg.remaining == 0 and arg.ends_in > 0 then
    local capped = arg.remaining > 0 and math.min(ends, now + minute) or ends
    local longer = arg.remaining == 0 and ends > pot.ends + 2000
    if arg.reset ~= pot.reset or capped < pot.ends or longer then pot.ends = capped end
    pot.remaining, pot.limit, pot.reset, pot.failures, pot.scope = arg.remaining, arg.limit, arg.reset, 0, arg.scope
  elseif mine and arg.reset == pot.reset then
    pot.ends, pot.failures = math.min(pot.ends, ends), 0
  elseif pot.reset > 0 and arg.reset > pot.reset - 30 then
    if arg.remaining == 0 and pot.remaining > 0 then pot.ends = math.max(pot.ends, ends) end
    pot.remaining = math.min(pot.remaining, arg.remaining)
  end
end

-- record takes outcomes: of requests with (done) and without (bare) headers in the response, lost,
-- lost because the caller gave up (gone), and not sent (back).
local function record()
  local mine, spent = arg.of == pot.window, arg.bare + arg.lost + arg.gone
  if mine then
    pot.out = math.max(0, pot.out - arg.done - spent - arg.back)
    if pot.reset > 0 or pot.remaining > 2 then
      pot.remaining = math.max(0, pot.remaining - spent)
    elseif arg.bare > 0 then -- a service without the headers gets two requests at a time
      pot.remaining, pot.ends = pot.failures > 0 and 1 or 2, now + minute
    elseif arg.lost > 0 and arg.limit == 0 then
      pot.remaining, pot.ends = 0, now + math.min(100 * 2 ^ pot.failures, 15000)
      pot.failures = pot.failures + 1
    end
  end
  if not arg.rejected and arg.limit > 0 then
    describe(mine)
  elseif arg.rejected and (mine or now - arg.sent_ago >= pot.window) then
    close()
  elseif arg.rejected and pot.remaining == 0 then
    pot.ends = math.max(pot.ends, now + arg.retry_in)
  end
end

-- draw returns how many permits the process gets. In the first seconds of a window all processes
-- find their share of it, and only what is beyond these shares is for anybody; hold is the time until
-- then.
local function draw()
  local taken, hold = arg.taken, 0
  if arg.window ~= pot.window then pot.asked, taken = pot.asked + 1, 0 end
  local n = math.max(pot.processes, pot.asked)
  local left = pot.remaining - pot.out
  local share = pot.reset > 0 and math.max(0, math.floor(pot.limit / n) - taken) or 0
  local free, early = left - share, pot.window + early - now
  if pot.reset > 0 and early > 0 then free = left - math.floor(pot.limit / n) * n + pot.claimed end
  local part = math.max(1, math.floor(free / n))
  local extra = math.min(arg.extra, math.floor(left / n / 4)) -- few, which are lost if the process dies
  local beyond = math.max(0, math.min(free, math.max(math.min(arg.want - share, part), extra)))
  local granted = math.max(0, math.min(arg.want + extra, share + beyond, left))
  if granted < arg.want and left > 0 and early > 0 and pot.reset > 0 then hold = early end
  local probe = granted > 0 and pot.reset == 0 and pot.remaining == 1
  if probe then pot.ends = now + patience * 2 ^ math.min(pot.failures, 4) end
  pot.claimed, pot.out = pot.claimed + math.min(share, granted), pot.out + granted
  return granted, hold
end

if now >= pot.ends then lapse() end
record()
if arg.reopen and pot.remaining - pot.out < 1 then begin(1); pot.failures = 0 end
local granted, hold = 0, 0
if arg.want > 0 then granted, hold = draw() end
pot.at, pot.scope = now, pot.scope or ''
local fields = {}
for name, value in pairs(pot) do fields[#fields + 1], fields[#fields + 2] = name, value end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], math.max(0, pot.ends - now) + 10 * minute)
pot.processes = math.max(pot.processes, pot.asked)
pot.granted, pot.hold, pot.ends_in = granted, hold, pot.ends - now
return cjson.encode(pot)
