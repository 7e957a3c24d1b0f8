-- The pot of an API key: KEYS[1] is a hash with the numbers of `pot`. ARGV[1] is the command of a process: the outcomes
-- of its requests, and how many permits it wants. Times are milliseconds by the clock of Redis. Permits are numbered,
-- over all windows, and the number of the last permit before a window, its epoch, identifies the window.
local command, clock = cjson.decode(ARGV[1]), redis.call('TIME')
local now, minute, none, lost = clock[1] * 1000 + math.floor(clock[2] / 1000), 60000, 1e9, false
local pot = {
  at = now,      -- when the last command came
  number = 0,    -- of the last permit
  epoch = 0,     -- number of the last permit before this window
  limit = 0,     -- X-RateLimit-Limit
  remaining = 0, -- X-RateLimit-Remaining, less what was spent without a response since
  reset = 0,     -- X-RateLimit-Reset, in seconds; 0 before the first response
  ends = 0,      -- the end of the window
  day = 0,       -- 1 if it is the window of a day
  since = 0,     -- the first response of the window; 0 before it
  heard = 0,     -- the last response of the window
  out = 0,       -- permits of the window without an outcome
  await = 0,     -- the end of the wait for their outcomes
  mark = 0,      -- number of the last permit when `remaining` was set
  low = none,    -- the least Remaining in responses to older permits since then
  closed = 0,    -- the end of the last lockout
  reason = 0,    -- its limit: 0 minute, 1 day, 2 ban
  streak = 0,    -- lockouts since a success
  active = 0,    -- processes that wanted permits in this window
  processes = 0, -- the same in the windows before, halved with each
  urgent = 0,    -- when a request that is not in the background last wanted a permit
}
-- A pot that is missing, has lost a field, is an old copy, or was out of reach for a second is replaced by a new one.
local found, kept = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #found, 2 do kept[found[i]] = tonumber(found[i + 1]) end
for name in pairs(pot) do lost = lost or not kept[name] end
if lost or kept.number < command.Number or kept.at > now + 1000 or command.Fallback and kept.at < now - 1000 then
  redis.call('DEL', KEYS[1])
  pot.number, pot.processes = math.max(now, command.Number + minute), command.Processes
  pot.epoch, pot.mark, pot.await = pot.number, pot.number, command.Number > 0 and now + 1500 or 0
else pot = kept end
local function begin(left, since, ends) -- another window: the permits of the old one are forgotten
  pot.processes, pot.active = math.max(pot.active, math.floor((pot.processes + pot.active) / 2)), 0
  pot.number, pot.out, pot.low, pot.await = pot.number + 1, 0, none, 0
  pot.epoch, pot.mark, pot.remaining, pot.since, pot.heard, pot.ends = pot.number, pot.number, left, since, since, ends
end
if pot.ends > 0 and now >= pot.ends then -- if much is left, the next window has room for it, too
  local left = pot.remaining - pot.out
  if left > 0 and left * 4 >= pot.limit then begin(left, now, now + minute) else begin(0, 0, 0) end
