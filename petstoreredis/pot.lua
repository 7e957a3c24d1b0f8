-- This script keeps the pot of an API key: KEYS[1] is a hash with the numbers of `pot`. ARGV[1] is
-- the command of a process, as command.go describes it: the outcomes of its requests, and how many
-- permits it wants. Times are milliseconds. In the command they are by the clock of the process,
-- everywhere else by that of Redis. README.md has the rules, limiter.go the words: `remaining` is
-- what a response showed, `left` is what is still free of it, a share is the part of a process.
--
-- Permits are numbered, over all windows. Each window takes a number from the same sequence, its
-- epoch. The permits of the window have higher numbers. The end of this file has the steps.
local command = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local second = 1000
local minute = 60 * second
local none = 1e9 -- more than any Remaining
local leap = 60000 -- the last permit numbers that two processes know differ by less than this
local carried_part = 4 -- requests left go over to the next window if they are at least 1/4 of the limit
local same_window = 30 -- seconds: two values of Reset that differ by at most this are of one window
local longest_minute = minute + 10 * second -- a longer window is that of a day; 10 s, since clocks differ

-- How long requests wait for the outcomes of earlier requests: see pot.await. Most responses take
-- less than 0.2 seconds.
local await_first = second -- for the first response of a window
local await_after_429 = 10 * second -- for the first response after a lockout: a new 429 may ban
local await_last = 2 * second -- for the responses that show whether anything is left
local await_new_pot = 1.5 * second -- after a lost pot, until the other processes have reported

local most_shares = 2 -- of a process: one in the first second after the first response, two in the next
local growth = 1.5 -- other programs may send 1.5 times what they sent before
local reserve_part = 10 -- background requests leave 1/10 of the limit to others
local reason_response = 3 -- a reason to wait; the reasons 0 to 2 are limits, as in closed_by

local pot = {
  at = now,           -- when the last command came
  number = 0,         -- the last number that a permit or an epoch took
  epoch = 0,          -- the number of this window: its permits have higher numbers
  limit = 0,          -- X-RateLimit-Limit
  remaining = 0,      -- X-RateLimit-Remaining, minus the requests lost since then
  reset = 0,          -- X-RateLimit-Reset, in seconds; 0: no response has ever shown a window
  ends = 0,           -- the end of the window
  day = 0,            -- 1 if this is the window of a day
  first_response = 0, -- when the window's first response came; 0: none yet
  last_response = 0,  -- when the window's last response came
  in_flight = 0,      -- permits of the window without an outcome
  returned = 0,       -- permits of the window whose requests the service has not counted
  await = 0,          -- until then: no other first request, and no report that the window is used up
  as_of = 0,          -- the value of `number` when `remaining` was set
  lowest = none,      -- the least Remaining in responses to permits up to as_of, since `remaining` was set
  closed = 0,         -- the end of the last lockout
  closed_by = 0,      -- the limit of that lockout: 0 minute, 1 day, 2 ban
  streak = 0,         -- lockouts since the last success
  active = 0,         -- processes that wanted permits in this window
  processes = 0,      -- how many use the key: from the end of a window, its mean with `active`, or `active` if higher
  urgent = 0,         -- when a request that is not in the background last wanted a permit
}

local function set(values)
  for name, n in pairs(values) do pot[name] = n end
end

-- load_pot loads the pot from Redis. If the stored pot cannot be trusted, it makes a new one. It
-- returns whether Redis had no pot.
local function load_pot()
  local stored = redis.call('HGETALL', KEYS[1])
  local found = {}
  local incomplete = false
  for i = 1, #stored, 2 do found[stored[i]] = tonumber(stored[i + 1]) end
  for name in pairs(pot) do incomplete = incomplete or not found[name] end
  if not (incomplete -- the pot or a field is missing
      or found.number < command.number -- the pot is an old copy: this process knows of a later permit
      or found.at > now + second -- the pot was written with another clock
      or command.fallback and found.at < now - second) then -- no process has used it for a second
    pot = found
    return false
  end
  redis.call('DEL', KEYS[1])
  -- The number must be higher than any that a process knows. Usually `now` is higher, because less
  -- than one permit a millisecond is given. After a clock is set back, command.number + leap is
  -- higher.
  local number = math.max(now, command.number + leap)
  set { number = number, epoch = number, as_of = number, processes = command.processes }
  if command.number > 0 then pot.await = now + await_new_pot end
  return #stored == 0
end

