-- The probes, which go ahead of the other requests (ahead.go). ahead is a list of {process, when
-- granted}.

local PATIENCE, REJECTED_PATIENCE = 1000, 10000 -- the silence after which one more goes
local UNSENT_AHEAD = 4

-- needs_first reports whether nothing known covers a request, so that one has to be a probe.
local function needs_first(reserved)
  if s.rejected then
    return true
  elseif s.epoch == 0 then
    return not s.blind
  elseif now < s.ends then
    return false
  end
  return left() - s.outstanding <= reserved or (s.alone < 0 and left() < math.floor(s.limit / 4))
end

-- may_go_ahead reports whether a probe may be sent now, and if not, when one may:
-- nil if a response decides.
local function may_go_ahead()
  local roomy = not s.rejected and (s.epoch == 0 or (s.epoch > 1 and not s.slides))
  local n, most, again = #s.ahead, 2, s.ahead_at + REJECTED_PATIENCE
  if roomy then
    most, again = math.max(s.limit, 1 + UNSENT_AHEAD), s.ahead_at + PATIENCE
  end
  if s.epoch > 0 then
    most = math.min(most, s.limit)
  end
  if now < s.ahead_from then
    return false, s.ahead_from
  elseif n == 0 or (roomy and n < math.min(1 + s.unsent, UNSENT_AHEAD, most)) then
    return true
  elseif s.epoch > 0 and n >= most then
    return false, nil
  end
  return now >= again, again
end

-- silence delays the next probe after one that got no response: the service is
-- in trouble.
local function silence()
  s.ahead_from = now + math.min(100 * 2 ^ math.min(s.silent, 4), PATIENCE)
  s.silent = s.silent + 1
end

-- settle_ahead takes in the outcome of a request that went ahead.
local function settle_ahead(r)
  if r.unsent and r.abandoned then
    s.ahead_at = math.min(s.ahead_at, now - REJECTED_PATIENCE) -- not tried: the next need not wait for it
  elseif r.unsent then
    s.unsent = s.unsent + 1
  elseif r.abandoned then
    return
  elseif r.lost then
    silence()
  else
    s.ahead_from, s.unsent, s.silent = 0, 0, 0
  end
end

-- drop_ahead leaves a process its first n requests that went ahead and returns how many that takes
-- away.
local function drop_ahead(id, n)
  local before = #s.ahead
  s.ahead = keep(s.ahead, function(entry)
    n = n - (entry[1] == id and 1 or 0)
    return entry[1] ~= id or n >= 0
  end)
  return before - #s.ahead
end
