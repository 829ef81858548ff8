{{/*
What one service consists of: a workload, a Service in front of it, and what
guards it. Each takes a list of the chart's root and the service's name.
*/}}
{{- define "tercet.service" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $values := index $root.Values $name }}
{{- if $values.enabled }}
{{- $fullname := include "tercet.fullname" . }}
{{- $facts := index (include "tercet.facts" $root | fromYaml) $name }}
{{- $hasStore := include "tercet.hasStore" $values }}
{{- $replicas := 1 }}
{{- if eq $name "ratelimit" }}
{{- $replicas = $values.replicas }}
{{- if and (not $hasStore) (ne (toString $replicas) "1") }}
{{- fail "Cannot count with several replicas of ratelimit in the memory of each: name their store in ratelimit.env (KVSTORE_URL) or ratelimit.secretEnv, or set ratelimit.replicas to 1" }}
{{- end }}
{{- end }}
{{- if include "tercet.isShared" (list $name $values) }}
{{- $replicas = $values.replicas }}
{{- include "tercet.demandDatabase" (list $name $values) }}
{{- end }}
{{- if and (eq $name "ratelimit") (include "tercet.ownRules" $values) }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $fullname }}-rules
  labels:
    {{- include "tercet.labels" . | nindent 4 }}
data:
  {{- toYaml $values.rules | nindent 2 }}
---
{{- end }}
apiVersion: apps/v1
kind: {{ $facts.kind }}
metadata:
  name: {{ $fullname }}
  labels:
    {{- include "tercet.labels" . | nindent 4 }}
spec:
  {{- if not (kindIs "invalid" $replicas) }}
  replicas: {{ $replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "tercet.labels" . | nindent 6 }}
  {{- if eq $facts.kind "StatefulSet" }}
  serviceName: {{ $fullname }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes:
          - ReadWriteOnce
        {{- with $values.volume.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $values.volume.size }}
  {{- else }}
  strategy:
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  {{- end }}
  template:
    {{- include "tercet.pod" (append . $facts) | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $fullname }}
  labels:
    {{- include "tercet.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "tercet.labels" . | nindent 4 }}
  ports:
    {{- range $port, $number := omit $facts.ports "metrics" }}
    - name: {{ $port }}
      port: {{ $number }}
      targetPort: {{ $port }}
    {{- end }}
{{- if $root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $fullname }}
  labels:
    {{- include "tercet.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "tercet.labels" . | nindent 6 }}
  policyTypes:
    - Ingress
  ingress:
    - from:
        {{- toYaml $values.callers | nindent 8 }}
      ports:
        {{- range $port, $number := omit $facts.ports "metrics" }}
        - port: {{ $port }}
        {{- end }}
    - from:
        {{- toYaml $root.Values.networkPolicy.scrapers | nindent 8 }}
      ports:
        - port: metrics
{{- end }}
{{- if ne (toString $replicas) "1" }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $fullname }}
  labels:
    {{- include "tercet.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "tercet.labels" . | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}
