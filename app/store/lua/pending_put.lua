-- An alert that has to wait for a worker, with its occurrence claimed. Answers {'put'}, {'duplicate'} or {'full'}.
local known = dealt_with()
if known == 'again' then return {'put'} end
if known then
  push_duplicate()
  return {'duplicate'}
end
if redis.call('HLEN', K.pending) >= BOUND.pending then return {'full'} end
redis.call('HSET', K.pending, request.id, request.document)
redis.call('ZADD', K.pending_since, request.now, request.id)
remember_occurrence('')
push_alert(request.alert)
return {'put'}
