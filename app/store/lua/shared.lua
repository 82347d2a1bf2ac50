-- What several scripts do. K holds the keys and BOUND the bounds of app/store/keys.py; the request is one JSON object.
-- Times come in as texts of microseconds since 1970: Lua would print large numbers in short.
local request = ARGV[1] and cjson.decode(ARGV[1]) or {}

-- Whether this occurrence was dealt with before: 'again' when by this very call, whose answer was lost on its way;
-- 'known' when by another one; false when it is new, or waits as pending and is the caller's. Then what it led to.
local function dealt_with()
  if request.occurrence then
    local found = redis.call('GET', K.seen .. request.occurrence)
    if found then
      local nonce, led_to = string.match(found, '^(%S+) (.*)$')
      if nonce == request.nonce then return 'again', led_to end
      if not request.pending_id then return 'known', led_to end
      if redis.call('HEXISTS', K.pending, request.pending_id) == 0 then return 'known', led_to end
      return false, ''
    end
  end
  if request.pending_id and redis.call('HEXISTS', K.pending, request.pending_id) == 0 then return 'known', '' end
  return false, ''
end

local function remember_occurrence(led_to)
  if request.occurrence then
    redis.call('SET', K.seen .. request.occurrence, request.nonce .. ' ' .. led_to, 'EX', BOUND.seen_s)
  end
end

local function push_alert(document)
  if document then
    redis.call('LPUSH', K.alerts, document)
    redis.call('LTRIM', K.alerts, 0, BOUND.alerts - 1)
  end
end

-- A repeated delivery prolongs the memory of its occurrence and is listed; nothing else comes of it.
local function push_duplicate()
  if request.pending_id then return end
  redis.call('EXPIRE', K.seen .. request.occurrence, BOUND.seen_s)
  push_alert(request.alert_again)
end

local function drop_pending(id)
  redis.call('HDEL', K.pending, id)
  redis.call('ZREM', K.pending_since, id)
end

local function bound_history(key)
  redis.call('ZREMRANGEBYRANK', key, 0, -(BOUND.history + 1))
  redis.call('EXPIRE', key, BOUND.history_s)
end

-- From now on the rows of this UUID stand under the serial, also those that are there already.
local function join_card(uuid, serial)
  if uuid == serial then return end
  local from, to = K.history .. uuid, K.history .. serial
  redis.call('SET', K.alias .. uuid, serial, 'EX', BOUND.history_s)
  if redis.call('EXISTS', from) == 1 then
    redis.call('ZUNIONSTORE', to, 2, to, from, 'AGGREGATE', 'MAX')
    redis.call('DEL', from)
    bound_history(to)
  end
end

local function file_rows()
  for _, row in ipairs(request.history or {}) do
    local card = row.serial or redis.call('GETEX', K.alias .. row.uuid, 'EX', BOUND.history_s) or row.uuid
    if row.serial and row.uuid then join_card(row.uuid, row.serial) end
    redis.call('ZADD', K.history .. card, row.at, row.document)
    bound_history(K.history .. card)
  end
end
