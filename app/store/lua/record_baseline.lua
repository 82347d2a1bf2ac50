-- What one node measured. Answers {1}.
keep_baseline(request)
return {1}
