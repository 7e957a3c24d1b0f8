-- Who may send how much, and who has to wait for how long.

-- unsure reports whether nothing known covers a request, so that one has to go ahead for the fleet. What is left
-- of a window that is over covers one as well: the next has at least as much room.
local function unsure()
  if s.rejected then
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
  local roomy = not s.rejected and (s.epoch == 0 or left() > s.outstanding)
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

-- room is how many requests more may be on their way, and if none, until when that cannot change but by an answer,
-- and whether any answer may change it.
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
  if free > 0 then
    return now < s.pause and 0 or free, s.pause
  elseif s.outstanding > 0 and now >= s.ends then
    return 0, nil, true
  elseif s.outstanding > 0 and rest > reserve then
    return 0, s.ends, s.outstanding >= most and rest - reserve > s.outstanding
  end
  return 0, s.ends
end

-- rank is the number of parties that wait for longer than this one.
local function rank()
  return redis.call('ZRANK', QUEUE, party.id) or redis.call('ZCARD', QUEUE)
end

-- since is when the party began to wait.
local function since()
  return tonumber(redis.call('ZSCORE', QUEUE, party.id) or now)
end

-- at_in is in how long a party should ask again that waits for a time. The first of the queue goes ahead then;
-- the others come one after the other when its answer can be expected.
local function at_in(at)
  local turn = rank()
  return at - now + (turn > 0 and s.rtt * 1.25 + turn or 0)
end

-- share is how many of free permits the party gets of those it wants. Each gets its part at a time, and leaves one
-- to everybody who waits for longer.
local function share(free)
  local part = math.max(1, math.floor(free / redis.call('ZCARD', LEASES)))
  return math.max(0, math.min(party.want, part, free - rank()))
end

-- admit reserves requests for the party. It returns how many, what it waits for if there are none, and in how
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
  local n = share(free)
  if n > 0 then
    return n, '', 0
  elseif free > 0 then
    return 0, 'turn', answer_in(since())
  elseif at and not any and (s.outstanding == 0 or at == s.pause) then
    return 0, 'window', at_in(at)
  end
  local wait = answer_in(since()) + rank()
  return 0, any and 'answer' or 'full', at and math.min(wait, at_in(at)) or wait
end
