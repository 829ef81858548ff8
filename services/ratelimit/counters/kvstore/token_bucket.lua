--[[
A token bucket: at most burst + rate * t hits in any time t. Hits that don't all
fit are refused together and not charged.

key     the counter: a text of two whole numbers, the time of the last change
        and what had been spent then, in shares of a hit of which there are as
        many as the window has microseconds
hits    above 0 to take, 0 to read, below 0 to give back
limit   hits that come back in one window
window  its length in microseconds
burst   hits that the bucket holds
extra   milliseconds that the key lives on when the bucket is full
now     the time in microseconds

Returns four whole numbers: 1 when the hits were refused, or no hit would pass;
the hits that remain; microseconds until what was refused passes, else until one
hit does; and microseconds until the bucket is full. When the clock was set
back, nothing comes back for the time that it was.
]]
local function token_bucket(key, hits, limit, window, burst, extra, now)
  -- 2 ^ 52, about 142 years: clients may read greater replies inexactly.
  local MOST = 4503599627370496
  -- The longest life of a key, ten thousand years, in milliseconds.
  local LONGEST = 315576000000000
  local capacity = burst * window
  local at, spent = string.match(redis.call("GET", key) or "", "^(%d+) (%d+)$")
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
      redis.call("DEL", key)
    else
      local state = string.format("%.0f %.0f", now, spent)
      local life = math.min(LONGEST, math.ceil(whole / 1000) + 1 + extra)
      redis.call("SET", key, state, "PX", string.format("%.0f", life))
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
end
