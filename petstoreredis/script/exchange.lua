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
  s.reopened = false
  s.rtt = s.rtt + (math.min(r.took, 5000) - s.rtt) / 4
  if r.limit > 0 then
    learn(r)
  else
    lose(r.n, 0)
  end
  if not r.rejected then
    s.proved = math.max(s.proved, r.sent)
  end
  if r.rejected then
    reject(r)
  elseif r.closures == s.closures then
    s.rejected, s.streak = false, 0
  end
  s.blind = true
end

-- older reports whether the state is one of earlier than what the party has heard of: Redis has come back with what it
-- had on disk, or a replica has taken over that had not got all. The commands since may have had the same numbers, but
-- not the same times.
local function older()
  if party.life ~= s.life then
    return false
  elseif party.turn > s.turn then
    return true
  end
  return s.turn - party.turn < MARKS and s.marks[party.turn % MARKS + 1] ~= party.mark
end

-- count numbers this command.
local function count()
  if #s.marks < MARKS then
    for i = 1, MARKS do
      s.marks[i] = 0
    end
  end
  s.turn = s.turn + 1
  s.marks[s.turn % MARKS + 1] = now
end

-- remember takes a party's word for what this state does not know: the lower Remaining of the same window holds, and a
-- later window or gate, unless a request has succeeded that was sent after it was heard of.
local function remember(m)
  if m.window then
    place(m.window)
    local order = compare(m.window)
    local newer = m.window.sent >= s.proved -- than what the service has described since
    if (order == 'next' and newer) or (order == 'same' and m.window.remaining < left()) then
      learn(m.window)
    end
  end
  local closed = now - m.closed
  if m.gate > 0 and closed >= s.proved and now + m.gate > s.gate then
    s.gate, s.closure, s.closed, s.rejected = now + m.gate, m.closure, closed, true
  end
end

-- recall has the state know at least what the party does.
local function recall()
  if older() then
    s.life, s.turn = fresh(now).life, math.max(s.turn, party.turn)
    s.look, s.pause = s.own + 1, now + PATIENCE -- the others know more as well, and come within that
  end
  if party.memory and party.life ~= s.life then
    remember(party.memory)
  end
end

-- reopen has one request ask the service, whatever keeps requests back.
local function reopen()
  s.gate, s.streak, s.pause, s.probe_from, s.reopened = 0, 0, 0, 0, true
  s.proved = now -- what closed the key before is not believed any more
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
  if s.outstanding < 0 or now - s.summed >= 1000 then
    add_up()
  end
  reap()
  local _, seq = held_by(party.id)
  if party.seq < seq then
    return cjson.encode({stale = true})
  end
  hold(0, party.lease)
  drop_probes(party.id, party.probing)
  recall()
  count()
  for _, r in ipairs(party.reports or {}) do
    settle(r)
  end
  if party.reopen then
    reopen()
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
    closed = math.ceil(math.max(0, now - s.closed)), turn = s.turn, mark = now, repaired = repaired,
    parties = s.parties, waiting = waiting,
  })
end

return exchange()
