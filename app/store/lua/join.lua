-- One card under one key: its serial. Answers {1}.
join_card(request.uuid, request.serial)
return {1}