-- begin begins another window. The permits of the old window no longer count.
local function begin(remaining, response, ends)
  local processes = math.max(pot.active, math.floor((pot.processes + pot.active) / 2))
  local number = pot.number + 1
  set { processes = processes, active = 0, in_flight = 0, returned = 0, await = 0 }
  set { number = number, epoch = number, as_of = number, lowest = none, remaining = remaining }
  set { first_response = response, last_response = response, ends = ends }
end

-- settle ends a permit, if it is of this window.
local function settle(outcome)
  if outcome.epoch ~= pot.epoch then return end
  pot.in_flight = math.max(0, pot.in_flight - 1)
  if outcome.lost then -- the responses to permits given so far may come from before it is counted
    set { as_of = pot.number, lowest = none, remaining = math.max(0, pot.remaining - 1) }
  elseif outcome.limit == 0 then
    pot.returned = pot.returned + 1
  end
  local next_goes = pot.first_response == 0 or pot.in_flight == 0
  if next_goes and not outcome.no_response then pot.await = 0 end
end

-- learn takes the window from a response. A response to a permit after as_of sets `remaining`. A
-- response to an earlier permit can only lower `remaining`.
--
-- For example, 9 permits have been given. Then the response to permit 5 shows 40: this sets
-- `remaining` to 40 and as_of to 9. The response to permit 7 shows 38: `remaining` and `lowest` are
-- now 38. The response to permit 8 shows 39, which changes nothing. The response to permit 10 sets
-- `remaining` again. If it shows 37, `remaining` is 37. If it shows 39, the service counted permit
-- 10 before permit 7, and `remaining` is `lowest`, 38.
local function learn(facts, number, in_window)
  local reset_moved = facts.reset - pot.reset
  local newer = number > pot.as_of -- the permit was given after `remaining` was set
  -- A new pot also takes the window that a process knows, if this window is used up.
  local first = pot.first_response == 0 and (in_window or pot.reset == 0 and facts.remaining == 0)
  local overtaken = not newer and reset_moved < -same_window -- a response of the next window came first
  if not first and (pot.first_response == 0 or overtaken) then return end
  if first or math.abs(reset_moved) > same_window then
    newer = true
    set { first_response = now, ends = 0, lowest = none }
  end
  pot.lowest = math.min(pot.lowest, facts.remaining)
  pot.remaining = newer and pot.lowest or math.min(pot.remaining, pot.lowest)
  if newer then set { as_of = pot.number, lowest = none } end
  if newer or reset_moved >= 0 then -- an older response with an earlier Reset is skipped
    local left = math.max(1, facts.ends - command.now) -- Redis has a clock of its own
    local ends = now + (pot.remaining > 0 and math.min(left, minute) or left)
    local used_up_day = ends > now + minute -- `ends` was capped while something was left
    if pot.ends > 0 and reset_moved == 0 and not used_up_day then
      ends = math.min(ends, pot.ends) -- of two ends from the same Reset, the earlier one counts
    end
    set { last_response = now, limit = facts.limit, reset = facts.reset }
    set { ends = ends, day = left > longest_minute and 1 or 0 }
  end
  if in_window and facts.closed == 0 then set { closed = 0, streak = 0 } end -- a success
end

-- close closes the key after a 429, and begins a window that responses to earlier permits do not
-- show.
local function close(facts, in_window)
  local closed = now + math.max(0, facts.closed - command.now)
  if closed >= pot.closed then set { closed = closed, closed_by = facts.closed_by } end
  if in_window then pot.streak = pot.streak + 1 end -- it was sent after the last lockout
  if in_window or pot.first_response > 0 then begin(0, 0, 0) end
end

-- take takes the facts of a response to the permit with this number, or command.known, which has
-- the number 0. It learns the window (rule 6), and closes the key after a 429 (rule 9).
local function take(facts, number)
  local in_window = number > pot.epoch -- the permit is of this window
  if facts.limit > 0 then learn(facts, number, in_window) end
  if facts.closed > 0 then close(facts, in_window) end
end

-- kept_back returns how many of the requests left are kept back for other programs: 1.5 times what
-- they have probably sent since the last response, but at most half of two or more. For example, they sent 20
-- requests in the 30 seconds since the window began, and the last response came 3 seconds ago:
-- 1.5*20*3/30 = 3. `ours` is how many permits of this window count.
local function kept_back(left, ours)
  local others = pot.limit - pot.remaining - ours -- requests that were counted without a permit
  if others <= 0 then return 0 end
  local age = math.max(1, now - pot.ends + minute) -- the age of the window
  local sent = math.ceil(growth * others * (now - pot.last_response) / age)
  return math.max(1, math.min(sent, math.floor(left / 2)))
