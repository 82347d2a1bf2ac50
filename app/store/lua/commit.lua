-- One change of one operation with all that belongs to it, or nothing. The first rule that speaks decides:
-- repeated call, occurrence, version and node, claim, ticket, breaker, places. Only below the last is anything written.
local id, node = request.id, request.node
local now = tonumber(request.now)
local key = K.operation .. id
local stored = redis.call('HMGET', key, 'version', 'schema', 'nonce', 'owner', 'until', 'fence', 'waits')
local version, schema = tonumber(stored[1] or 0), tonumber(stored[2] or 0)
local owner, claimed_until, fence = stored[4] or '', stored[5] or '0', tonumber(stored[6] or 0)
local waited, waits = stored[7] or '', request.waits_for

-- The very same call again, because its answer was lost.
if stored[3] == request.nonce then return {'committed', version, fence} end

local known, led_to = dealt_with()
if known then
  push_duplicate()
  return {'duplicate', led_to}
end

if schema > request.schema then return {'newer', schema} end
if version ~= request.expected then return {'conflict', version, ''} end
local open_here = redis.call('HGET', K.on_node, node)
if not request.finished and open_here and open_here ~= id then return {'conflict', version, open_here} end

local function claim_is_valid() return owner ~= '' and tonumber(claimed_until) > now end

-- What one worker makes of a look may not overtake what another one is doing at this moment.
if request.worker and claim_is_valid() and owner ~= request.worker then return {'claimed', owner, claimed_until} end

local held = request.held_claim
if held and (held.owner ~= owner or held.fence ~= fence) then
  if owner ~= '' then return {'claimed', owner, claimed_until} end
  return {'conflict', version, ''}
end
local claim = request.claim
if claim then
  if claim_is_valid() and claim.owner ~= owner then return {'claimed', owner, claimed_until} end
  if claim.owner ~= owner or not claim_is_valid() then fence = fence + 1 end
  owner, claimed_until = claim.owner, claim['until']
end
if request.finished or (request.drop_claim_of and request.drop_claim_of == owner) then owner, claimed_until = '', '0' end

-- The right to open a cause's ticket is another's while that operation is open, and gone once a later ticket is written.
local ticket = request.ticket
local intended = ticket and redis.call('GET', K.ticket .. ticket.name)
if intended then
  local theirs = cjson.decode(intended)
  if theirs.v > ticket.schema then return {'newer', theirs.v, "'s ticket"} end
  local same = theirs.number == ticket.number and theirs.operation ~= id
  if ticket.number < theirs.number or (same and redis.call('ZSCORE', K.open, theirs.operation)) then
    return {'conflict', version, ''}
  end
end

-- A breaker that has tripped lets no act pass that hurts; proofs go on, and nodes are given back.
if request.hurts and redis.call('EXISTS', K.breaker) == 1 then return {'tripped'} end

-- Whoever holds a place keeps it when others fill the budget, or while nobody knows how many are out: else full houses
-- would hold each other, and what was begun would stay half done.
for number, budget in ipairs(request.places) do
  local use, held = use_of(budget)
  local others = 0
  for _, user in ipairs(use.users) do
    if user ~= node then others = others + 1 end
  end
  local known = not budget.fresh_since or (use.inventory_at and tonumber(use.inventory_at) >= tonumber(budget.fresh_since))
  local full = others + use.made >= budget.most
  if not held and (full or not known) then return {'no place', number, cjson.encode(use)} end
end

-- Nothing below can refuse.
version = request.expected + 1
redis.call('HSET', key, 'document', request.document, 'version', version, 'schema', request.schema,
  'nonce', request.nonce, 'owner', owner, 'until', claimed_until, 'fence', fence, 'waits', waits)

local timeline = K.timeline .. id
for _, entry in ipairs(request.entries or {}) do redis.call('RPUSH', timeline, entry) end
redis.call('LTRIM', timeline, -BOUND.timeline, -1)

local disruptions = K.disruptions .. node
local disrupted_before = redis.call('ZSCORE', disruptions, id)
-- At the end of an operation its disruption ends too: the node cools down from here.
if request.disrupted or (request.finished and disrupted_before) then
  redis.call('ZADD', disruptions, 'GT', request.now, id)
  redis.call('ZREMRANGEBYRANK', disruptions, 0, -(BOUND.disruptions + 1))
  redis.call('EXPIRE', disruptions, BOUND.disruptions_s)
end

