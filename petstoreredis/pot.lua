-- One pot of permits for all processes that share an API key. KEYS[1] is a hash with the fields of
-- pot, ARGV[1] the order of one process (script.go): what it reports, and how many permits it wants.
-- All times are milliseconds by the clock of this server.
local order, clock = cjson.decode(ARGV[1]), redis.call('TIME')
local now, minute, none = clock[1] * 1000 + math.floor(clock[2] / 1000), 60000, 1e9

local pot = {
  at = now, -- when this script ran last
  number = 0, -- of the last permit; it only grows
  epoch = 0, -- number at the start of this window, which identifies it
  known = 0, -- when a response described this window last; until the first, one request goes ahead
  limit = 0, reset = 0, -- X-RateLimit-Limit and -Reset
  remaining = 0, -- the least X-RateLimit-Remaining that still holds
  out = 0, -- permits of this window whose outcome has not been reported; remaining - out are left
  mark = 0, newer = none, -- the least Remaining of the responses reported since permit `mark`
  ends = 0, -- end of the window; 0 if that is not known
  probe = 0, -- when another request may go ahead, although one has
  closed = 0, -- end of the lockout after a 429; 0 after a success
  opened = 0, -- when a process had the key reopened last
  asked = 0, processes = 0, -- processes that asked in this window, and that share the key
}

-- 1. Read the pot. One that is missing, junk, of the future, or older than a process knows (after a
-- failover) begins anew, and one of which nobody could hear. Requests that it does not know of are on
-- their way: until all processes have come back, nothing goes ahead.
local found, kept, lost = redis.pcall('HGETALL', KEYS[1]), {}, false
for i = 1, #found, 2 do kept[found[i]] = tonumber(found[i + 1]) or found[i + 1] end
for name in pairs(pot) do
  local value = tonumber(kept[name])
  lost = lost or not value or value ~= math.floor(value) or value < 0 or value > 1e14
end
lost = lost or kept.number < order.number or kept.at > now + 1000 or order.alone and kept.at < now - 1000
if lost or math.max(kept.ends, kept.closed) > now + 400 * 24 * 60 * minute then
  redis.call('DEL', KEYS[1])
  pot.number = math.max(now, order.number + minute) -- more than any process knows
  pot.epoch, pot.mark, pot.probe = pot.number, pot.number, order.number > 0 and now + 1500 or 0
  pot.processes = order.processes
else
  pot = kept
end

-- 2. A new window: all permits of the old one are forgotten, also those of processes that died.
local function begin(remaining, known, ends)
  pot.processes = math.max(pot.asked, math.floor((pot.processes + pot.asked) / 2))
  pot.asked, pot.out, pot.number = 0, 0, pot.number + 1
  pot.epoch, pot.mark, pot.newer = pot.number, pot.number, none
  pot.remaining, pot.known, pot.ends, pot.probe = remaining, known, ends, 0
end
-- If the window is over by the clock, what it has left is valid in the next one, too. If that is
-- little, one request goes ahead.
if pot.ends > 0 and now >= pot.ends then
  local left = pot.remaining - pot.out
  if left > 0 and left * 4 >= pot.limit then begin(left, now, now + minute) else begin(0, 0, 0) end
end

-- 3. Take back the permits whose outcome is reported: done are in a response or were not sent; spent
-- may have been counted, so that only requests after them show what is left.
if order.counted == pot.epoch then
  pot.out = math.max(0, pot.out - order.done - order.spent)
  if order.spent > 0 then
    pot.remaining, pot.mark, pot.newer = math.max(0, pot.remaining - order.spent), pot.number, none
  end
  if order.done + order.spent > 0 and not order.silent then pot.probe = 0 end
  if order.bare and pot.limit == 0 then -- a service without the headers gets two requests at a time
    pot.remaining, pot.known, pot.ends, pot.closed = 2, now, now + minute, 0
  end
end

