-- The budget of one key, shared by the processes of a fleet.
--
-- The files of this folder are one script, put together by script.go in the order of its list. One
-- command of a process reports the outcomes of its requests, and reserves some more for it. A
-- process here is one Limiter. Times are milliseconds by the clock of Redis; processes send and get
-- durations.
--
-- readings.lua, window.lua, others.lua, ahead.lua and closure.lua are the rules of the Go package
-- internal/quota over all processes at once, function by function under the same names, and say why
-- there. A change of one side is a change of both: rules_test.go runs them on the same histories.

local STATE, LEASES, HELD, QUEUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local YEAR = 370 * 24 * 3600000
local MINUTE = 60000     -- the window of the plans (section 8.1)
local STRAY = 1000       -- how long a request may still be in flight when nobody waits for it any more
local RETURN = 1000      -- until when all processes have come back to a Redis that has lost its state
local UNUSED = 500       -- after which a process gives back what it does not use, holdFor in traffic.go
local KEPT = 600000      -- how long the state outlasts the window and the closure
local MOST = 32          -- entries of a list, so that the state stays at about 2 kB
local TRUSTED, CROWDED = 8, -4 -- as in others.go; a fleet begins trusted, and looks at the first two responses
local STEPS, STEP = 8, 125 -- a request is late after a second, counted by eighths

local command = cjson.decode(ARGV[1])
local repaired = false

-- fresh returns the state of a key of which nothing is known. docs/scaling.md describes its fields.
local function fresh(time)
  return {
    instance = command.id .. ':' .. time .. ':' .. command.seq,
    commands = 0, times = {}, now = 0, skew = 0, processes = 0,
    outstanding = 0, summed = 0, admitted = 0, gave = 0, rtt = 50,
    responses = 0, low = {}, lost = {}, counted = {}, -- readings.lua
    epoch = 0, limit = 0, shown = 0, reset = 0, by = 0, start = 0, ends = 0, day = false, -- window.lua
    own = 0, slides = false, minutes = false, margin = 0, distrust = false, blind = false, heard = 0,
    theirs = 0, alone = TRUSTED, took = 0, -- others.lua
    born = time, step = 0, young = 0, counts = {0, 0, 0, 0, 0, 0, 0, 0},
    ahead = {}, ahead_at = 0, ahead_from = 0, unsent = 0, silent = 0, -- ahead.lua
    gate = 0, scope = '', closed = 0, closures = 0, streak = 0, rejected = false,
    reopened = 0, -- closure.lua
    proved = 0, look = 0, pause = 0, -- exchange.lua
  }
end

-- entries reports whether a list holds entries of the given types.
local function entries(list, types)
  for _, entry in pairs(list) do
    if type(entry) ~= 'table' or #entry ~= #types then
      return false
    end
    for i, wanted in ipairs(types) do
      if type(entry[i]) ~= wanted then
        return false
      end
    end
  end
  return true
end

-- numbers reports whether a list holds numbers.
local function numbers(list)
  for _, n in pairs(list) do
    if type(n) ~= 'number' then
      return false
    end
  end
  return true
end

-- sound reports whether a state is one that this script has written.
local function sound(state, time)
  if type(state) ~= 'table' then
    return false
  end
  for name, value in pairs(fresh(time)) do
    local found = state[name]
    if type(found) ~= type(value) or (type(found) == 'number' and (found ~= found or math.abs(found) > 1e15)) then
      return false
    end
  end
  return entries(state.low, {'number', 'number'}) and entries(state.lost, {'number', 'number', 'number'})
    and entries(state.counted, {'number', 'number', 'number'}) and entries(state.ahead, {'string', 'number'})
    and numbers(state.times) and numbers(state.counts) and #state.counts == STEPS and state.gate - time < YEAR
end

-- read returns the state that Redis has, nil if any of its keys is gone. It fails if the state is
-- not sound.
local function read(time)
  local text = redis.call('GET', STATE)
  local state = text and cjson.decode(text)
  if not state then
    return nil
  elseif not sound(state, time) then
    error('not sound')
  end
  redis.call('ZCARD', QUEUE)
  local processes = redis.call('ZCARD', LEASES)
  return processes == state.processes and processes == redis.call('HLEN', HELD) and state or nil
end

-- load returns the state, or begins a fresh one.
local function load(time)
  local ok, state = pcall(read, time)
  if ok and state then
    return state
  end
  repaired = not ok
  redis.call('DEL', STATE, LEASES, HELD, QUEUE)
  return fresh(time)
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local s = load(now)
s.skew = math.max(s.skew, s.now - now) -- the clock goes back when a replica takes over; the state's never does
now = now + s.skew
s.now = now

-- save keeps the state for as long as it is of use.
local function save()
  local ttl = math.floor(math.max(0, s.gate - now, s.ends - now) + KEPT)
  s.processes = redis.call('ZCARD', LEASES)
  redis.call('SET', STATE, cjson.encode(s), 'PX', ttl)
  for _, key in ipairs({LEASES, HELD, QUEUE}) do
    redis.call('PEXPIRE', key, ttl)
  end
end
