{{- /* Names and labels. */ -}}
{{- define "sickbay.name" -}}
{{- $name := ternary .Release.Name (printf "%s-sickbay" .Release.Name) (contains "sickbay" .Release.Name) -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "sickbay.labels" -}}
app.kubernetes.io/name: sickbay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* Of one component; call with (list . "web"). */ -}}
{{- define "sickbay.selector" -}}
app.kubernetes.io/name: sickbay
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "sickbay.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "sickbay.webhookSecret" -}}
{{ .Values.tokens.webhook.secret | default (printf "%s-webhook" (include "sickbay.name" .)) }}
{{- end -}}

{{- define "sickbay.apiSecret" -}}
{{ .Values.tokens.api.secret | default (printf "%s-api" (include "sickbay.name" .)) }}
{{- end -}}

{{- define "sickbay.redisSecret" -}}
{{ .Values.redis.trial.enabled | ternary (printf "%s-valkey" (include "sickbay.name" .)) .Values.redis.urlSecret.name }}
{{- end -}}
