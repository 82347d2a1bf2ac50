-- The operations that are due, each put off by the lease so that the next asker does not get it too.
local due = redis.call('ZRANGEBYSCORE', K.due, '-inf', request.now, 'LIMIT', 0, request.limit)
for _, id in ipairs(due) do
  redis.call('ZADD', K.due, 'XX', request.again_at, id)
end
return due
