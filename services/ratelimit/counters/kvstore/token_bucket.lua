--[[
Applies an operation to a token bucket: at most burst + rate * t hits in any
time t. Hits that don't all fit are refused together and not charged.

KEYS[1]  the counter: a text of two whole numbers, the time of the last change
         and what had been spent then, in shares of a hit of which there are as
         many as the window has microseconds
ARGV[1]  hits: above 0 to take, 0 to read, below 0 to give back
ARGV[2]  the limit: hits that come back in one window
ARGV[3]  the window in microseconds
ARGV[4]  the burst
ARGV[5]  the time in microseconds; empty for the server's own clock

Returns four whole numbers: 1 when the hits were refused, or no hit would pass;
the hits that remain; microseconds until what was refused passes, else until one
hit does; and microseconds until the bucket is full. When the clock was set
back, nothing comes back for the time that it was.
]]
if redis.replicate_commands then
  -- Servers before version 5 take no clock's word in what they repeat.
  redis.replicate_commands()
end

-- 2 ^ 52, about 142 years: clients may read greater replies inexactly.
local MOST = 4503599627370496
-- The longest life of a key, ten thousand years, in milliseconds.
local LONGEST = 315576000000000

local hits = tonumber(ARGV[1])
local limit = tonumber(ARGV[2])
local window = tonumber(ARGV[3])
local capacity = tonumber(ARGV[4]) * window
local now = tonumber(ARGV[5])
if not now then
  local time = redis.call("TIME")
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local at, spent = string.match(redis.call("GET", KEYS[1]) or "", "^(%d+) (%d+)$")
at = tonumber(at) or now
spent = tonumber(spent) or 0
spent = math.max(0, spent - math.max(0, now - at) * limit)

local refused = hits > 0 and spent + hits * window > capacity
local changed = at > now
if hits ~= 0 and not refused then
  spent = math.max(0, spent + hits * window)
  changed = true
end

local function until_back(shares)
  if shares <= 0 or limit == 0 then
    return 0
  end
  return math.min(MOST, math.ceil(shares / limit))
end

local whole = until_back(spent)
if changed then
  if spent == 0 then
    redis.call("DEL", KEYS[1])
  else
    local state = string.format("%.0f %.0f", now, spent)
    local life = math.min(LONGEST, math.ceil(whole / 1000) + 1)
    redis.call("SET", KEYS[1], state, "PX", string.format("%.0f", life))
  end
end

local remaining = math.max(0, math.floor((capacity - spent) / window))
local missing = window
if refused then
  missing = hits * window
end
local over = 0
if refused or (hits <= 0 and remaining == 0) then
  over = 1
end
return { over, remaining, until_back(spent + missing - capacity), whole }
