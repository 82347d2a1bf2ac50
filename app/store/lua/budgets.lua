-- How far each budget is used up, as a commit would count it.
local found = {}
for number, budget in ipairs(request.budgets) do found[number] = cjson.encode((use_of(budget))) end
return found
