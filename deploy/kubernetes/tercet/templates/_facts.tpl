{{/*
What a service is, apart from what its operator chooses: where it listens, where
it tells its health, and settings that other parts of the chart rely on.
*/}}
{{- define "tercet.facts" -}}
ratelimit:
  kind: Deployment
  ports: { http: 8080, grpc: 8081, metrics: 9090 }
  ready: /healthcheck
  # The health of a service whose store is away is no reason to start it again.
  live: /openapi.json
  env:
    RUNTIME_IGNOREDOTFILES: "true"
    RUNTIME_WATCH_ROOT: "false"
    USE_PULLMETRICS: "true"
{{- range $name := list "tasks" "relayer" }}
{{ $name }}:
  {{- if eq $name "tasks" }}
  ports: { http: 8070, metrics: 9091 }
  live: /healthz
  {{- else }}
  ports: { http: 8000, metrics: 9092 }
  live: /version
  {{- end }}
  ready: /readyz
  {{- if include "tercet.isShared" (list $name (index $.Values $name)) }}
  kind: Deployment
  env:
    STORE: postgres
    DATA_DIR: /tmp/data
    METRICS_HOST: 0.0.0.0
  # Longer than it takes until callers know that a pod is not ready.
  defaults:
    SHUTDOWN_DRAIN_DELAY: 15s
  {{- else }}
  kind: StatefulSet
  env:
    DATA_DIR: /var/lib/tercet/data
    METRICS_HOST: 0.0.0.0
  {{- end }}
{{- end }}
keyserver:
  kind: StatefulSet
  ports: { http: 8100, metrics: 9093 }
  ready: /health
  live: /health
  env:
    DATA_DIR: /var/lib/tercet/data
    METRICS_HOST: 0.0.0.0
{{- end }}

{{- define "tercet.fullname" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s" ($root.Release.Name | trunc 40 | trimSuffix "-") (index . 1) -}}
{{- end }}

{{- define "tercet.labels" -}}
app.kubernetes.io/name: tercet
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Whether ratelimit, by its values, counts on a server; empty when not. */}}
{{- define "tercet.hasStore" -}}
{{- $set := merge (dict) .env .secretEnv }}
{{- range list "KVSTORE_URL" "REDIS_URL" "ALTCACHE_HOST_PORT" "MEMCACHE_HOST_PORT" "ALTCACHE_SRV" "MEMCACHE_SRV" }}
{{- if get $set . }}yes{{ end }}
{{- end }}
{{- end }}

{{/* Whether pods of a service, by name and values, share a database. */}}
{{- define "tercet.isShared" -}}
{{- if eq ((index . 1).store | default "sqlite") "postgres" }}yes{{ end }}
{{- end }}

{{/* Fails unless pods of a service, by name and values, find the database and one key. */}}
{{- define "tercet.demandDatabase" -}}
{{- $name := index . 0 }}
{{- $set := merge (dict) (index . 1).env (index . 1).secretEnv }}
{{- if not (or (get $set "DATABASE_URL") (get $set "PGHOST")) }}
{{- fail (printf "Cannot run %s on PostgreSQL without a database: name the Secret with its URL in %s.secretEnv (DATABASE_URL)" $name $name) }}
{{- end }}
{{- if not (or (get $set "MASTER_KEYS") (and (eq $name "tasks") (get $set "MASTER_KEYS_FILE"))) }}
{{- fail (printf "Cannot run %s on PostgreSQL while each pod makes a master key of its own: name the Secret with one in %s.secretEnv (MASTER_KEYS)" $name $name) }}
{{- end }}
{{- end }}

{{/* Whether a service, by name and values, reads rules from files. */}}
{{- define "tercet.hasRules" -}}
{{- $values := index . 1 }}
{{- if and (eq (index . 0) "ratelimit") (ne (get $values.env "CONFIG_TYPE") "GRPC_XDS_SOTW") }}yes{{ end }}
{{- end }}

{{/* Whether the ConfigMap with ratelimit's rules is one of the chart's. */}}
{{- define "tercet.ownRules" -}}
{{- if and (include "tercet.hasRules" (list "ratelimit" .)) (not .rulesConfigMap) }}yes{{ end }}
{{- end }}
