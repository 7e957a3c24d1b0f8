-- The budget of one key, shared by a fleet: the rules of package petstore's limiter, over all processes at once.
--
-- The files of this folder are one script, put together by script.go in the order of its list. One call takes in what
-- became of a party's requests, and reserves some more for it. A party is a process's limiter. Times are
-- milliseconds by the clock of Redis; parties send and get durations.

local STATE, LEASES, HELD, QUEUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local YEAR = 370 * 24 * 3600000
local MINUTE = 60000     -- the window of the plans
local SAME = 30000       -- how far the Resets of one window may lie apart
local GRAIN = 1000       -- by which Reset may have been rounded down
local MARGIN = 1000      -- added to Reset once one proved early
local STRAY = 1000       -- how long a request may be on its way that nobody waits for any more
local QUIET = 5000       -- after which what was known of the window is looked at again
local PATIENCE = 1000    -- for the answer to the only request on its way
local ROOMLESS = 10000   -- the same when a second one may be rejected
local BLIND = 2          -- requests on their way as long as no answer told of a limit
local UNUSED = 500       -- after which a party gives back what it does not use
local MARKS = 32         -- commands whose time is remembered
local KEPT = 600000      -- how long the state outlasts what it is about
local MOST = 32          -- entries of the lists below

local party = cjson.decode(ARGV[1])

local function fresh(time)
  return {
    life = party.id .. ':' .. time .. ':' .. party.seq,
    turn = 0, marks = {}, summed = 0, -- commands so far, when the last were, and when outstanding was added up
    skew = 0, now = 0,               -- the clock of Redis must not go back
    outstanding = 0,                 -- permits that the parties hold or have on their way
    answers = 0, low = {}, lost = {}, -- readings.lua
    epoch = 0, limit = 0, shown = 0, by = 0, ends = 0, margin = 0, -- window.lua
    own = 0, opening = 0, look = 0, pause = 0, heard = 0, gave = 0,
    gate = 0, closure = '', closed = 0, proved = 0, closures = 0, streak = 0, reopened = false, -- closure.lua
    probes = {}, unsent = 0, silent = 0, probe_from = 0,
    rtt = 50,
  }
end

local repaired = false

-- numbers reports whether a list holds what it should: lists whose first element is of a type, and then numbers.
local function numbers(list, first)
  for _, entry in pairs(list) do
    if type(entry) ~= 'table' or type(entry[1]) ~= first or type(entry[2]) ~= 'number' then
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
  for _, name in ipairs({'reset', 'start', 'parties'}) do
    if state[name] and type(state[name]) ~= 'number' then
      return false
    end
  end
  for _, loss in pairs(state.lost) do
    if type(loss) ~= 'table' or type(loss[3]) ~= 'number' then
      return false
    end
  end
  for _, mark in pairs(state.marks) do
    if type(mark) ~= 'number' then
      return false
    end
  end
  return numbers(state.low, 'number') and numbers(state.lost, 'number') and numbers(state.probes, 'string')
    and state.gate - time < YEAR
end

-- load returns the state, or a fresh one if any of its keys is gone, or is nothing that this script has written.
local function load(time)
  local read, state = pcall(function()
    local text = redis.call('GET', STATE)
    local found = text and cjson.decode(text)
    if not found then
      return nil
    elseif not sound(found, time) then
      error('junk')
    end
    redis.call('ZCARD', QUEUE)
    local parties = redis.call('ZCARD', LEASES)
    return parties == found.parties and parties == redis.call('HLEN', HELD) and found or nil
  end)
  if read and state then
    return state
  end
  repaired = not read
  redis.call('DEL', STATE, LEASES, HELD, QUEUE)
  return fresh(time)
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local s = load(now)
s.skew = math.max(s.skew, s.now - now)
now = now + s.skew
s.now = now

-- save keeps the state for as long as it is of use.
local function save()
  local ttl = math.floor(math.max(0, s.gate - now, s.ends - now) + KEPT)
  s.parties = redis.call('ZCARD', LEASES)
  redis.call('SET', STATE, cjson.encode(s), 'PX', ttl)
  for _, key in ipairs({LEASES, HELD, QUEUE}) do
    redis.call('PEXPIRE', key, ttl)
  end
end
