-- The budget of one key, shared by the processes of a fleet. A process here is one Limiter.
--
-- The files of this folder are one script, put together by script.go. Each command of a process
-- reports the outcomes of its requests, and gets permits for more. Times are milliseconds by the
-- clock of Redis; processes send and get durations.
--
-- samples.lua, window.lua, others.lua, probe.lua and closure.lua have the rules of the Go package
-- internal/quota for all processes together, function by function under the same names; the reasons
-- are there. A change of one is a change of both: rules_test.go runs them on the same histories.

local STATE, LEASES, HELD, QUEUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local YEAR = 370 * 24 * 3600000
local MINUTE = 60000     -- the window of the plans (section 8.1)
local STRAY = 1000       -- how long a request may still be in flight after it was given up
local RETURN = 1000      -- within which all processes come back to a Redis that has lost its state
local UNUSED = 500       -- after which a process gives back unused permits
local KEPT = 600000      -- how long the state outlasts the window and the closure
local MOST = 32          -- entries of most lists, so that the state stays at about 2 kB
local TRUSTED, CROWDED = 8, -4 -- as in others.go; a fleet begins trusted
local STEPS, STEP = 8, 125 -- a request is late after a second, counted by eighths

local command = cjson.decode(ARGV[1])

-- fresh returns the state of a key of which nothing is known. A time is 0 for never.
local function fresh(time)
  return {
    instance = command.id .. ':' .. time .. ':' .. command.seq, -- another one after Redis has lost the state
    commands = 0, times = {}, -- number of commands; when the last were
    now = 0, skew = 0,        -- latest time; added to a clock that went back
    processes = 0,            -- in LEASES, which shows whether a key is gone
    outstanding = 0, summed = 0, admitted = 0, gave = 0, -- permits without an outcome; when added up; granted
    rtt = 50,                 -- time of a request
    responses = 0, low = {}, lost = {}, counted = {}, -- number of outcomes; the lists of samples.lua and window.lua
    epoch = 0, limit = 0, shown = 0, reset = 0, by = 0, -- windows so far; headers; usable Reset, its response
    start = 0, ends = 0, day = false, slides = false, minutes = false, -- times when it was open, and is over; its kind
    by_hand = false,          -- ends is not from Reset
    margin = 0, distrust = false, -- added to Reset; without a Date, Reset is not believed
    own = 0, heard = 0, blind = false, -- requests of the window; when its last response came; no response had a limit
    foreign = 0, alone = TRUSTED, took = 0, -- others.lua: foreign requests in flight; trust; time of the last request
    born = time, step = 0, recent = 0, counts = {0, 0, 0, 0, 0, 0, 0, 0}, -- requests not late, by step
    probes = {}, probe_at = 0, probe_from = 0, unsent = 0, silent = 0, -- last; next; in a row not sent, silent
    gate = 0, scope = '', closed = 0, -- nothing is sent before; the limit that closed it; when the last 429 came
    closures = 0, streak = 0, rejected = false, reopened = 0, -- all; in a row; no success since; Reopens in a row
    proved = 0,               -- when the last request that succeeded was sent
    look = 0, pause = 0,      -- one at a time until so many of own; nothing is granted before
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

-- sound reports whether this script may have written a state.
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
    and entries(state.counted, {'number', 'number', 'number'}) and entries(state.probes, {'string', 'number'})
    and numbers(state.times) and numbers(state.counts) and #state.counts == STEPS and state.gate - time < YEAR
end

-- read returns the state in Redis; nil if one of its keys is gone. It fails if the state is not
-- sound.
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

-- load returns the state in Redis, or a fresh one, and whether that replaces one that is not sound.
local function load(time)
  local ok, state = pcall(read, time)
  if ok and state then
    return state, false
  end
  redis.call('DEL', STATE, LEASES, HELD, QUEUE)
  return fresh(time), not ok
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local s, repaired = load(now)
s.skew = math.max(s.skew, s.now - now) -- the clock goes back when a replica takes over; the state's never does
now = now + s.skew
s.now = now

-- save writes the state, for as long as it is of use.
local function save()
  local ttl = math.floor(math.max(0, s.gate - now, s.ends - now) + KEPT)
  s.processes = redis.call('ZCARD', LEASES)
  redis.call('SET', STATE, cjson.encode(s), 'PX', ttl)
  for _, key in ipairs({LEASES, HELD, QUEUE}) do
    redis.call('PEXPIRE', key, ttl)
  end
end
