-- What one node measured. Past a bound the longest unmeasured node or key goes. Answers {1}.
local key = K.baseline .. request.key
redis.call('HSET', key, request.node, request.document)
redis.call('EXPIRE', key, BOUND.baseline_s)
if redis.call('HLEN', key) > BOUND.baseline_nodes then
  local oldest, since
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local at = cjson.decode(all[i + 1]).at
    if not since or at < since then oldest, since = all[i], at end
  end
  redis.call('HDEL', key, oldest)
end
redis.call('ZADD', K.baselines, request.now, request.key)
redis.call('ZREMRANGEBYSCORE', K.baselines, '-inf', '(' .. request.forget)
local excess = redis.call('ZCARD', K.baselines) - BOUND.baselines
if excess > 0 then
  for _, name in ipairs(redis.call('ZRANGE', K.baselines, 0, excess - 1)) do
    redis.call('DEL', K.baseline .. name)
    redis.call('ZREM', K.baselines, name)
  end
end
return {1}
