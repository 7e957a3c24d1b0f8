-- One command of a process: it reports outcomes, then gets permits.

-- place replaces how long ago by when. In a report that refers to another state than this one,
-- because Redis was away or has lost it, it replaces what refers to that, too.
local function place(r)
  r.sent, r.received = now - r.sent, now - r.received
  r.elsewhere = r.instance ~= s.instance
  if r.elsewhere then
    r.known, r.epoch, r.over, r.step = 0, 0, false, -1000
    r.closures = r.rejected and s.closures or -1
  end
end

-- respond records a response.
local function respond(r)
  s.rtt = s.rtt + (math.min(r.took, 5000) - s.rtt) / 4
  if r.limit > 0 then
    learn(r)
  else
    miss(r.n, 0)
  end
  if r.rejected then
    reject(r)
  else
    s.proved = math.max(s.proved, r.sent)
    if r.closures == s.closures then
      s.rejected, s.streak, s.reopened = false, 0, 0
    end
  end
  s.blind = true
end

-- settle records the outcome of the requests of a report.
local function settle(r)
  place(r)
  remove(r.step, r.n)
  if r.probe then
    settle_probe(r)
  end
  if r.unsent then
    s.admitted = s.admitted - r.n
    take_back(r.n)
    return
  end
  s.responses = s.responses + 1
  if r.lost then
    miss(r.n, now)
  else
    respond(r)
  end
end

-- older reports whether the state is from before the last command of the process: Redis has come
-- back with what it had on disk, or a replica that lagged behind has taken over. Later commands may
-- have had the same numbers since, but not the same times.
local function older()
  if command.instance ~= s.instance then
    return false
  elseif command.commands > s.commands then
    return true
  end
  local times = #s.times
  return s.commands - command.commands < times and s.times[command.commands % times + 1] ~= command.at
end

-- number records the number and time of this command, by which its process recognises the state.
local function number()
  for i = #s.times + 1, MOST do
    s.times[i] = 0
  end
  s.commands = s.commands + 1
  s.times[s.commands % MOST + 1] = now
end

-- remember adds what a process knows and this state does not: a lower Remaining of the same window,
-- and a later window or closure, unless a request that was sent later has succeeded.
local function remember(m)
  if m.window then
    place(m.window)
    local _, usable = end_of(m.window, m.window.received)
    local order = compare(m.window, usable)
    local newer = m.window.sent >= s.proved -- than any success
    if (order == 'next' and newer) or (order == 'same' and m.window.remaining < left()) then
      s.responses = s.responses + 1
      learn(m.window)
    end
  end
  local closed = now - m.closed
  if m.gate > 0 and closed >= s.proved and now + m.gate > s.gate then
    s.gate, s.scope, s.closed, s.rejected = now + m.gate, m.scope, closed, true
  end
end

-- recall adds what the process knows to a state that is older or new.
local function recall()
  if older() then
    s.instance, s.commands = fresh(now).instance, math.max(s.commands, command.commands)
    s.look, s.pause = s.own + 1, now + RETURN -- all other processes that know more come within that
  end
  if command.memory and command.instance ~= s.instance then
    remember(command.memory)
  end
end

-- grant records the permits that the process gets. It returns the same as admit.
local function grant()
  local n, reason, wait = admit()
  if command.want > 0 and n == 0 then
    redis.call('ZADD', QUEUE, 'NX', now, command.id)
  else
    redis.call('ZREM', QUEUE, command.id)
  end
  if n > 0 then
    s.gave = now
    s.admitted = s.admitted + n
    add(n)
  end
  hold(n, command.lease + math.ceil(command.holding + n == 0 and wait or 0))
  return n, reason, wait
end

-- urgent reports whether other processes wait for the responses to what is granted now.
local function urgent(waiting)
  local _, grows = free(reserve())
  return s.epoch == 0 or s.own < s.look or (waiting > 0 and grows)
end

-- exchange carries out the command, and returns the reply.
local function exchange()
  if s.outstanding < 0 or now - s.summed >= 1000 then
    add_up()
  end
  reap()
  local _, seq = held_by(command.id)
  if command.seq < seq then
    return cjson.encode({stale = true})
  end
  hold(0, command.lease)
  drop_probes(command.id, command.probes)
  recall()
  number()
  advance()
  for _, r in ipairs(command.reports or {}) do
    settle(r)
  end
  if command.reopen then
    reopen()
  end
  local granted, reason, wait = grant()
  save()
  local waiting = redis.call('ZCARD', QUEUE)
  local probe = granted > 0 and reason == 'probe'
  return cjson.encode({
    instance = s.instance, known = s.responses, epoch = s.epoch, closures = s.closures,
    step = s.step, base = left() + s.admitted - s.outstanding, heard = s.heard, probe = probe,
    urgent = probe or urgent(waiting),
    granted = granted, reason = reason, wait = math.ceil(wait),
    limit = s.limit, left = left(), taken = taken(), outstanding = s.outstanding, shown = s.shown, day = s.day,
    ends = math.ceil(s.ends - now), unsure = needs_probe(reserve()),
    gate = math.ceil(math.max(0, s.gate - now)), scope = s.scope, closed = math.ceil(math.max(0, now - s.closed)),
    processes = s.processes, waiting = waiting, commands = s.commands, at = now, repaired = repaired,
  })
end

return exchange()
