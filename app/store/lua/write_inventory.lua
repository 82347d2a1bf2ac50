-- The nodes as the watch sees them now. Whoever waited for a node that is no longer out, or for any inventory, is due.
local function set(key, fields)
  redis.call('DEL', key)
  for name, value in pairs(fields) do redis.call('HSET', key, name, value) end
end

local before = redis.call('HGETALL', K.out)
redis.call('HSET', K.inventory, 'at', request.now, 'digest', request.digest, 'document', request.document)
set(K.out, request.out)
set(K.fleet, request.fleet)

local back = {}
local function count(budget) back[budget] = (back[budget] or 0) + 1 end
for i = 1, #before, 2 do
  if not request.out[before[i]] then
    count(request.budget)
    for group in string.gmatch(before[i + 1], '[^|]+') do count(request.budget .. ' of ' .. group) end
  end
end
for budget, nodes in pairs(back) do wake(budget, nodes) end
wake(request.waits_for, redis.call('ZCARD', K.waiting .. request.waits_for))
return {}
