import { assertEquals } from "@std/assert";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";

/**
 * Every setting that the specification names, with the default that it states.
 * Where it states none, the default follows from the description of the
 * setting: a switch that "true enables" is false, and an optional text has
 * none.
 */
const SPECIFIED: Readonly<Record<string, string>> = {
  // Listeners.
  GRPC_HOST: "0.0.0.0",
  GRPC_PORT: "8081",
  GRPC_UDS: "none",
  DEBUG_HOST: "0.0.0.0",
  DEBUG_PORT: "6070",
  PULLMETRICS_ADDR: ":9090",
  PULLMETRICS_PATH: "/metrics",
  GRPC_MAX_CONNECTION_AGE: "24h",
  GRPC_MAX_CONNECTION_AGE_GRACE: "1h",
  // Configuration.
  CONFIG_TYPE: "FILE",
  FORCE_START_WITHOUT_INITIAL_CONFIG: "false",
  MERGE_DOMAIN_CONFIG: "false",
  HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "false",
  RUNTIME_ROOT: "/srv/runtime_data/current",
  RUNTIME_SUBDIRECTORY: "none",
  RUNTIME_APPDIRECTORY: "config",
  RUNTIME_IGNOREDOTFILES: "false",
  RUNTIME_WATCH_ROOT: "true",
  CONFIG_GRPC_XDS_NODE_ID: "default",
  CONFIG_GRPC_XDS_SERVER_URL: "localhost:18000",
  CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "3s",
  XDS_CLIENT_BACKOFF_JITTER: "true",
  XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "10s",
  XDS_CLIENT_BACKOFF_MAX_INTERVAL: "60s",
  XDS_CLIENT_BACKOFF_RANDOM_FACTOR: "0.5",
  XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: "4194304",
  CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
  CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "none",
  CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "none",
  CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "none",
  CONFIG_GRPC_XDS_SERVER_TLS_SAN: "none",
  CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: "none",
  // Stores.
  KVSTORE_SOCKET_TYPE: "none",
  KVSTORE_URL: "none",
  KVSTORE_POOL_SIZE: "10",
  KVSTORE_TYPE: "single",
  KVSTORE_PERSECOND: "false",
  KVSTORE_PERSECOND_SOCKET_TYPE: "none",
  KVSTORE_PERSECOND_URL: "none",
  KVSTORE_PERSECOND_POOL_SIZE: "10",
  KVSTORE_PERSECOND_TYPE: "single",
  KVSTORE_TLS: "false",
  KVSTORE_PERSECOND_TLS: "false",
  KVSTORE_TLS_CLIENT_CERT: "none",
  KVSTORE_TLS_CLIENT_KEY: "none",
  KVSTORE_TLS_CACERT: "none",
  KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: "false",
  KVSTORE_AUTH: "none",
  KVSTORE_PERSECOND_AUTH: "none",
  KVSTORE_PIPELINE_WINDOW: "0s",
  KVSTORE_PERSECOND_PIPELINE_WINDOW: "0s",
  KVSTORE_PIPELINE_LIMIT: "0",
  KVSTORE_PERSECOND_PIPELINE_LIMIT: "0",
  KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION: "false",
  CACHE_KEY_PREFIX: "none",
  STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "false",
  LocalCacheSizeInBytes: "0",
  BACKEND_TYPE: "none",
  ALTCACHE_HOST_PORT: "none",
  ALTCACHE_SRV: "none",
  ALTCACHE_SRV_REFRESH: "0s",
  ALTCACHE_MAX_IDLE_CONNS: "2",
  ALTCACHE_TLS: "false",
  ALTCACHE_TLS_CLIENT_CERT: "none",
  ALTCACHE_TLS_CLIENT_KEY: "none",
  ALTCACHE_TLS_CACERT: "none",
  ALTCACHE_TLS_SKIP_HOSTNAME_VERIFICATION: "false",
  // Logs, statistics, decisions and tracing.
  LOG_LEVEL: "warn",
  LOG_FORMAT: "text",
  // On unless statistics are sent elsewhere.
  USE_STATSD: "none",
  DISABLE_STATS: "false",
  STATS_FLUSH_INTERVAL: "10s",
  EXTRA_TAGS: "none",
  NEAR_LIMIT_RATIO: "0.8",
  SHADOW_MODE: "false",
  LIMIT_RESPONSE_HEADERS_ENABLED: "false",
  LIMIT_LIMIT_HEADER: "RateLimit-Limit",
  LIMIT_REMAINING_HEADER: "RateLimit-Remaining",
  LIMIT_RESET_HEADER: "RateLimit-Reset",
  TRACING_ENABLED: "false",
  TRACING_EXPORTER_PROTOCOL: "http",
  TRACING_SERVICE_NAME: "RateLimit",
  TRACING_SERVICE_NAMESPACE: "none",
  // The default is a random UUID.
  TRACING_SERVICE_INSTANCE_ID: "none",
  TRACING_SAMPLING_RATE: "1",
  PULLMETRICS_MAPPER_YAML: "none",
  USE_PULLMETRICS: "false",
  USE_TAGGED_STATSD: "false",
  TAGGED_STATSD_MOGRIFIERS: "none",
  USE_TAGGED_STATSD_MOGRIFIERS: "none",
  // TLS for gRPC clients.
  GRPC_SERVER_USE_TLS: "false",
  GRPC_SERVER_TLS_CERT: "none",
  GRPC_SERVER_TLS_KEY: "none",
  GRPC_CLIENT_TLS_CACERT: "none",
  GRPC_CLIENT_TLS_SAN: "none",
};

