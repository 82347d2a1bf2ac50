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

local function list_card(card, at)
  redis.call('ZADD', K.cards, 'GT', at, card)
  redis.call('ZREMRANGEBYRANK', K.cards, 0, -(BOUND.cards + 1))
end

local function bound_attempts(key)
  redis.call('ZREMRANGEBYRANK', key, 0, -(BOUND.attempts + 1))
  redis.call('EXPIRE', key, BOUND.attempts_s)
end

-- A second UUID under one serial: a board with two GPUs, or a serial that is none. Each GPU gets its own rows again.
local function part_dies(serial)
  for _, uuid in ipairs(redis.call('SMEMBERS', K.dies .. serial)) do redis.call('DEL', K.alias .. uuid) end
  local together = K.history .. serial
  for _, document in ipairs(redis.call('ZRANGE', together, 0, -1)) do
    local uuid = cjson.decode(document).gpu.uuid
    if type(uuid) == 'string' and #uuid <= 128 and string.match(uuid, '^[%w._-]+$') then
      local at = redis.call('ZSCORE', together, document)
      redis.call('ZADD', K.history .. uuid, at, document)
      bound_history(K.history .. uuid)
      list_card(uuid, at)
      redis.call('ZREM', together, document)
    end
  end
end

-- From now on what is on record of this UUID stands under the serial, unless the serial has several.
local function join_card(uuid, serial)
  if uuid == serial then return end
  local dies = K.dies .. serial
  local known = redis.call('SCARD', dies)
  if redis.call('SISMEMBER', dies, uuid) == 0 then
    if known == 1 then part_dies(serial) end
    if known < BOUND.dies then redis.call('SADD', dies, uuid) end
    known = known + 1
  end
  redis.call('EXPIRE', dies, BOUND.history_s)
  if known > 1 then
    redis.call('DEL', K.alias .. uuid)
    return
  end
  redis.call('SET', K.alias .. uuid, serial, 'EX', BOUND.history_s)
  local function move(family, bound)
    local from, to = family .. uuid, family .. serial
    if redis.call('EXISTS', from) == 1 then
      redis.call('ZUNIONSTORE', to, 2, to, from, 'AGGREGATE', 'MAX')
      redis.call('DEL', from)
      bound(to)
    end
  end
  move(K.history, bound_history)
  move(K.card_attempts, bound_attempts)
  local at = redis.call('ZSCORE', K.cards, uuid)
  if at then
    redis.call('ZREM', K.cards, uuid)
    list_card(serial, at)
  end
end

-- The name under which a card's records stand.
local function card_name(serial, uuid)
  if not serial then return redis.call('GETEX', K.alias .. uuid, 'EX', BOUND.history_s) or uuid end
  if uuid then
    join_card(uuid, serial)
    if redis.call('SCARD', K.dies .. serial) > 1 then return uuid end
  end
  return serial
end

local function file_rows()
  for _, row in ipairs(request.history or {}) do
    local card = card_name(row.serial, row.uuid)
    redis.call('ZADD', K.history .. card, row.at, row.document)
    bound_history(K.history .. card)
    list_card(card, row.at)
  end
end

local function holds(node, budget) return redis.call('HEXISTS', K.places .. budget, node) == 1 end

-- How far a budget is used up, and since when that is known: the first `held` of its users hold places. Nodes that are
-- out by other hands use up those that ask for it, unless they are with a vendor; a budget with `since` counts cordons
-- that were begun from there on. Then whether the node of this request holds a place in it.
local function use_of(budget)
  local use = {users = {}, held = 0, made = 0}
  if budget.since then
    local since = '(' .. budget.since
    use.made = redis.call('ZCOUNT', K.cordons, since, '+inf')
    local mine = request.id and redis.call('ZSCORE', K.cordons, request.id)
    if mine and tonumber(mine) > tonumber(budget.since) then use.holder = request.node end
    if use.made >= budget.most and budget.most > 0 then
      local last = redis.call('ZRANGEBYSCORE', K.cordons, since, '+inf', 'WITHSCORES', 'LIMIT', use.made - budget.most, 1)
      use.from = last[2]
    end
    return use, use.holder ~= nil
  end
  use.users = redis.call('HKEYS', K.places .. budget.name)
  use.held = #use.users
  if budget.fresh_since then
    local out = redis.call('HGETALL', K.out)
    for i = 1, #out, 2 do
      local group = budget.group == '' or string.find('|' .. out[i + 1] .. '|', '|' .. budget.group .. '|', 1, true)
      if group and not holds(out[i], budget.name) and not holds(out[i], budget.vendor) then
        use.users[#use.users + 1] = out[i]
      end
    end
    use.inventory_at = redis.call('HGET', K.inventory, 'at') or nil
  end
  return use, request.node ~= nil and holds(request.node, budget.name)
end

-- Those that wait longest for a place in this budget are due now. Each that leaves the line wakes the next, so none of
-- several places that come free at once stays unseen.
local function wake(budget, count)
  for _, id in ipairs(redis.call('ZRANGE', K.waiting .. budget, 0, count - 1)) do
    redis.call('ZADD', K.due, 'XX', 'LT', request.now, id)
  end
end

-- What one node measured. Past a bound the longest unmeasured node or key goes.
local function keep_baseline(one)
  local key = K.baseline .. one.key
  redis.call('HSET', key, one.node, one.document)
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
  redis.call('ZADD', K.baselines, one.now, one.key)
  redis.call('ZREMRANGEBYSCORE', K.baselines, '-inf', '(' .. one.forget)
  local excess = redis.call('ZCARD', K.baselines) - BOUND.baselines
  if excess > 0 then
    for _, name in ipairs(redis.call('ZRANGE', K.baselines, 0, excess - 1)) do
      redis.call('DEL', K.baseline .. name)
      redis.call('ZREM', K.baselines, name)
    end
  end
end
