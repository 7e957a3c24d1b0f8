-- Who may send how much, and who has to wait for how long.

-- unsure reports whether nothing known covers a request, so that one has to go ahead for the fleet. What is left
-- of a window that is over covers one as well: the next has at least as much room.
local function unsure()
  if s.rejected or s.reopened then
    return true
  elseif s.epoch == 0 then
    return not s.blind
  end
  return now >= s.ends and (left() <= s.outstanding or crowded())
end

-- answer_in is in how long an answer can be expected that is waited for since then: not too often.
local function answer_in(since)
  local waited = now - since
  return math.max(5, s.rtt * 1.25 - waited, waited)
end

-- probe_in is 0 if a request may go ahead of the others, else in how long to ask again. One goes, and a second
-- if its answer is long in coming: soon, if there is room for it without doubt, late if it may be one too many.
local function probe_in()
  local roomy = not s.rejected and not s.reopened and (s.epoch == 0 or left() > s.outstanding)
  local n, last = #s.probes, s.probes[#s.probes]
  if now < s.probe_from then
    return s.probe_from - now
  elseif n == 0 or (roomy and n < 2 ^ math.min(s.unsent, 2)) then
    return 0
  elseif n > 1 then
    return answer_in(last[2])
  end
  local second = last[2] + (roomy and PATIENCE or ROOMLESS)
  return now >= second and 0 or math.min(second - now, answer_in(last[2]))
end

-- room is how many requests more may be on their way, until when that cannot grow but by an answer, and whether any
-- answer makes it grow.
local function room()
  if s.epoch == 0 then
    return (s.trickle and 1 or BLIND) - s.outstanding, nil, true
  end
  if s.outstanding == 0 and now - s.heard > QUIET then
    s.look = s.own + 1
  end
  local rest, reserve = left(), 0
  local most = rest
  if crowded() then
    -- What others have on their way shows only when it is answered.
    reserve, most = 1, math.max(1, math.floor(rest / 16))
  elseif s.slides then
    most = math.max(4, math.floor(rest / 4))
  end
  if s.own < s.look then
    most = 1
  end
  local free = math.min(rest - reserve, most) - s.outstanding
  if free > 0 and now < s.pause then
    return 0, s.pause, false
  elseif free <= 0 and (s.outstanding == 0 or rest <= reserve) and (s.outstanding == 0 or now < s.ends) then
    return 0, s.ends, false
  end
  return free, nil, most < rest - reserve or now >= s.ends
end

-- rank is the number of parties that wait for longer than this one.
local function rank()
  return redis.call('ZRANK', QUEUE, party.id) or redis.call('ZCARD', QUEUE)
end

-- at_in is in how long a party should ask again that waits for a time. The first of the queue goes ahead then;
-- the others come one after the other when its answer can be expected.
local function at_in(at)
  local turn = rank()
  return at - now + (turn > 0 and s.rtt * 2 + turn or 0)
end

-- share is how many of free permits the party gets of those it wants: what is still missing to its part of the
-- window, or its part of what is free.
local function share(free)
  local parties = redis.call('ZCARD', LEASES)
  local part = math.max(1, math.floor(free / parties), s.slides and 0 or math.ceil(s.limit / parties) - taken())
  return math.max(0, math.min(party.want, part, free))
end

-- admit reserves requests for the party. It returns how many, what there is to wait for after that, and in how
-- long to ask again.
local function admit()
  if party.want == 0 then
    return 0, '', 0
  elseif now < s.gate then
    return 0, 'gate', at_in(s.gate)
  elseif unsure() then
    local wait = probe_in()
    if wait > 0 then
      return 0, 'probe', wait + rank()
    end
    table.insert(s.probes, {party.id, now})
    return 1, 'probe', 0
  end
  local free, at, any = room()
  if at then
    return 0, at == s.ends and 'window' or 'pause', at_in(at)
  end
  local n = share(free)
  if n > 0 and (n == party.want or n < free) then
    return n, '', 0
  end
  -- The longer nothing has happened, the longer nothing may.
  local since = math.max(s.heard, s.gave, now >= s.ends and s.ends or 0)
  if any then
    return n, 'answer', answer_in(since) + rank()
  end
  -- Only what comes back unused can help, and it comes to those first who wait for longer.
  local turn = rank()
  if n == 0 and turn >= s.outstanding and not s.slides and not s.day then
    return 0, 'window', at_in(s.ends)
  end
  return n, 'full', math.min(math.max(UNUSED, now - since) + turn, at_in(s.ends))
end
