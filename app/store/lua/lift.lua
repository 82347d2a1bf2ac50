-- Takes the pause and the trip of the breaker away, if just these stand. Answers {1}; {0} when others do, or none.
local function since(key)
  local document = redis.call('GET', key)
  return document and cjson.decode(document).at or nil
end

if since(K.pause) ~= request.pause or since(K.breaker) ~= request.trip then return {0} end
redis.call('DEL', K.pause, K.breaker, K.ill)
return {1}