end
for _, o in ipairs(command.Outcomes) do
  local mine, newer, ahead, new = o.Number > pot.epoch, o.Number > pot.mark, o.Reset - pot.reset, pot.reset == 0
  if o.Epoch == pot.epoch then
    pot.out = math.max(0, pot.out - 1)
    if o.Spent then pot.mark, pot.low, pot.remaining = pot.number, none, math.max(0, pot.remaining - 1) end
    if not o.Silent and (pot.since == 0 or pot.out == 0) then pot.await = 0 end
  end
  -- What is left: as a permit after `mark` shows, or the lowest of others. A new pot also learns from older responses.
  local first = pot.since == 0 and (mine or new and o.Remaining == 0)
  if o.Limit > 0 and (first or pot.since > 0 and (o.Number > 0 or command.Fallback) and (newer or ahead >= -30)) then
    if first or math.abs(ahead) > 30 then newer, pot.since, pot.ends, pot.low = true, now, 0, none end
    pot.low = math.min(pot.low, o.Remaining)
    pot.remaining = newer and pot.low or math.min(pot.remaining, pot.low)
    if newer then pot.mark, pot.low = pot.number, none end
    local ends = now + math.max(1, pot.remaining > 0 and math.min(o.EndsIn, minute) or o.EndsIn)
    if newer or ahead >= 0 then
      if pot.ends == 0 or ahead ~= 0 or ends < pot.ends or ends > now + minute then pot.ends = ends end
      pot.heard, pot.limit, pot.reset, pot.day = now, o.Limit, o.Reset, o.EndsIn > minute + 10000 and 1 or 0
    end
    if mine and o.ClosedIn == 0 then pot.closed, pot.streak = 0, 0 end
  end
  if o.ClosedIn > 0 and (o.Number > 0 or new or command.Fallback) then -- a 429
    pot.closed, pot.reason = math.max(pot.closed, now + o.ClosedIn), o.Reason
    if mine then pot.streak = pot.streak + 1 end
    if mine or pot.since > 0 then begin(0, 0, 0) end
  end
end
if command.Reopen and (pot.closed > now or pot.since > 0 and pot.remaining <= pot.out) then
  pot.closed, pot.reset = 0, math.max(1, pot.reset) -- and no longer new
  begin(0, 0, 0)
end
-- A process gets its share of a window in its first second, twice that in two, later twice its share of what is left.
-- Other programs may use the key: 1.5 times what they have probably sent since the last response is kept back.
if command.Want[1] + command.Want[2] > 0 and command.Epoch ~= pot.epoch then pot.active = pot.active + 1 end
if command.Want[1] > 0 then pot.urgent = now end -- background requests leave a tenth to others, if there are any
local before, processes = command.Epoch == pot.epoch and command.Granted or 0, math.max(1, pot.active, pot.processes)
local given, left = pot.number - pot.epoch, pot.remaining - pot.out
local others = pot.limit - pot.remaining - given
local sent = math.ceil(1.5 * others * (now - pot.heard) / math.max(1, now - pot.ends + minute))
if others > 0 then left = left - math.max(1, math.min(sent, math.floor(left / 2))) end
local most, second = math.max(1, math.floor(2 * left / processes)), math.floor((now - pot.since) / 1000)
local reserve = now < pot.urgent + 2 * minute and math.floor(pot.limit / 10) or 0
if now < pot.closed then left = 0
elseif pot.since == 0 then left, most, reserve = now < pot.await and 0 or 1, 1, 0 -- one request goes ahead
elseif second < 2 then most = (second + 1) * math.ceil((left + given) / processes) - before end
local granted = math.max(0, math.min(command.Want[1], left, most))
local background = math.max(0, math.min(command.Want[2], left - granted - reserve, most - granted))
given = granted + background
if given > 0 then pot.await = now + (pot.since > 0 and 2000 or pot.closed > 0 and 10000 or 1000) end
pot.number, pot.out, pot.at, left = pot.number + given, pot.out + given, now, left - given
local fields, ends_in, closed_in = {}, math.max(0, pot.ends - now), math.max(0, pot.closed - now)
for name, n in pairs(pot) do fields[#fields + 1], fields[#fields + 2] = name, n end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], math.max(ends_in, closed_in) + 10 * minute)
-- The reply: also why requests got no permit (a limit as in `reason`, or 3 for a response), and how long that lasts if it is known.
pot.granted, pot.left, pot.processes, pot.why, pot.wait = { granted, background }, left, processes, 3, 0
if command.Want[1] > granted then reserve = 0 end
if closed_in > 0 then pot.why, pot.wait = pot.reason, closed_in
elseif pot.since > 0 and left > reserve then pot.wait = second < 2 and pot.since + (second + 1) * 1000 - now or 0
elseif pot.since > 0 and (pot.remaining <= reserve or now >= pot.await) then pot.why, pot.wait = pot.day, ends_in end
return cjson.encode(pot)
