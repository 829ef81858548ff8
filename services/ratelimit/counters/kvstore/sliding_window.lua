--[[
A sliding window: at most the limit over the window's length behind each moment.
Hits are added up in slices of time; a slice counts until the window's length
after its own end. Hits that don't all fit are refused together and not charged.
Hits that are given back are those taken last.

key     the counter: a text of whole numbers, which are the time of the last
        change, then for each slice its end and its hits, the oldest first
hits    above 0 to take, 0 to read, below 0 to give back
limit   hits allowed
window  its length in microseconds
slice   the length of a slice in microseconds
now     the time in microseconds

Returns four whole numbers: 1 when the hits were refused, or no hit would pass;
the hits that remain; microseconds until what was refused passes, else until one
hit does; and microseconds until no hit counts. When the clock was set back,
what has been counted keeps the age it had.
]]
local function sliding_window(key, hits, limit, window, slice, now)
  local numbers = {}
  for digits in string.gmatch(redis.call("GET", key) or "", "%d+") do
    numbers[#numbers + 1] = tonumber(digits)
  end

  local back = math.max(0, (numbers[1] or now) - now)
  local ends = {}
  local taken = {}
  local used = 0
  for i = 2, #numbers - 1, 2 do
    local ending = numbers[i] - back
    if ending + window > now then
      ends[#ends + 1] = ending
      taken[#taken + 1] = numbers[i + 1]
      used = used + numbers[i + 1]
    end
  end

  local refused = hits > 0 and used + hits > limit
  local changed = back > 0
  if hits > 0 and not refused then
    local ending = (math.floor(now / slice) + 1) * slice
    if #ends > 0 and ends[#ends] >= ending then
      taken[#taken] = taken[#taken] + hits
    else
      ends[#ends + 1] = ending
      taken[#taken + 1] = hits
    end
    used = used + hits
    changed = true
  elseif hits < 0 and used > 0 then
    local left = math.min(-hits, used)
    used = used - left
    while left > 0 do
      local last = #taken
      if taken[last] > left then
        taken[last] = taken[last] - left
        left = 0
      else
        left = left - taken[last]
        taken[last] = nil
        ends[last] = nil
      end
    end
    changed = true
  end

  local whole = 0
  if #ends > 0 then
    whole = ends[#ends] + window - now
  end
  if changed then
    if #ends == 0 then
      redis.call("DEL", key)
    else
      local texts = { string.format("%.0f", now) }
      for i, ending in ipairs(ends) do
        texts[#texts + 1] = string.format("%.0f %.0f", ending, taken[i])
      end
      local life = string.format("%.0f", math.ceil(whole / 1000) + 1)
      redis.call("SET", key, table.concat(texts, " "), "PX", life)
    end
  end

  local remaining = math.max(0, limit - used)
  local missing = 1
  if refused then
    missing = hits
  end
  missing = missing - (limit - used)
  local wait = 0
  local freed = 0
  for i, ending in ipairs(ends) do
    if freed >= missing then
      break
    end
    freed = freed + taken[i]
    wait = ending + window - now
  end
  local over = 0
  if refused or (hits <= 0 and remaining == 0) then
    over = 1
  end
  return { over, remaining, wait, whole }
end
