-- How many requests each process may send, and what it has to wait for.

-- response_in returns in how long to ask whether a response has come that is awaited since then: the
-- longer it takes, the more rarely.
local function response_in(since)
  local waited = now - since
  return math.max(5, s.rtt * 1.25 - waited, waited)
end

-- rank returns the number of processes that have waited for longer than this one.
local function rank()
  return redis.call('ZRANK', QUEUE, command.id) or redis.call('ZCARD', QUEUE)
end

-- at_in returns in how long a process that waits for a time should ask again. The first of the queue
-- asks then; the others, one after the other, when there may be a response to its request.
local function at_in(at)
  local before = rank()
  return at - now + (before > 0 and s.rtt * 2 + before or 0)
end

-- free returns how many more requests may be in flight, and whether a response may raise that.
local function free(reserved)
  if s.epoch == 0 then
    return math.max(0, blindly() - not_late()), true
  end
  local rest, most = left() - s.outstanding - reserved, share() - not_late()
  if s.own < s.look then
    most = math.min(most, 1 - s.outstanding)
  end
  return math.max(0, math.min(rest, most)), rest > 0 and most < rest
end

-- part returns how many of n free permits the process gets: what is missing to its part of the
-- window, or its part of what is free. A process that has had its part leaves theirs to those that
-- have waited for longer.
local function part(n)
  local processes = redis.call('ZCARD', LEASES)
  local whole = math.ceil(s.limit / processes)
  if whole > 4 and whole * processes - s.limit >= whole then
    whole = whole - 1 -- the parts of the first would leave nothing to the last; of four, one less is too much
  end
  local missing = whole - taken()
  if s.slides then
    missing = 0
  elseif missing <= 0 and rank() > 0 then
    local rest = math.max(0, n - rank() * whole)
    return math.min(command.want, math.floor(rest / processes))
  end
  -- A quarter of what nobody else waits for: single ones cost a round trip each.
  local parts = missing <= 0 and not s.slides and math.min(processes, 4) or processes
  return math.min(command.want, n, math.max(1, math.floor(n / parts), missing))
end

-- grant_probe grants a probe, or returns in how long to ask again.
local function grant_probe()
  local may, at = may_probe()
  if may then
    table.insert(s.probes, {command.id, now})
    s.probe_at = now
    return 1, 'probe', 0
  end
  local wait = response_in(s.probe_at)
  if now < s.probe_from then
    wait = at - now
  elseif at then
    wait = math.min(at - now, wait)
  end
  return 0, 'probe', wait + rank()
end

-- admit returns how many permits the process gets, what it has to wait for after these, and in how
-- long to ask again.
local function admit()
  local reserved = reserve()
  if command.want == 0 then
    return 0, '', 0
  elseif now < s.gate then
    return 0, 'gate', at_in(s.gate)
  elseif needs_probe(reserved) then
    return grant_probe()
  elseif s.epoch > 0 and left() <= reserved then
    return 0, 'window', at_in(s.ends)
  end
  local available, grows = free(reserved)
  if available > 0 and now < s.pause then
    return 0, 'pause', at_in(s.pause)
  end
  local n = available > 0 and part(available) or 0
  if n > 0 and (n == command.want or n < available) then
    return n, '', 0
  end
  -- The longer nothing has happened, the longer nothing may.
  local since = math.max(s.heard, s.gave, now >= s.ends and s.ends or 0)
  if available == n and grows then
    return n, 'response', math.min(response_in(since), late_in() or YEAR) + rank()
  end
  -- Only what comes back unused can help, and it comes first to those who have waited for longer.
  local before = rank()
  if n == 0 and before >= available + s.outstanding and not s.slides and not s.day then
    return 0, 'window', at_in(s.ends)
  end
  if n < available then
    since = s.start -- little is left, and others come first
  end
  return n, 'full', math.min(math.max(UNUSED, now - since) + before, at_in(s.ends))
end