/**
 * Settings of envoyproxy/ratelimit that the specification does not name, or
 * that it names otherwise.
 */
const OF_THE_REFERENCE: readonly string[] = [
  ...["HOST", "PORT", "STATSD_HOST", "STATSD_PORT", "STATSD_PROTOCOL"],
  ...["CONFIG_GRPC_XDS_NODE_METADATA", "EXPIRATION_JITTER_MAX_SECONDS"],
  ...["LOCAL_CACHE_SIZE_IN_BYTES", "QUOTA_MODE", "RESPONSE_DYNAMIC_METADATA"],
  ...["USE_DOG_STATSD", "USE_DOG_STATSD_MOGRIFIERS", "USE_PROMETHEUS"],
  ...["ADDR", "PATH", "MAPPER_YAML", "RESPONSE_TIME_AS_MILLISECONDS"]
    .map((name) => `PROMETHEUS_${name}`),
  "REDIS_PERSECOND",
  ...["REDIS", "REDIS_PERSECOND"].flatMap((server) =>
    [
      ...["SOCKET_TYPE", "TYPE", "URL", "POOL_SIZE", "AUTH", "SENTINEL_AUTH"],
      ...["TLS", "PIPELINE_WINDOW", "PIPELINE_LIMIT", "TIMEOUT"],
      ...["CLUSTER_PIPELINE_PARALLELISM", "POOL_ON_EMPTY_BEHAVIOR"],
    ].map((name) => `${server}_${name}`)
  ),
  ...["CLIENT_CERT", "CLIENT_KEY", "CACERT", "SKIP_HOSTNAME_VERIFICATION"]
    .flatMap((name) => [`REDIS_TLS_${name}`, `MEMCACHE_TLS_${name}`]),
  ...["INITIAL_INTERVAL", "MAX_INTERVAL", "MAX_ELAPSED_TIME"]
    .map((name) => `REDIS_STARTUP_${name}`),
  "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION",
  "REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR",
  ...["HOST_PORT", "SRV", "SRV_REFRESH", "MAX_IDLE_CONNS", "TLS"]
    .map((name) => `MEMCACHE_${name}`),
];

/**
 * Returns the documented defaults, by the names and aliases in the tables of
 * the settings page.
 */
async function documented(): Promise<ReadonlyMap<string, string>> {
  const readme = await Deno.readTextFile(
    new URL("../../docs/reference/ratelimit_settings.md", import.meta.url),
  );
  const defaults = new Map<string, string>();
  for (
    const [, name = "", also = "", shown = ""] of readme.matchAll(
      /^\| `(\w+)`(?: \(also ([^)]*)\))? \| (`[^`]*`|none) \|/gm,
    )
  ) {
    const aliases = Array.from(also.matchAll(/`(\w+)`/g), ([, one]) => one!);
    for (const one of [name, ...aliases]) {
      defaults.set(one, shown.replaceAll("`", ""));
    }
  }
  return defaults;
}

Deno.test("the README's tables have every setting of the specification, with its default", async () => {
  const defaults = await documented();
  assertEquals(
    Object.keys(SPECIFIED).map((name) => [name, defaults.get(name)]),
    Object.entries(SPECIFIED),
  );
});

Deno.test("the README's tables have every setting that the service reads, and no other", async () => {
  const read = Object.values(rateLimitSettings).flatMap(({ name, aliases }) => [
    name,
    ...aliases ?? [],
  ]);
  assertEquals(
    [...(await documented()).keys()].toSorted(),
    read.toSorted(),
  );
});

Deno.test("the README's tables have every setting of envoyproxy/ratelimit", async () => {
  const defaults = await documented();
  assertEquals(OF_THE_REFERENCE.filter((name) => !defaults.has(name)), []);
});
