{{- /* The policy, read here so that namespace and images of node jobs are written in one place only. */ -}}
{{- define "sickbay.policyText" -}}
{{ .Values.policy | default (.Files.Get "files/policy.yaml") }}
{{- end -}}

{{- define "sickbay.xidsText" -}}
{{ .Values.xids | default (.Files.Get "files/xids.yaml") }}
{{- end -}}

{{- /* Its `node_jobs`, with the defaults of docs/reference/policy.md, as JSON. */ -}}
{{- define "sickbay.nodeJobs" -}}
{{- $policy := include "sickbay.policyText" . | fromYaml -}}
{{- if or (hasKey $policy "Error") (not (hasKey $policy "pools")) -}}
{{- fail "policy is no policy file: run `sickbay check-config FILE` on it, and give it by --set-file policy=FILE." -}}
{{- end -}}
{{- $given := $policy.node_jobs | default dict -}}
{{- merge (deepCopy $given) (.Files.Get "files/policy.yaml" | fromYaml).node_jobs | toJson -}}
{{- end -}}

{{- /* The node jobs' images that the policy names. */ -}}
{{- define "sickbay.nodeJobImages" -}}
{{- $jobs := include "sickbay.nodeJobs" . | fromJson -}}
{{- compact (list $jobs.host_image $jobs.diagnose_image $jobs.benchmark_image) | uniq | toJson -}}
{{- end -}}

{{- /* "true" where node jobs may run: what the mode does, and what the values leave it. */ -}}
{{- define "sickbay.runsNodeJobs" -}}
{{- if and .Values.nodeJobs.enabled (has .Values.mode (list "approve" "act")) -}}true{{- end -}}
{{- end -}}

{{- /* The roots into which node jobs may go on the host: each pool's own. */ -}}
{{- define "sickbay.driverRoots" -}}
{{- $roots := list -}}
{{- range (include "sickbay.policyText" . | fromYaml).pools -}}
{{- $roots = append $roots (printf "/host%s" (.driver_root | default "/run/nvidia/driver") | trimSuffix "/") -}}
{{- end -}}
{{- $roots | uniq | toRawJson -}}
{{- end -}}

{{- /* One argv as CEL; call with (list . shape). A word is a text, {matches: pattern} or {driverRoot: true}. */ -}}
{{- define "sickbay.argvShape" -}}
{{- $argv := (index . 1).argv -}}
(variables.argv.size() == {{ len $argv }}
{{- range $place, $word := $argv -}}
{{- if kindIs "string" $word }} && variables.argv[{{ $place }}] == {{ $word | toRawJson }}
{{- else if $word.driverRoot }} && variables.argv[{{ $place }}] in {{ include "sickbay.driverRoots" (index $ 0) }}
{{- else }} && variables.argv[{{ $place }}].matches({{ $word.matches | toRawJson }}){{ end -}}
{{- end -}}
)
{{- end -}}
