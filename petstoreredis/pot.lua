-- The pot of an API key: KEYS[1] is a hash with the numbers of `pot`. ARGV[1] is the command of a
-- process: the outcomes of its requests, and how many permits it wants. Times are milliseconds by
-- the clock of Redis. Permits are numbered, over all windows, and the number of the last permit
-- before a window, its epoch, identifies the window.
local command = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local second = 1000
local minute = 60 * second
local none = 1e9 -- more than any Remaining
local leap = 60000 -- permits: no other process knows of so many more than the one that asks
local carried_part = 4 -- what is left of a window goes over to the next if it is 1/4 of the limit
local same_window = 30 -- seconds: two values of Reset that differ by no more are of one window
local longest_minute = minute + 10 * second -- a window that lasts longer is of a day; clocks differ

-- How long requests wait for responses to earlier ones. Most of these take less than 0.2 seconds.
local first_patience = second -- for the first response of a window
local lockout_patience = 10 * second -- for the first after a lockout: a second 429 may mean a ban
local last_patience = 2 * second -- for those that show whether anything is left
local new_pot_patience = 1.5 * second -- for all of a lost pot; the other processes report meanwhile

local most_shares = 2 -- of a window for a process, one in each second; then all may use what is left
local growth = 1.5 -- other programs may send half as much again as they did
local reserve_part = 10 -- background requests leave 1/10 of the limit to others
local response = 3 -- a reason to wait; those below are limits, by their numbers in closed_by

local pot = {
  at = now,           -- when the last command came
  number = 0,         -- of the last permit
  epoch = 0,          -- number of the last permit before this window
  limit = 0,          -- X-RateLimit-Limit
  remaining = 0,      -- X-RateLimit-Remaining, less what was spent without a response since
  reset = 0,          -- X-RateLimit-Reset, in seconds; 0: no response has ever shown a window
  ends = 0,           -- the end of the window
  day = 0,            -- 1 if it is the window of a day
  first_response = 0, -- when the window's first response came; 0: nothing heard of this window yet
  last_response = 0,  -- when its last one came
  in_flight = 0,      -- permits of the window without an outcome
  await = 0,          -- the end of the wait for their outcomes
  as_of = 0,          -- number of the last permit when `remaining` was set
  lowest = none,      -- the least Remaining in responses to permits up to as_of since then
  closed = 0,         -- the end of the last lockout
  closed_by = 0,      -- its limit: 0 minute, 1 day, 2 ban
  streak = 0,         -- lockouts since a success
  active = 0,         -- processes that wanted permits in this window
  processes = 0,      -- the same in the windows before, halved with each
  urgent = 0,         -- when a request that is not in the background last wanted a permit
}

local function set(values)
  for name, n in pairs(values) do pot[name] = n end
end

-- load_pot takes the numbers from Redis. If it must not trust them, it begins anew.
local function load_pot()
  local stored = redis.call('HGETALL', KEYS[1])
  local found = {}
  local incomplete = false
  for i = 1, #stored, 2 do found[stored[i]] = tonumber(stored[i + 1]) end
  for name in pairs(pot) do incomplete = incomplete or not found[name] end
  if not (incomplete -- missing, or a field is
      or found.number < command.Number -- an old copy: a process has a later permit
      or found.at > now + second -- written by another clock
      or command.Fallback and found.at < now - second) then -- no process reached it for a second
    pot = found
    return
  end
  redis.call('DEL', KEYS[1])
  -- Later than what any process knows: fewer permits are given than milliseconds pass.
  local number = math.max(now, command.Number + leap)
  set { number = number, epoch = number, as_of = number, processes = command.Processes }
  if command.Number > 0 then pot.await = now + new_pot_patience end
end

-- begin begins another window; the permits of the old one are forgotten.
local function begin(remaining, response, ends)
  local processes = math.max(pot.active, math.floor((pot.processes + pot.active) / 2))
  local number = pot.number + 1
  set { processes = processes, active = 0, in_flight = 0, await = 0 }
  set { number = number, epoch = number, as_of = number, lowest = none, remaining = remaining }
  set { first_response = response, last_response = response, ends = ends }
end

-- settle ends a permit of this window.
local function settle(outcome)
  pot.in_flight = math.max(0, pot.in_flight - 1)
  if outcome.Spent then -- responses to permits up to here may not include it
    set { as_of = pot.number, lowest = none, remaining = math.max(0, pot.remaining - 1) }
  end
  local next_goes = pot.first_response == 0 or pot.in_flight == 0
  if next_goes and not outcome.Silent then pot.await = 0 end
end

-- learn takes the window from a response. `remaining` is what a response to a permit after as_of
-- shows, or else the lowest of all.
local function learn(outcome, in_window, reported)
  local ahead = outcome.Reset - pot.reset
  local newer = outcome.Number > pot.as_of -- its permit was given after `remaining` was set
  -- A new pot also believes a process that knows of a window that is used up.
  local first = pot.first_response == 0 and (in_window or pot.reset == 0 and outcome.Remaining == 0)
  local overtaken = not newer and ahead < -same_window -- by a response of the next window
  if not first and (pot.first_response == 0 or not reported or overtaken) then return end
  if first or math.abs(ahead) > same_window then
    newer = true
    set { first_response = now, ends = 0, lowest = none }
  end
  pot.lowest = math.min(pot.lowest, outcome.Remaining)
  pot.remaining = newer and pot.lowest or math.min(pot.remaining, pot.lowest)
  if newer then set { as_of = pot.number, lowest = none } end
  if newer or ahead >= 0 then -- else the response to an earlier request of this window
    local ends_in = pot.remaining > 0 and math.min(outcome.EndsIn, minute) or outcome.EndsIn
    local ends = now + math.max(1, ends_in)
    local slides = ahead ~= 0
    local rounded = ends < pot.ends -- of two ends by the same Reset, the earlier one counts
    local used_up_day = ends > now + minute -- while something was left, it ended in a minute
    if pot.ends == 0 or slides or rounded or used_up_day then pot.ends = ends end
    local day = outcome.EndsIn > longest_minute and 1 or 0
    set { last_response = now, limit = outcome.Limit, reset = outcome.Reset, day = day }
  end
  if in_window and outcome.ClosedIn == 0 then set { closed = 0, streak = 0 } end -- a success
