--[[
Gives hits back to a counter without letting it fall below zero.

KEYS[1]  the counter
ARGV[1]  hits to give back, a whole number above 0

Returns the count afterwards; 0 when there is no such counter, which is then
not made either. A counter that comes to 0 is removed: none is the same as 0.
]]
local count = redis.call("GET", KEYS[1])
if not count then
  return 0
end
if tonumber(count) <= tonumber(ARGV[1]) then
  redis.call("DEL", KEYS[1])
  return 0
end
return redis.call("DECRBY", KEYS[1], ARGV[1])
