-- How far each budget is used up, as a commit would count it.
local by_budget, found = holders_by_budget(), {}
for number, budget in ipairs(request.budgets) do found[number] = cjson.encode(use_of(budget, by_budget)) end
return found
