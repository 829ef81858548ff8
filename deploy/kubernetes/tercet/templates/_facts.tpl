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
tasks:
  ports: { http: 8070, metrics: 9091 }
  ready: /readyz
  live: /healthz
  {{- if include "tercet.isShared" (list "tasks" .Values.tasks) }}
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
relayer:
  kind: StatefulSet
  ports: { http: 8000, metrics: 9092 }
  ready: /health
  live: /version
  env: &data
    DATA_DIR: /var/lib/tercet/data
    METRICS_HOST: 0.0.0.0
keyserver:
  kind: StatefulSet
  ports: { http: 8100, metrics: 9093 }
  ready: /health
  live: /health
  env: *data
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
{{- if and (eq (index . 0) "tasks") (eq (index . 1).store "postgres") }}yes{{ end }}
{{- end }}

{{/* Fails unless pods of tasks, by its values, find the database and one key. */}}
{{- define "tercet.demandDatabase" -}}
{{- $set := merge (dict) .env .secretEnv }}
{{- if not (or (get $set "DATABASE_URL") (get $set "PGHOST")) }}
{{- fail "Cannot run tasks on PostgreSQL without a database: name the Secret with its URL in tasks.secretEnv (DATABASE_URL)" }}
{{- end }}
{{- if not (or (get $set "MASTER_KEYS") (get $set "MASTER_KEYS_FILE")) }}
{{- fail "Cannot run tasks on PostgreSQL while each pod makes a master key of its own: name the Secret with one in tasks.secretEnv (MASTER_KEYS)" }}
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
