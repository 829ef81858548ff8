--[[
The time in microseconds: the server's own, so that all who share a counter go
by one clock, unless a text says another.
]]
local function server_clock(text)
  if redis.replicate_commands then
    -- Servers before version 5 repeat only what does not depend on a clock.
    redis.replicate_commands()
  end
  if text ~= "" then
    return tonumber(text)
  end
  local time = redis.call("TIME")
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
