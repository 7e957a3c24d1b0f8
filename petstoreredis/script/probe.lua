-- The probes, for whose responses all other requests wait (probe.go). probes lists those in flight:
-- {process, when granted}.

local PATIENCE, REJECTED_PATIENCE = 1000, 10000 -- how long a probe may be without a response before one more follows
local UNSENT_PROBES = 4

-- needs_probe reports whether too little is known to grant requests, so that one has to be a probe.
local function needs_probe(reserved)
  if s.rejected then
    return true
  elseif s.epoch == 0 then
    return not s.blind
  elseif now < s.ends then
    return false
  end
  return left() - s.outstanding <= reserved or (s.alone < 0 and left() < math.floor(s.limit / 4))
end

-- may_probe reports whether a probe may be sent now, and if not, when one may: nil if a response
-- decides.
local function may_probe()
  local roomy = not s.rejected and (s.epoch == 0 or (s.epoch > 1 and not s.slides))
  local n, most, again = #s.probes, 2, s.probe_at + REJECTED_PATIENCE
  if roomy then
    most, again = math.max(s.limit, 1 + UNSENT_PROBES), s.probe_at + PATIENCE
  end
  if s.epoch > 0 then
    most = math.min(most, s.limit)
  end
  if now < s.probe_from then
    return false, s.probe_from
  elseif n == 0 or (roomy and n < math.min(1 + s.unsent, UNSENT_PROBES, most)) then
    return true
  elseif s.epoch > 0 and n >= most then
    return false, nil
  end
  return now >= again, again
end

-- silence delays the next probe after one without a response: the service is in trouble.
local function silence()
  s.probe_from = now + math.min(100 * 2 ^ math.min(s.silent, 4), PATIENCE)
  s.silent = s.silent + 1
end

-- settle_probe records the outcome of a probe.
local function settle_probe(r)
  if r.unsent and r.abandoned then
    s.probe_at = math.min(s.probe_at, now - REJECTED_PATIENCE) -- not tried: the next one need not wait
  elseif r.unsent then
    s.unsent = s.unsent + 1
  elseif r.abandoned then
    return
  elseif r.lost then
    silence()
  else
    s.probe_from, s.unsent, s.silent = 0, 0, 0
  end
end

-- drop_probes removes all probes of a process but its first n, and returns how many it removes.
local function drop_probes(id, n)
  local before = #s.probes
  s.probes = keep(s.probes, function(entry)
    n = n - (entry[1] == id and 1 or 0)
    return entry[1] ~= id or n >= 0
  end)
  return before - #s.probes
end
