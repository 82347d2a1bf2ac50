-- What guards judge by, all at one moment: pause, trip, when another operation last disrupted the node, and each budget.
local newest, last = redis.call('ZREVRANGE', K.disruptions .. request.node, 0, 1, 'WITHSCORES'), false
for i = #newest - 1, 1, -2 do
  if newest[i] ~= request.id then last = newest[i + 1] end
end
local found = {redis.call('GET', K.pause), redis.call('GET', K.breaker), last}
for _, budget in ipairs(request.budgets) do found[#found + 1] = cjson.encode((use_of(budget))) end
return found
