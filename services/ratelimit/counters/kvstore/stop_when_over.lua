--[[
Applies operations in their order. When one that takes hits would go over its
limit, those that take hits on other counters are only read.

KEYS  the counter of each operation
ARGV  for each operation three whole numbers: hits (above 0 to take, 0 to read,
      below 0 to give back), the limit, and the counter's life in seconds

Returns the counts afterwards, or an error when a value is no number, in which
case nothing has been changed.
]]
local MOST = 9007199254740991

local function read(key)
  local value = redis.call("GET", key)
  if not value then
    return 0
  end
  return tonumber(value)
end

local function capped(count)
  if count > MOST then
    return MOST
  end
  return count
end

local totals = {}
local over = {}
local is_over = false
for i, key in ipairs(KEYS) do
  local hits = tonumber(ARGV[3 * i - 2])
  local before = totals[key] or read(key)
  if not before then
    return redis.error_reply("ERR the counter's value is not a number")
  end
  local after = math.max(0, before + hits)
  totals[key] = after
  if hits > 0 and after > tonumber(ARGV[3 * i - 1]) then
    over[key] = true
    is_over = true
  end
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

local counts = {}
for i, key in ipairs(KEYS) do
  local hits = tonumber(ARGV[3 * i - 2])
  local count
  if hits < 0 then
    count = give_back(key, -hits)
  elseif hits == 0 or (is_over and not over[key]) then
    count = read(key)
  else
    count = take(key, ARGV[3 * i - 2], ARGV[3 * i])
  end
  if type(count) == "table" then
    return count
  end
  counts[i] = capped(count)
end
return counts