-- 4. Learn from the headers of responses: Remaining, and the number of the latest permit among them.
-- A response includes all that were reported before its permit was given (newer); of the others, the
-- least Remaining holds. While nothing is known, a process may know that the window is used up.
local mine, newer, ahead = order.latest > pot.epoch, order.latest > pot.mark, order.reset - pot.reset
local used_up = pot.reset == 0 and order.remaining == 0 and order.ends_in > 0
local first = pot.known == 0 and (mine or used_up)
if order.limit > 0 and (first or pot.known > 0 and order.latest > 0) then
  if first or ahead > 30 or ahead < -30 and newer then -- the next window, or another limit
    pot.newer, newer, pot.ends = none, true, 0
  end
  if newer or ahead >= -30 then
    pot.newer = math.min(pot.newer, order.remaining)
    pot.remaining = newer and pot.newer or math.min(pot.remaining, order.remaining)
    if newer then pot.mark, pot.newer = pot.number, none end
    -- While something is left, a window lasts a minute at most: then permits of the dead come back.
    local ends = now + math.max(1, pot.remaining > 0 and math.min(order.ends_in, minute) or order.ends_in)
    if order.reset ~= pot.reset or pot.ends == 0 or ends < pot.ends or pot.remaining == 0 and order.ends_in > minute then
      pot.ends = ends
    end
    pot.known, pot.limit, pot.reset, pot.scope = now, order.limit, order.reset, order.scope
  end
  if mine and not order.rejected then pot.closed = 0 end
end

-- 5. After a 429 nothing is sent until the end of the lockout. Then one request goes ahead. A pot that
-- has begun anew hears from processes that the key is closed.
local tells = pot.reset == 0 and pot.number == pot.epoch and order.opened >= pot.opened
if order.closed_in > 0 and (order.rejected or tells) then
  pot.closed, pot.scope = math.max(pot.closed, now + order.closed_in), order.scope
  begin(0, 0, 0)
end
if order.reopen and (pot.closed > now or pot.remaining <= pot.out) then
  pot.closed, pot.opened = 0, math.max(now, pot.opened + 1)
  begin(0, 0, 0)
end

-- 6. Give permits for requests that wait: at most the part of one process at a time. Those in
-- background leave a tenth of the limit to others.
local wanted, granted, background = order.want + order.background, 0, 0
if wanted > 0 and order.epoch ~= pot.epoch then pot.asked = pot.asked + 1 end
local processes = math.max(1, pot.asked, pot.processes)
-- Programs that are not of the fleet have sent others. They go on: since the last response they have
-- probably sent as many as before, and half as many more.
local others, spare = pot.limit - pot.remaining - (pot.number - pot.epoch), 0
if pot.known > 0 and others > 0 then
  local sent = 1.5 * others * (now - pot.known) / math.max(1, now - pot.ends + minute)
  spare = math.max(1, math.min(math.ceil(sent), math.floor((pot.remaining - pot.out) / 2)))
end
local left = pot.remaining - pot.out - spare
if now >= pot.closed and pot.known > 0 then
  local most = math.max(1, math.floor(2 * left / processes))
  granted = math.max(0, math.min(order.want, most, left))
  background = math.max(0, math.min(order.background, most - granted, left - granted - math.floor(pot.limit / 10)))
elseif now >= pot.closed and wanted > 0 and now >= pot.probe then
  granted = math.min(1, order.want)
  background = 1 - granted
  pot.probe = now + (pot.closed > 0 and 10000 or 1000) -- if there is no response, another one follows
end
pot.number, pot.out = pot.number + granted + background, pot.out + granted + background

-- 7. Write the pot, which expires when nobody uses it, and reply with what is known.
pot.at, pot.scope = now, pot.scope or 'minute'
local fields = {}
for name, value in pairs(pot) do fields[#fields + 1], fields[#fields + 2] = name, value end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], math.max(0, pot.ends - now, pot.closed - now) + 10 * minute)
return cjson.encode({
  granted = granted, background = background, number = pot.number, epoch = pot.epoch, opened = pot.opened,
  known = pot.known > 0, limit = pot.limit, remaining = math.max(0, pot.remaining - spare), reset = pot.reset, scope = pot.scope,
  left = math.max(0, pot.remaining - pot.out - spare), ends_in = math.max(0, pot.ends - now),
  closed_in = math.max(0, pot.closed - now), processes = processes,
})
