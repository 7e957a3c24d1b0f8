-- One call: what became of the party's requests, then what it may send.

-- place turns how long ago into when, and forgets what a report refers to that is not of this state: Redis was away,
-- or has lost the one that it is of.
local function place(r)
  r.sent, r.received = now - r.sent, now - r.received
  r.foreign = r.life ~= s.life
  if r.foreign then
    r.known, r.epoch, r.late = 0, 0, false
    r.closures = r.rejected and s.closures or -1
  end
end

local function settle(r)
  place(r)
  if r.unsent then
    s.unsent = s.unsent + 1
    return
  elseif r.lost then
    lose(r.n, now)
    if r.probe then
      silence()
    end
    return
  elseif r.probe then
    s.unsent, s.silent, s.probe_from = 0, 0, 0
  end
  s.rtt = s.rtt + (math.min(r.took, 5000) - s.rtt) / 4
  if r.limit > 0 then
    learn(r)
  else
    lose(r.n, 0)
  end
  if r.rejected then
    reject(r)
  elseif r.closures == s.closures then
    s.rejected, s.streak = false, 0
  end
  s.blind = true
end

-- remember takes a party's word for what was known, if nothing is any more.
local function remember(m)
  if s.epoch > 0 or s.rejected then
    return
  end
  if m.window then
    place(m.window)
    learn(m.window)
  end
  if m.gate > 0 then
    s.gate, s.closure, s.rejected = now + m.gate, m.closure, true
  end
end

-- queue notes since when the party has waited in vain.
local function queue(granted)
  if party.want > 0 and granted == 0 then
    redis.call('ZADD', QUEUE, 'NX', now, party.id)
  else
    redis.call('ZREM', QUEUE, party.id)
  end
end

local function exchange()
  reap()
  local _, seq = held_by(party.id)
  if party.seq < seq then
    return cjson.encode({stale = true})
  end
  hold(0, party.lease)
  drop_probes(party.id, party.probing)
  if party.memory then
    remember(party.memory)
  end
  for _, r in ipairs(party.reports or {}) do
    settle(r)
  end
  local granted, reason, wait = admit()
  queue(granted)
  if granted > 0 then
    s.gave = now
  end
  hold(granted, party.lease + math.ceil(party.holding + granted == 0 and wait or 0))
  save()
  local waiting = redis.call('ZCARD', QUEUE)
  local probe = granted > 0 and reason == 'probe'
  return cjson.encode({
    life = s.life, known = s.answers, epoch = s.epoch, closures = s.closures,
    granted = granted, probe = probe, reason = reason, wait = math.ceil(wait),
    -- Others can go on only when they know the answer.
    urgent = probe or s.epoch == 0 or s.own < s.look or (waiting > 0 and crowded() or false),
    limit = s.limit, left = left(), taken = taken(), outstanding = s.outstanding, shown = s.shown, day = s.day or false,
    ends = math.ceil(s.ends - now), unsure = unsure(),
    gate = math.ceil(math.max(0, s.gate - now)), closure = s.closure,
    parties = s.parties, waiting = waiting,
  })
end

return exchange()
