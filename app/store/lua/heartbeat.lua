-- One sign of life; names that were silent for the bound are forgotten. Answers {1}.
local key = K.heartbeats .. request.component
redis.call('ZADD', key, 'GT', request.now, request.name)
redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. request.forget)
redis.call('EXPIRE', key, BOUND.heartbeats_s)
return {1}