end

-- note_429 closes the key. What came before the lockout says nothing of the window after it.
local function note_429(outcome, in_window)
  local closed = now + outcome.ClosedIn
  if closed >= pot.closed then pot.closed, pot.closed_by = closed, outcome.Reason end
  if in_window then pot.streak = pot.streak + 1 end -- else it was sent before the lockout
  if in_window or pot.first_response > 0 then begin(0, 0, 0) end
end

local function take(outcome)
  local in_window = outcome.Number > pot.epoch -- its permit is of this window
  local reported = outcome.Number > 0 or command.Fallback -- else it is from a pot
  local new_pot = pot.reset == 0
  if outcome.Epoch == pot.epoch then settle(outcome) end
  if outcome.Limit > 0 then learn(outcome, in_window, reported) end
  if outcome.ClosedIn > 0 and (reported or new_pot) then note_429(outcome, in_window) end
end

-- shares returns how many shares of the window a process may have by now; nil if that is no limit
-- any more.
local function shares()
  local n = 1 + math.floor((now - pot.first_response) / second)
  return n <= most_shares and n or nil
end

-- grant gives a process its share of a window in its first second, twice that in two, later twice
-- its share of what is left. What other programs have probably sent since the last response is kept
-- back for them.
local function grant()
  local urgent, background = command.Want[1], command.Want[2]
  local asked_before = command.Epoch == pot.epoch -- in this window
  if urgent + background > 0 and not asked_before then pot.active = pot.active + 1 end
  if urgent > 0 then pot.urgent = now end
  local processes = math.max(1, pot.active, pot.processes)
  local given = pot.number - pot.epoch
  local left = pot.remaining - pot.in_flight
  local others = pot.limit - pot.remaining - given
  if others > 0 then
    local age = math.max(1, now - pot.ends + minute) -- of the window
    local sent = math.ceil(growth * others * (now - pot.last_response) / age)
    left = left - math.max(1, math.min(sent, math.floor(left / 2)))
  end
  local most = math.max(1, math.floor(2 * left / processes))
  -- Background requests leave a tenth to others, if there are any.
  local reserve = now < pot.urgent + 2 * minute and math.floor(pot.limit / reserve_part) or 0
  if now < pot.closed then
    left = 0
  elseif pot.first_response == 0 then -- one request goes ahead
    left = now < pot.await and 0 or 1
    most = 1
    reserve = 0
  elseif shares() then
    local before = asked_before and command.Granted or 0
    most = shares() * math.ceil((left + given) / processes) - before
  end
  urgent = math.max(0, math.min(urgent, left, most))
  background = math.max(0, math.min(background, left - urgent - reserve, most - urgent))
  given = urgent + background
  local patience = pot.first_response > 0 and last_patience or pot.closed > 0 and lockout_patience or first_patience
  if given > 0 then pot.await = now + patience end
  set { number = pot.number + given, in_flight = pot.in_flight + given }
  left = left - given
  return { granted = { urgent, background }, left = left, processes = processes, reserve = reserve }
end

local function save()
  local fields = {}
  for name, n in pairs(pot) do
    fields[#fields + 1] = name
    fields[#fields + 1] = n
  end
  redis.call('HSET', KEYS[1], unpack(fields))
  redis.call('PEXPIRE', KEYS[1], math.max(0, pot.ends - now, pot.closed - now) + 10 * minute)
end

-- reply returns the pot, what was granted, and why requests got no permit, and for how long. Of the
-- reasons, the first one counts that applies:
--   the limit in closed_by, until the key opens
--   response, until the next second, if that brings another share
--   the limit of the window, until that ends, if it is used up, or if responses are overdue
--   response, for a time that nobody knows
local function reply(given)
  local reason = response
  local wait = 0
  local reserve = command.Want[1] > given.granted[1] and 0 or given.reserve
  local heard = pot.first_response > 0
  if pot.closed > now then
    reason = pot.closed_by
    wait = pot.closed - now
  elseif heard and given.left > reserve then
    if shares() then wait = pot.first_response + shares() * second - now end
  elseif heard and (pot.remaining <= reserve or now >= pot.await) then
    reason = pot.day
    wait = math.max(0, pot.ends - now)
  end
  set { granted = given.granted, left = given.left, processes = given.processes }
  set { reason = reason, wait = wait }
  return cjson.encode(pot)
end

load_pot()
if pot.ends > 0 and now >= pot.ends then -- if much is left, the next window has room for it, too
  local left = pot.remaining - pot.in_flight
  local much = left > 0 and left >= pot.limit / carried_part
  if much then begin(left, now, now + minute) else begin(0, 0, 0) end
end
for _, outcome in ipairs(command.Outcomes or {}) do take(outcome) end
take(command.Known)
local used_up = pot.first_response > 0 and pot.remaining <= pot.in_flight
if command.Reopen and (pot.closed > now or used_up) then
  set { closed = 0, reset = math.max(1, pot.reset) } -- reset: no longer a new pot
  begin(0, 0, 0)
end
local granted = grant()
pot.at = now
save()
return reply(granted)
