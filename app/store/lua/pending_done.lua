-- Takes a pending alert away. Answers {1} if it was there.
local there = redis.call('HEXISTS', K.pending, request.id)
drop_pending(request.id)
return {there}
