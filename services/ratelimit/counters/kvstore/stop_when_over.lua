--[[
Applies operations in their order. When one that takes hits would go over its
limit, those that take hits on other counters are only read.

KEYS     the counter of each operation
ARGV[1]  the time in microseconds; empty for the server's own clock
then     for each operation six: the kind of its counter (fixed, sliding or
         tokens), with ":shadow" when it holds no other one back; hits (above 0 to take, 0 to read, below 0 to give back); the
         limit; and for a fixed window the counter's life in seconds and twice
         nothing, for the others the window, the slice or burst, and the extra
         life

Returns the counts afterwards, of the other kinds what their functions return;
or an error when a value is no number, in which case nothing has been changed.
]]
local MOST = 9007199254740991

local function read(key)
  local value = redis.call("GET", key)
  if not value then
    return 0
  end
  return tonumber(value)
end

local function give_back(key, hits)
  local count = read(key)
  if count == 0 then
    return 0
  end
  if count <= hits then
    redis.call("DEL", key)
    return 0
  end
  return redis.call("DECRBY", key, string.format("%.0f", hits))
end

local function take(key, hits, life)
  local count = redis.pcall("INCRBY", key, hits)
  if type(count) == "table" then
    if string.find(count.err, "would overflow", 1, true) then
      return MOST
    end
    return count
  end
  redis.call("EXPIRE", key, life)
  return count
end

local now

-- The kind, and how a counter is applied so many hits to.
local function operation(i)
  local at = 6 * i - 4
  local kind = string.gsub(ARGV[at], ":shadow$", "")
  local limit, third, fourth = ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  if kind == "fixed" then
    return kind, tonumber(limit), function(hits)
      local count
      if tonumber(hits) < 0 then
        count = give_back(KEYS[i], -tonumber(hits))
      elseif tonumber(hits) == 0 then
        count = read(KEYS[i])
      else
        count = take(KEYS[i], hits, third)
      end
      if type(count) == "number" and count > MOST then
        return MOST
      end
      return count
    end
  end
  now = now or server_clock(ARGV[1])
  local count = sliding_window
  local capacity = tonumber(limit)
  if kind == "tokens" then
    count = token_bucket
    capacity = tonumber(fourth)
  end
  return kind, capacity, function(hits)
    return count(
      KEYS[i],
      tonumber(hits),
      tonumber(limit),
      tonumber(third),
      tonumber(fourth),
      tonumber(ARGV[at + 5]),
      now
    )
  end
end

local totals = {}
local over = {}
local is_over = false
local applies = {}
for i, key in ipairs(KEYS) do
  local hits = tonumber(ARGV[6 * i - 3])
  local kind, capacity, apply = operation(i)
  applies[i] = apply
  local before = totals[key] or apply("0")
  if not before then
    return redis.error_reply("ERR the counter's value is not a number")
  end
  if type(before) == "table" then
    before = capacity - before[2]
  end
  local after = math.max(0, before + hits)
  totals[key] = after
  local refuses = not string.find(ARGV[6 * i - 4], ":shadow$")
  if hits > 0 and after > capacity and refuses then
    over[key] = true
    is_over = true
    if kind ~= "fixed" then
      totals[key] = before
    end
  end
end

local results = {}
for i, key in ipairs(KEYS) do
  local hits = ARGV[6 * i - 3]
  if tonumber(hits) > 0 and is_over and not over[key] then
    hits = "0"
  end
  local result = applies[i](hits)
  if type(result) == "table" and result.err then
    return result
  end
  results[i] = result
end
return results
