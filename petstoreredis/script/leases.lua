-- What each party holds: permits not used yet, and requests not reported yet. A party says how many these are
-- whenever it speaks, so that a command repeated or lost does no harm. One that is silent for longer than its
-- lease is taken for dead. What it held is lost, not free: it may have sent it all. The next answer to a request
-- sent after that tells what the service has really counted.

-- held_by is how much a party holds, the number of its last command, and how much it was granted of which window.
local function held_by(id)
  local text = redis.call('HGET', HELD, id) or '0 0 0 0'
  local held, seq, taken, epoch = string.match(text, '^(%d+) (%d+) (%d+) (%d+)$')
  return tonumber(held) or 0, tonumber(seq) or 0, tonumber(taken) or 0, tonumber(epoch) or 0
end

-- add_up corrects outstanding, which is kept as a sum because adding up each time would take too long.
local function add_up()
  s.outstanding, s.summed = 0, now
  for _, text in ipairs(redis.call('HVALS', HELD)) do
    s.outstanding = s.outstanding + (tonumber(string.match(text, '^(%d+) ')) or 0)
  end
end

-- taken is how much the party was granted of this window.
local function taken()
  local _, _, n, epoch = held_by(party.id)
  return epoch == s.epoch and n or 0
end

-- drop_probes leaves a party its first n probes and returns how many that takes away.
local function drop_probes(id, n)
  local before = #s.probes
  s.probes = keep(s.probes, function(probe)
    n = n - (probe[1] == id and 1 or 0)
    return probe[1] ~= id or n >= 0
  end)
  return before - #s.probes
end

-- silence puts off the next probe after one that got no answer: the service is in trouble.
local function silence()
  s.probe_from = now + math.min(100 * 2 ^ math.min(s.silent, 10), 15000)
  s.silent = s.silent + 1
end

-- reap ends the leases of the dead.
local function reap()
  local dead = redis.call('ZRANGEBYSCORE', LEASES, '-inf', now, 'WITHSCORES', 'LIMIT', 0, 100)
  for i = 1, #dead, 2 do
    local id, ended = dead[i], tonumber(dead[i + 1])
    local held = held_by(id)
    s.outstanding = s.outstanding - held
    if held > 0 then
      lose(held, ended)
    end
    if drop_probes(id, 0) > 0 then
      silence()
    end
    redis.call('HDEL', HELD, id)
    redis.call('ZREM', LEASES, id)
    redis.call('ZREM', QUEUE, id)
  end
end

-- hold records what the party holds until its lease ends, granted of it since it spoke.
local function hold(granted, lease)
  local n = party.holding + granted
  s.outstanding = s.outstanding + n - held_by(party.id)
  redis.call('HSET', HELD, party.id, string.format('%d %d %d %d', n, party.seq, taken() + granted, s.epoch))
  redis.call('ZADD', LEASES, now + lease, party.id)
end
