-- One pot of permits for all processes that share an API key. KEYS[1] is a hash with the fields of
-- pot. ARGV[1] is the order of one process (script.go): what it reports, and how many permits it
-- wants.
local order, clock = cjson.decode(ARGV[1]), redis.call('TIME')
local now, minute, none = clock[1] * 1000 + math.floor(clock[2] / 1000), 60000, 1e9 -- milliseconds
local pot = {
  -- the time of the last run; the number of the last permit; that number when this window began
  at = now, number = 0, epoch = 0,
  -- X-RateLimit-Limit; X-RateLimit-Reset; whose limit it is: 0 the minute's, 1 the day's, 2 a ban's
  limit = 0, reset = 0, scope = 0,
  ends = 0, -- when the window ends, 0 if that is not known
  -- when the last response about this window was reported; before the first, one request goes ahead
  known = 0,
  remaining = 0, out = 0, -- how many requests are left; how many permits have no reported outcome yet
  -- the last permit when `remaining` was set; the least X-RateLimit-Remaining reported since then
  mark = 0, newer = none,
  probe = 0, -- when a second request may go ahead, if the first has no response by then
  closed = 0, opened = 0, -- the end of the lockout after a 429, 0 after a success; when it was reopened
  asked = 0, processes = 0, -- processes that asked in this window; processes that share the key
}
-- 1. Read the pot. A new one replaces a pot that is missing, is junk, is from the future, is older
-- than what this process knows (as after a failover), or could not be reached by any process for a
-- second. If the process knew a pot before, no request goes ahead for 1.5 s, until the other
-- processes have come back, too.
local found, kept, lost = redis.pcall('HGETALL', KEYS[1]), {}, false
for i = 1, #found, 2 do kept[found[i]] = tonumber(found[i + 1]) end
for name in pairs(pot) do
  local value = kept[name] or -1
  lost = lost or value < 0 or value > 1e14 or value ~= math.floor(value)
end
lost = lost or kept.number < order.number or kept.at > now + 1000 or order.alone and kept.at < now - 1000
if lost or math.max(kept.ends, kept.closed) > now + 400 * 24 * 60 * minute then
  redis.call('DEL', KEYS[1])
  pot.number, pot.processes = math.max(now, order.number + minute), order.processes
  pot.epoch, pot.mark, pot.probe = pot.number, pot.number, order.number > 0 and now + 1500 or 0
else
  pot = kept
end
-- 2. When a window ends, its permits are forgotten, also those of processes that have died. As many
-- requests as the old window had left are allowed in the new one, too. If they are few, less than a
-- quarter of the limit, one request goes ahead instead, to learn what the new window allows.
local left = pot.remaining - pot.out
local function begin(remaining, known, ends)
  pot.processes = math.max(pot.asked, math.floor((pot.processes + pot.asked) / 2))
  pot.asked, pot.out, pot.probe, pot.number, pot.newer = 0, 0, 0, pot.number + 1, none
  pot.epoch, pot.mark, pot.remaining, pot.known, pot.ends = pot.number, pot.number, remaining, known, ends
end
if pot.ends > 0 and now >= pot.ends then
  if left > 0 and left * 4 >= pot.limit then begin(left, now, now + minute) else begin(0, 0, 0) end
end
-- 3. Outcomes. A permit is done if its request was not sent, or if a response shows what is left
-- after it. A permit is spent if the service may have counted its request, but no response shows
-- it: then only the responses to later permits show what is left.
if order.counted == pot.epoch and order.done + order.spent > 0 then
  pot.out = math.max(0, pot.out - order.done - order.spent)
  if order.spent > 0 then pot.mark, pot.newer = pot.number, none end
  pot.remaining = math.max(0, pot.remaining - order.spent)
  if not order.silent then pot.probe = 0 end
end
-- 4. Responses: the order has the least Remaining of them, and the latest permit among them. That
-- Remaining includes all requests whose outcome was reported before the latest permit was given. So
-- if this permit is later than `mark`, the Remaining is what is left. If not, it may be from an
-- older request, and what is left can only become less. A pot that knows nothing yet also believes
-- a process that its window is used up.
local mine, newer, ahead = order.latest > pot.epoch, order.latest > pot.mark, order.reset - pot.reset
local first = pot.known == 0 and (mine or pot.reset == 0 and order.remaining == 0 and order.ends_in > 0)
if order.limit > 0 and (first or pot.known > 0 and order.latest > 0 and (newer or ahead >= -30)) then
  if first or math.abs(ahead) > 30 then pot.newer, newer, pot.ends = none, true, 0 end -- another window
  pot.newer = math.min(pot.newer, order.remaining)
  pot.remaining = newer and pot.newer or math.min(pot.remaining, order.remaining)
  if newer then pot.mark, pot.newer = pot.number, none end
  -- While requests are left, a window lasts a minute at most, so that the permits of processes that
  -- died come back.
  local ends = now + math.max(1, pot.remaining > 0 and math.min(order.ends_in, minute) or order.ends_in)
  if pot.ends == 0 or ahead ~= 0 or ends < pot.ends or ends > now + minute then pot.ends = ends end
  pot.known, pot.limit, pot.reset, pot.scope = now, order.limit, order.reset, order.scope
  if mine then pot.closed = 0 end
end
-- 5. After a 429 nothing is sent until the lockout ends; then one request goes ahead. A new pot
-- learns of a lockout from the processes that know of it.
if order.closed_in > 0 and (order.rejected or pot.number == pot.epoch and order.opened >= pot.opened) then
  pot.closed, pot.scope = math.max(pot.closed, now + order.closed_in), order.scope
  begin(0, 0, 0)
elseif order.reopen and (pot.closed > now or pot.remaining <= pot.out) then
  pot.closed, pot.opened = 0, math.max(now, pot.opened + 1)
  begin(0, 0, 0)
end
-- 6. Permits for requests that wait. A process gets at most twice its share of what is left, so
-- that the others find some. Background requests leave a tenth of the limit. Other programs may use
-- the key, too: the pot keeps back what they have probably sent since the last response, which is
-- 1.5 times what they sent on average in such a time before.
if order.want + order.background > 0 and order.epoch ~= pot.epoch then pot.asked = pot.asked + 1 end
local processes = math.max(1, pot.asked, pot.processes)
local others = pot.limit - pot.remaining - (pot.number - pot.epoch)
local sent = math.ceil(1.5 * others * (now - pot.known) / math.max(1, now - pot.ends + minute))
left = pot.remaining - pot.out
if others > 0 then left = left - math.max(1, math.min(sent, math.floor(left / 2))) end
left = now >= pot.closed and math.max(0, left) or 0
local granted = math.min(order.want, left, math.max(1, math.floor(2 * left / processes)))
local background = math.max(0, math.min(order.background, left - granted - math.floor(pot.limit / 10)))
if pot.known == 0 and now >= math.max(pot.closed, pot.probe) then
  granted = math.min(1, order.want)
  background = math.min(1 - granted, order.background)
  if granted + background > 0 then pot.probe = now + (pot.closed > 0 and 10000 or 1000) end
end
pot.number, pot.out, pot.at = pot.number + granted + background, pot.out + granted + background, now
-- 7. Write the pot, and reply. It expires ten minutes after its window and its lockout are over.
local fields = {}
for name, value in pairs(pot) do fields[#fields + 1], fields[#fields + 2] = name, value end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], math.max(0, pot.ends - now, pot.closed - now) + 10 * minute)
pot.granted, pot.background, pot.left = granted, background, math.max(0, left - granted - background)
pot.processes = processes
return cjson.encode(pot)
