{{- /* What values mean together, which a schema cannot say. Each refusal is a sentence with what would be right. */ -}}
{{- define "sickbay.checks" -}}
{{- $redis := .Values.redis -}}
{{- if and $redis.trial.enabled $redis.urlSecret.name -}}
{{- fail "Two stores are named: take redis.urlSecret.name for your own, or redis.trial.enabled for the single one." -}}
{{- end -}}
{{- if not (or $redis.trial.enabled $redis.urlSecret.name) -}}
{{- fail "No store is named: set redis.urlSecret.name to a Secret that holds its URL, or redis.trial.enabled=true for a trial." -}}
{{- end -}}
{{- $jobs := include "sickbay.nodeJobs" . | fromJson -}}
{{- if eq $jobs.namespace .Release.Namespace -}}
{{- fail (printf "The policy's node_jobs.namespace is %s, where Sickbay itself is installed: privileged pods need one of their own." $jobs.namespace) -}}
{{- end -}}
{{- if and (include "sickbay.runsNodeJobs" .) (not .Values.nodeJobs.allowTags) -}}
{{- range $image := include "sickbay.nodeJobImages" . | fromJsonArray -}}
{{- if not (regexMatch "@sha256:[0-9a-f]{64}$" $image) -}}
{{- fail (printf "In mode %s privileged node jobs run %s, which is no digest. Name it in the policy as image@sha256:…, or set nodeJobs.allowTags=true if you trust whoever can move the tag." $.Values.mode $image) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
