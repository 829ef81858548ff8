--[[
A sliding window: at most the limit over the window's length behind each moment.
Hits are added up in slices of time; a slice counts until the window's length
after its own end. Hits that don't all fit are refused together and not charged.
Hits that are given back are those taken last.

key     the counter: a text of whole numbers, which are the time of the last
        change, all hits that count, end and hits of the newest slice, then end
        and hits of each other slice, the oldest first; so that most calls read
        the first six and copy the rest
hits    above 0 to take, 0 to read, below 0 to give back
limit   hits allowed
window  its length in microseconds
slice   the length of a slice in microseconds
extra   milliseconds that the key lives on when no hit counts
now     the time in microseconds

Returns four whole numbers: 1 when the hits were refused, or no hit would pass;
the hits that remain; microseconds until what was refused passes, else until one
hit does; and microseconds until no hit counts. When the clock was set back,
what has been counted keeps the age it had.
]]
local function sliding_window(key, hits, limit, window, slice, extra, now)
  local at, used, newest_end, newest, older = string.match(
    redis.call("GET", key) or "",
    "^(%d+) (%d+) (%d+) (%d+)(.*)$"
  )
  at, used = tonumber(at) or now, tonumber(used) or 0
  newest_end, newest = tonumber(newest_end), tonumber(newest)
  older = older or ""

  local changed = at > now
  if changed and newest then
    local back = at - now
    newest_end = newest_end - back
    older = string.gsub(older, " (%d+) (%d+)", function(ending, taken)
      return string.format(" %.0f %s", tonumber(ending) - back, taken)
    end)
  end

  -- Slices that no longer count.
  local from = 1
  for ending, taken, after in string.gmatch(older, " (%d+) (%d+)()") do
    if tonumber(ending) + window > now then
      break
    end
    used = used - tonumber(taken)
    from = after
  end
  if from > 1 then
    older = string.sub(older, from)
  end
  if newest and newest_end + window <= now then
    used, newest = 0, nil
  end

  local refused = hits > 0 and used + hits > limit
  if hits > 0 and not refused then
    changed = true
    used = used + hits
    local ending = (math.floor(now / slice) + 1) * slice
    if newest and newest_end >= ending then
      newest = newest + hits
    else
      if newest then
        older = older .. string.format(" %.0f %.0f", newest_end, newest)
      end
      newest_end, newest = ending, hits
    end
  elseif hits < 0 and newest then
    changed = true
    local left = math.min(-hits, used)
    used = used - left
    while left >= newest and used > 0 do
      left = left - newest
      local rest, ending, taken = string.match(older, "^(.*) (%d+) (%d+)$")
      older, newest_end, newest = rest, tonumber(ending), tonumber(taken)
    end
    newest = newest - left
    if used == 0 then
      newest = nil
    end
  end

  local whole = 0
  if newest then
    whole = newest_end + window - now
  end
  if changed then
    if newest then
      local state = string.format(
        "%.0f %.0f %.0f %.0f%s",
        now,
        used,
        newest_end,
        newest,
        older
      )
      local life = string.format("%.0f", math.ceil(whole / 1000) + 1 + extra)
      redis.call("SET", key, state, "PX", life)
    else
      redis.call("DEL", key)
    end
  end

  local remaining = math.max(0, limit - used)
  local missing = 1
  if refused then
    missing = hits
  end
  missing = missing - (limit - used)
  local wait = 0
  if missing > 0 then
    local freed = 0
    wait = whole
    for ending, taken in string.gmatch(older, " (%d+) (%d+)") do
      freed = freed + tonumber(taken)
      if freed >= missing then
        wait = tonumber(ending) + window - now
        break
      end
    end
  end
  local over = 0
  if refused or (hits <= 0 and remaining == 0) then
    over = 1
  end
  return { over, remaining, wait, whole }
end
