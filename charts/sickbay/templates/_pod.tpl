{{- /* What the three pods have in common; call with (list . "web"). Restricted pod security, nothing to write to. */ -}}
{{- define "sickbay.podMetadata" -}}
{{- $root := index . 0 -}}
labels:
  {{- include "sickbay.labels" $root | nindent 2 }}
  app.kubernetes.io/component: {{ index . 1 }}
annotations:
  # The policy is read once, at start: a change of it starts new pods.
  sickbay/policy: {{ printf "%s%s" (include "sickbay.policyText" $root) (include "sickbay.xidsText" $root) | sha256sum }}
  {{- with $root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "sickbay.podSpec" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
serviceAccountName: {{ include "sickbay.name" $root }}-{{ $component }}
automountServiceAccountToken: {{ has $component (list "worker" "watch") }}
# Variables of Services would look like settings of ours.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sickbay.selector" . | nindent 8 }}
{{- end -}}

{{- define "sickbay.container" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
name: {{ $component }}
image: {{ include "sickbay.image" $root }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
args: [{{ $component }}]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  {{- toYaml (index $root.Values $component).resources | nindent 2 }}
{{- end -}}

{{- define "sickbay.env" -}}
- name: SICKBAY_MODE
  value: {{ .Values.mode }}
{{- if not (include "sickbay.runsNodeJobs" .) }}
# There is no right to any, so none is asked for.
- name: SICKBAY_NODE_JOBS
  value: "off"
{{- end }}
- name: SICKBAY_POLICY
  value: /etc/sickbay/policy/policy.yaml
- name: SICKBAY_LOG_LEVEL
  value: {{ .Values.logLevel }}
- name: SICKBAY_REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "sickbay.redisSecret" . }}
      key: {{ .Values.redis.trial.enabled | ternary "url" .Values.redis.urlSecret.key }}
{{- with .Values.url }}
- name: SICKBAY_URL
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "sickbay.mounts" -}}
- name: policy
  mountPath: /etc/sickbay/policy
  readOnly: true
- name: policy
  # The catalogue lies beside the code.
  mountPath: /opt/sickbay/config/xids.yaml
  subPath: xids.yaml
  readOnly: true
{{- if .Values.redis.caSecret }}
- name: redis-ca
  mountPath: /etc/sickbay/redis-ca
  readOnly: true
{{- end }}
{{- end -}}

{{- define "sickbay.volumes" -}}
- name: policy
  configMap:
    name: {{ include "sickbay.name" . }}-policy
{{- with .Values.redis.caSecret }}
- name: redis-ca
  secret:
    secretName: {{ . }}
{{- end }}
{{- end -}}

{{- /* Worker and watch listen nowhere. Each time that their loop comes round they touch a file. */ -}}
{{- define "sickbay.aliveEnv" -}}
- name: SICKBAY_ALIVE_FILE
  value: /run/sickbay/alive
{{- end -}}

{{- define "sickbay.aliveProbe" -}}
# Older than the longest job and the longest wait for one: the loop hangs. That the store or the API server is away
# makes nothing old.
exec:
  command:
    - python3
    - -c
    - import os, time; raise SystemExit(time.time() - os.stat("/run/sickbay/alive").st_mtime > 300)
initialDelaySeconds: 60
periodSeconds: 60
timeoutSeconds: 10
failureThreshold: 2
{{- end -}}
