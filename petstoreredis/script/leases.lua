-- The permits that each process holds: unused, or of requests in flight. A process says in each
-- command how many these are, so that a command that is repeated or lost does no harm. A process
-- that is silent for longer than its lease is taken for dead. What it held is lost, not free: it may
-- have sent it all. The next response to a request sent after that shows what the service counted.

-- held_by returns how many permits a process holds, the number of its last command, and how many
-- permits it was granted of which window.
local function held_by(id)
  local text = redis.call('HGET', HELD, id) or '0 0 0 0'
  local held, seq, taken, epoch = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return tonumber(held) or 0, tonumber(seq) or 0, tonumber(taken) or 0, tonumber(epoch) or 0
end

-- add_up corrects outstanding, the sum of what all processes hold: to add it up each time would take
-- too long.
local function add_up()
  s.outstanding, s.summed = 0, now
  for _, text in ipairs(redis.call('HVALS', HELD)) do
    s.outstanding = s.outstanding + (tonumber(string.match(text, '^(%d+) ')) or 0)
  end
end

-- taken returns how many permits of this window the process was granted and has not returned.
local function taken()
  local _, _, n, epoch = held_by(command.id)
  return epoch == s.epoch and n or 0
end

-- bury removes a process whose lease ended at ended.
local function bury(id, ended)
  local held = held_by(id)
  s.outstanding = s.outstanding - held
  if held > 0 then
    s.responses = s.responses + 1
    miss(held, ended)
  end
  if drop_probes(id, 0) > 0 then
    silence()
  end
  redis.call('HDEL', HELD, id)
  redis.call('ZREM', LEASES, id)
  redis.call('ZREM', QUEUE, id)
end

-- reap buries the processes whose lease has ended, a hundred at a time so that no command takes long.
local function reap()
  local dead = redis.call('ZRANGEBYSCORE', LEASES, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 100)
  for i = 1, #dead, 2 do
    bury(dead[i], tonumber(dead[i + 1]))
  end
end

-- hold records what the process holds, with what this command grants, until its lease ends.
local function hold(granted, lease)
  local n = command.holding + granted
  s.outstanding = s.outstanding + n - held_by(command.id)
  redis.call('HSET', HELD, command.id, string.format('%d %d %d %d', n, command.seq, taken() + granted, s.epoch))
  redis.call('ZADD', LEASES, now + lease, command.id)
end

-- take_back subtracts n returned permits from what the process was granted.
local function take_back(n)
  local held, seq, granted, epoch = held_by(command.id)
  redis.call('HSET', HELD, command.id, string.format('%d %d %d %d', held, seq, math.max(0, granted - n), epoch))
end