end

-- shares returns how many shares of the window a process may have by now; nil if any number.
local function shares()
  local n = 1 + math.floor((now - pot.first_response) / second)
  return n <= most_shares and n or nil
end

-- room returns three numbers: how many permits are left for all processes, how many of them this
-- command may get, and the reserve, which its background requests leave to others. In the first
-- second after the first response of the window, a process gets at most one share of the window. In
-- the first two seconds it gets at most two. Later, each command gets at most two shares of what is
-- left. Background requests leave a tenth if any others asked in the last two minutes.
local function room(processes, used)
  if now < pot.closed then return 0, 0, 0 end
  if pot.first_response == 0 then return now < pot.await and 0 or 1, 1, 0 end -- one request goes ahead
  local ours = pot.number - pot.epoch - pot.returned
  local left = pot.remaining - pot.in_flight
  left = left - kept_back(left, ours)
  local most = math.max(1, math.floor(2 * left / processes))
  if shares() then most = shares() * math.ceil((left + ours) / processes) - used end
  local reserve = now < pot.urgent + 2 * minute and math.floor(pot.limit / reserve_part) or 0
  return left, most, reserve
end

-- grant grants permits to the process that sent the command.
local function grant()
  local urgent, background = command.want[1], command.want[2]
  local asked_before = command.epoch == pot.epoch -- whether the process has asked in this window
  if urgent + background > 0 and not asked_before then pot.active = pot.active + 1 end
  if urgent > 0 then pot.urgent = now end
  local processes = math.max(1, pot.active, pot.processes)
  local left, most, reserve = room(processes, asked_before and command.used or 0)
  urgent = math.max(0, math.min(urgent, left, most))
  background = math.max(0, math.min(background, left - urgent - reserve, most - urgent))
  local granted = urgent + background
  local awaited = pot.first_response > 0 and await_last or pot.closed > 0 and await_after_429 or await_first
  if granted > 0 then pot.await = now + awaited end
  set { number = pot.number + granted, in_flight = pot.in_flight + granted }
  return { granted = { urgent, background }, left = left - granted, processes = processes, reserve = reserve }
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

-- reply returns the pot, the permits granted and, for requests without a permit, the reason to wait
-- and how long it lasts. The first of these reasons that applies counts:
--   the limit in closed_by, until the key opens
--   response, until the next second, if something is left and the process gets another share then
--   the limit of the window, until its end, if it is used up or if responses are overdue
--   response, for an unknown time
local function reply(grants, missing)
  local reason = reason_response
  local wait = 0
  local reserve = command.want[1] > grants.granted[1] and 0 or grants.reserve
  local heard = pot.first_response > 0
  if pot.closed > now then
    reason = pot.closed_by
    wait = pot.closed - now
  elseif heard and grants.left > reserve then
    if shares() then wait = pot.first_response + shares() * second - now end
  elseif heard and (pot.remaining <= reserve or now >= pot.await) then
    reason = pot.day
    wait = math.max(0, pot.ends - now)
  end
  local all = { granted = grants.granted, left = grants.left, reason = reason, wait = wait, missing = missing }
  for name, n in pairs(pot) do all[name] = n end
  all.processes = grants.processes
  return cjson.encode(all)
end

-- end_window begins the next window, if this one is over. If much is left, the next window has room
-- for the same number. If little is left, kept_back could keep back all of it: then no request
-- would show the new window. So one request goes ahead instead.
local function end_window()
  if pot.ends == 0 or now < pot.ends then return end
  local left = pot.remaining - pot.in_flight
  local much = left > 0 and left >= pot.limit / carried_part
  if much then begin(left, now, now + minute) else begin(0, 0, 0) end
end

-- reopen lets one request go, if the key is closed or its window is used up.
local function reopen()
  local used_up = pot.first_response > 0 and pot.remaining <= pot.in_flight
  if pot.closed <= now and not used_up then return end
  set { closed = 0, reset = math.max(1, pot.reset) } -- a pot whose reset is 0 counts as new
  begin(0, 0, 0)
end

local missing = load_pot() -- rule 1
end_window() -- rule 8
for _, outcome in ipairs(command.outcomes or {}) do -- rules 6, 7 and 9
  settle(outcome)
  take(outcome, outcome.number)
end
-- What a process knows counts for a new pot, and after a time without Redis. At other times it
-- repeats what this pot or an earlier one said.
if pot.reset == 0 or command.fallback then take(command.known, 0) end
if command.reopen then reopen() end
local grants = grant() -- rules 2 to 5
pot.at = now
save()
return reply(grants, missing)
