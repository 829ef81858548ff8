{{/*
The pod of a service: a list of the chart's root, the service's name and its
facts.
*/}}
{{- define "tercet.pod" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $facts := index . 2 }}
{{- $values := index $root.Values $name }}
{{- $fullname := include "tercet.fullname" . }}
{{- $scheme := ternary "HTTPS" "HTTP" (hasKey $values.env "TLS_CERT_FILE") -}}
metadata:
  labels:
    {{- include "tercet.labels" . | nindent 4 }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  # Variables of other Services, such as GRPC_PORT of one called grpc, would be
  # taken for settings.
  enableServiceLinks: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  {{- with $values.pod }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if $values.makeKey }}
  initContainers:
    - name: make-key
      args:
        - keyserver
        - key
        - new
        - --if-missing
      {{- include "tercet.container" . | nindent 6 }}
  {{- end }}
  containers:
    - name: {{ $name }}
      args:
        - {{ $name }}
      {{- include "tercet.container" . | nindent 6 }}
      ports:
        {{- range $port, $number := $facts.ports }}
        - name: {{ $port }}
          containerPort: {{ $number }}
        {{- end }}
      startupProbe:
        httpGet:
          path: {{ $facts.live }}
          port: http
          scheme: {{ $scheme }}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: {{ div $values.startSeconds 2 }}
      readinessProbe:
        httpGet:
          path: {{ $facts.ready }}
          port: http
          scheme: {{ $scheme }}
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      livenessProbe:
        httpGet:
          path: {{ $facts.live }}
          port: http
          scheme: {{ $scheme }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 1Gi
    {{- if include "tercet.hasRules" (list $name $values) }}
    - name: rules
      configMap:
        name: {{ $values.rulesConfigMap | default (printf "%s-rules" $fullname) }}
    {{- end }}
    {{- range $index, $mount := $values.mounts }}
    - name: mount-{{ $index }}
      {{- if $mount.secret }}
      secret:
        secretName: {{ $mount.secret }}
      {{- else }}
      configMap:
        name: {{ $mount.configMap }}
      {{- end }}
    {{- end }}
{{- end }}

{{/* What all containers of a pod have: image, settings, rights and volumes. */}}
{{- define "tercet.container" -}}
{{- $root := index . 0 }}
{{- $name := index . 1 }}
{{- $facts := index . 2 }}
{{- $values := index $root.Values $name -}}
image: {{ $root.Values.image }}
imagePullPolicy: IfNotPresent
env:
  {{- range $variable, $value := merge (dict) $facts.env $values.env ($facts.defaults | default dict) }}
  - name: {{ $variable }}
    value: {{ $value | quote }}
  {{- end }}
  {{- range $variable, $key := $values.secretEnv }}
  - name: {{ $variable }}
    valueFrom:
      secretKeyRef:
        {{- toYaml $key | nindent 8 }}
  {{- end }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if eq $facts.kind "StatefulSet" }}
  - name: data
    mountPath: /var/lib/tercet
  {{- end }}
  {{- if include "tercet.hasRules" (list $name $values) }}
  - name: rules
    mountPath: /srv/runtime_data/current/config
    readOnly: true
  {{- end }}
  {{- range $index, $mount := $values.mounts }}
  - name: mount-{{ $index }}
    mountPath: {{ $mount.path }}
    readOnly: true
  {{- end }}
{{- end }}
