-- The numbers from the responses of this window that are still valid (samples.go). The order in
-- which the service counted the requests is not known: the lowest Remaining is valid until there is a
-- response to a request that was sent after it was known. Long lists are cut to the safe side.

-- keep returns the entries of a list for which wanted returns true.
local function keep(list, wanted)
  local kept = {}
  for _, entry in ipairs(list) do
    if wanted(entry) then
      table.insert(kept, entry)
    end
  end
  return kept
end

-- remaining returns the lowest valid Remaining. low is a list of {response, remaining},
-- increasing in both.
local function remaining()
  return s.low[1] and s.low[1][2] or 0
end

-- losses returns the number of lost requests. lost is a list of {response, n, when given up}.
local function losses()
  local n = 0
  for _, loss in ipairs(s.lost) do
    n = n + loss[2]
  end
  return n
end

-- left returns how many requests the window has left by the responses, including those in flight.
local function left()
  return math.max(0, remaining() - losses())
end

-- may_stray reports whether a request sent at sent may have reached the service before a lost one.
local function may_stray(loss, sent)
  return sent - loss[3] < STRAY
end

-- rose reports whether Remaining is above the lowest, which was known when the request was sent.
local function rose(r)
  return s.low[1] ~= nil and r.known >= s.low[1][1] and r.remaining > s.low[1][2]
end

-- miss counts n lost requests: without a response, or without a limit in it. at is when they were
-- given up, 0 if there was a response.
local function miss(n, at)
  s.own = s.own + n
  n = math.min(n, s.limit - losses()) -- with limit lost requests, nothing is left
  if n <= 0 then
    return
  end
  local last = s.lost[#s.lost]
  if #s.lost >= MOST then
    s.lost[#s.lost] = {s.responses, last[2] + n, math.max(last[3], at)}
  else
    table.insert(s.lost, {s.responses, n, at})
  end
end

-- push adds the Remaining of a response, whose request was sent when known responses had come.
local function push(known, sent, value)
  s.low = keep(s.low, function(sample)
    return sample[1] > known and sample[2] < value
  end)
  s.lost = keep(s.lost, function(loss)
    return loss[1] > known or may_stray(loss, sent)
  end)
  if #s.low >= MOST then
    s.low[#s.low][1] = s.responses
  else
    table.insert(s.low, {s.responses, value})
  end
end
