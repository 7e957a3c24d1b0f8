-- What the answers of this window said, as far as it counts. The service's order is not known: the lowest
-- Remaining holds until a request that was sent after its answer was here has been answered too. Lists that
-- grow too long are shortened to the safe side.

-- low is a list of {answer, remaining}, increasing in both.
local function remaining()
  return s.low[1] and s.low[1][2] or 0
end

-- left is what remains by the answers, whatever is outstanding.
local function left()
  local n = remaining()
  for _, loss in ipairs(s.lost) do
    n = n - loss[2]
  end
  return math.max(0, n)
end

-- lose notes n requests of which nobody knows what they left of the window. at is when they were given up,
-- 0 if an answer shows that they have arrived. lost is a list of {answer, n, at}.
local function lose(n, at)
  s.answers = s.answers + 1
  s.own = s.own + n
  local last = s.lost[#s.lost]
  if last and (#s.lost >= MOST or last[3] == at) then
    s.lost[#s.lost] = {s.answers, last[2] + n, math.max(last[3], at)}
  else
    table.insert(s.lost, {s.answers, n, at})
  end
end

-- keep filters a list.
local function keep(list, wanted)
  local kept = {}
  for _, entry in ipairs(list) do
    if wanted(entry) then
      table.insert(kept, entry)
    end
  end
  return kept
end

-- push adds what answers say whose requests were sent, at sent or later, when that many answers were known.
local function push(known, sent, value)
  s.low = keep(s.low, function(reading)
    return reading[1] > known and reading[2] < value
  end)
  s.lost = keep(s.lost, function(loss)
    return loss[1] > known or sent - loss[3] < STRAY
  end)
  if #s.low >= MOST then
    s.low[#s.low][1] = s.answers
  else
    table.insert(s.low, {s.answers, value})
  end
end
