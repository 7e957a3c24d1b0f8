-- What the responses of this window said, as far as it counts (readings.go). The service's order is
-- not known: the lowest Remaining holds until a request that was sent after its response came has
-- been answered too. Lists that grow too long are shortened to the safe side.

-- keep returns the entries of a list that are wanted.
local function keep(list, wanted)
  local kept = {}
  for _, entry in ipairs(list) do
    if wanted(entry) then
      table.insert(kept, entry)
    end
  end
  return kept
end

-- remaining returns the lowest Remaining that holds. low is a list of {response, remaining},
-- increasing in both.
local function remaining()
  return s.low[1] and s.low[1][2] or 0
end

-- losses returns the number of requests whose response was lost. lost is a list of {response, n,
-- when given up}.
local function losses()
  local n = 0
  for _, loss in ipairs(s.lost) do
    n = n + loss[2]
  end
  return n
end

-- left returns what remains of the window by the responses, whatever is in flight.
local function left()
  return math.max(0, remaining() - losses())
end

-- may_stray reports whether a request sent at sent may have been overtaken by one that was lost.
local function may_stray(loss, sent)
  return sent - loss[3] < STRAY
end

-- rose reports whether a request that was sent when the lowest Remaining was known found more.
local function rose(r)
  return s.low[1] ~= nil and r.known >= s.low[1][1] and r.remaining > s.low[1][2]
end

-- miss counts n requests of which nobody knows what they left of the window. at is when they were
-- given up, 0 if a response shows that they have arrived.
local function miss(n, at)
  s.own = s.own + n
  n = math.min(n, s.limit - losses()) -- more would change nothing
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

-- push adds what a response says, whose request was sent when that many responses were known.
local function push(known, sent, value)
  s.low = keep(s.low, function(reading)
    return reading[1] > known and reading[2] < value
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
