-- An alert that leads to no operation: its occurrence, its record and the rows of its card. Answers {1} or, when it was
-- dealt with before, {0, operation}.
local known, led_to = dealt_with()
if known == 'again' then return {1} end
if known then
  push_duplicate()
  return {0, led_to}
end
remember_occurrence('')
push_alert(request.alert)
file_rows()
if request.pending_id then drop_pending(request.pending_id) end
return {1}