local reserved = (request.finished or #request.gives_back > 0) and redis.call('SMEMBERS', K.budgets) or {}
local freed = {}
local function free(budget)
  if redis.call('HDEL', K.places .. budget, node) == 0 then return end
  if redis.call('EXISTS', K.places .. budget) == 0 then redis.call('SREM', K.budgets, budget) end
  freed[budget] = 1
end

redis.call('ZADD', K.all, request.opened_at, id)
if request.finished then
  redis.call('ZREM', K.due, id)
  redis.call('ZREM', K.open, id)
  if open_here == id then redis.call('HDEL', K.on_node, node) end
  for _, budget in ipairs(reserved) do
    if redis.call('HGET', K.places .. budget, node) == id then free(budget) end
  end
  redis.call('ZADD', K.finished, request.finished_at, id)
  redis.call('EXPIRE', key, BOUND.finished_s)
  redis.call('EXPIRE', timeline, BOUND.finished_s)
  local function forget(old)
    redis.call('DEL', K.operation .. old, K.timeline .. old)
    redis.call('ZREM', K.finished, old)
    redis.call('ZREM', K.all, old)
  end
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', K.finished, '-inf', request.forget, 'LIMIT', 0, 100)) do
    forget(old)
  end
  local excess = redis.call('ZCARD', K.finished) - BOUND.finished
  if excess > 0 then
    for _, old in ipairs(redis.call('ZRANGE', K.finished, 0, math.min(excess, 100) - 1)) do forget(old) end
  end
else
  -- While somebody holds the claim, the next look is due when it runs out: that finds a holder that died.
  redis.call('ZADD', K.due, claim_is_valid() and claimed_until or request.next_check_at, id)
  redis.call('ZADD', K.open, request.opened_at, id)
  if redis.call('ZREM', K.finished, id) == 1 then
    redis.call('PERSIST', key)
    redis.call('PERSIST', timeline)
  end
  redis.call('HSET', K.on_node, node, id)
  for _, budget in ipairs(reserved) do
    for _, whole in ipairs(request.gives_back) do
      local of = whole .. ' of '
      if budget == whole or string.sub(budget, 1, #of) == of then free(budget) end
    end
  end
  for _, budget in ipairs(request.places) do
    if budget.since then
      if (tonumber(redis.call('ZSCORE', K.cordons, id)) or 0) <= tonumber(budget.since) then
        redis.call('ZADD', K.cordons, request.now, id)
        redis.call('ZREMRANGEBYRANK', K.cordons, 0, -(BOUND.cordons + 1))
        redis.call('EXPIRE', K.cordons, BOUND.cordons_s)
      end
    else
      redis.call('HSET', K.places .. budget.name, node, id)
      redis.call('SADD', K.budgets, budget.name)
    end
  end
end

-- Whoever waits for what was given back is due at once, in the very commit that gives it back.
if waited ~= waits then
  if waited ~= '' then
    redis.call('ZREM', K.waiting .. waited, id)
    wake(waited, 1)
  end
  if waits ~= '' then redis.call('ZADD', K.waiting .. waits, request.now, id) end
end
for budget, count in pairs(freed) do wake(budget, count) end

if ticket then redis.call('SET', K.ticket .. ticket.name, ticket.document, 'EX', BOUND.ticket_s) end
for _, card in ipairs(request.joins or {}) do join_card(card.uuid, card.serial) end
if request.baseline then keep_baseline(request.baseline) end
-- One rung of one operation is one attempt, at the time it was first begun.
local attempt = request.attempt
if attempt then
  local function tried(key)
    redis.call('ZADD', key, 'NX', request.now, id .. '|' .. attempt.rung .. '|' .. node)
    bound_attempts(key)
  end
  tried(K.node_attempts .. node)
  for _, card in ipairs(attempt.cards) do tried(K.card_attempts .. card_name(card.serial, card.uuid)) end
end

-- A node that fell ill is counted with those that share something with it; one too many within the window trips the
-- breaker, in the very commit that makes it so. The rule is that of app/domain/breaker.py.
local ill = request.ill
if ill then
  redis.call('ZADD', K.ill, request.now, ill.document)
  redis.call('ZREMRANGEBYRANK', K.ill, 0, -(BOUND.ill + 1))
  redis.call('EXPIRE', K.ill, BOUND.ill_s)
end
if ill and redis.call('EXISTS', K.breaker) == 0 then
  local since = '(' .. ill.since
  local all, recent = redis.call('ZCOUNT', K.ill, since, '+inf'), nil
  for _, group in ipairs(ill.groups) do
    local population = tonumber(redis.call('HGET', K.fleet, group.population) or 0)
    local limit = math.max(ill.least, math.min(math.floor(ill.share * population + 1e-9), ill.most))
    if all > limit then  -- else no group of them can be past it, and nothing need be read
      recent = recent or redis.call('ZRANGEBYSCORE', K.ill, since, '+inf')
      local nodes, count = {}, 0
      for place, document in ipairs(recent) do
        if type(document) == 'string' then recent[place] = cjson.decode(document) end
        local one = recent[place]
        if (not group.field or one[group.field] == group.value) and not nodes[one.node] then
          nodes[one.node], count = true, count + 1
        end
      end
      if count > limit then redis.call('SET', K.breaker, ill.trip) end
    end
  end
end

remember_occurrence(id)
push_alert(request.alert)
file_rows()
if request.pending_id then drop_pending(request.pending_id) end
return {'committed', version, fence}
