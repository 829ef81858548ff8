/**
 * The settings of the counter stores.
 *
 * @module
 */

import {
  booleanOption,
  choiceOption,
  durationOption,
  integerOption,
  type Option,
  pairsOption,
  textOption,
} from "../shared/options.ts";

const STORE = "Counter store";
const KVSTORE = "KVSTORE (Redis)";
const PER_SECOND = "KVSTORE for limits by the second";
const ALTCACHE = "ALTCACHE (memcached)";

/** What to answer while the store fails, by the name of the mode. */
export const FAILURE_MODES = {
  error: "error",
  allow: "allow",
  deny: "deny",
  local: "local",
} as const;

const TYPES = {
  single: "single",
  sentinel: "sentinel",
  cluster: "cluster",
} as const;
const SOCKET_TYPES = { tcp: "tcp", tls: "tcp", unix: "unix" } as const;

/** The kinds of stores by their names, older names among them. */
export const BACKENDS = {
  memory: "memory",
  kvstore: "kvstore",
  redis: "kvstore",
  altcache: "altcache",
  memcache: "altcache",
} as const;

/** Settings of the counter store, whatever its kind. */
export const storeSettings = {
  backendType: choiceOption({
    name: "BACKEND_TYPE",
    values: BACKENDS,
    ignoreCase: true,
    group: STORE,
    help: "Where counters are kept. Unset: kvstore if KVSTORE_URL is set, " +
      "else memory, whose limits apply to this process only.",
  }),
  cacheKeyPrefix: textOption({
    name: "CACHE_KEY_PREFIX",
    default: "",
    group: STORE,
    help: "Text before every counter key.",
  }),
  cacheKeyFormat: choiceOption({
    name: "CACHE_KEY_FORMAT",
    values: { escaped: "escaped", reference: "reference" },
    default: "escaped",
    group: STORE,
    help: "The format of counter keys; reference is that of " +
      "envoyproxy/ratelimit, for fleets that share a store with it.",
  }),
  expirationJitterMaxSeconds: integerOption({
    name: "EXPIRATION_JITTER_MAX_SECONDS",
    default: 300,
    min: 0,
    max: 86_400,
    group: STORE,
    help: "Counters expire up to this much after their window, so that they " +
      "do not all expire together.",
  }),
  stopWhenOver: booleanOption({
    name: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
    default: false,
    group: STORE,
    help: "When one limit of a request is exceeded, its other counters are " +
      "not incremented.",
  }),
  localCacheBytes: integerOption({
    name: "LOCAL_CACHE_SIZE_IN_BYTES",
    aliases: ["LocalCacheSizeInBytes"],
    default: 0,
    min: 0,
    max: 17_179_869_184,
    group: STORE,
    help: "Memory for a cache of exceeded counters, which saves calls of the " +
      "store; 0 for none, otherwise at least 524288.",
  }),
  localCacheMaxAgeMs: durationOption({
    name: "LOCAL_CACHE_MAX_AGE",
    default: "1s",
    min: "1s",
    group: STORE,
    help: "How long the cache keeps a counter. For this time it misses hits " +
      "that another instance returns.",
  }),
  storeFailureMode: choiceOption({
    name: "STORE_FAILURE_MODE",
    values: FAILURE_MODES,
    ignoreCase: true,
    default: "error",
    group: STORE,
    help: "While the store does not answer: error fails the call, allow lets " +
      "every request pass, deny refuses requests with a limit, local counts " +
      "in this process.",
  }),
  storeFailureModeByDomain: pairsOption({
    name: "STORE_FAILURE_MODE_BY_DOMAIN",
    default: [],
    group: STORE,
    help: "The same for single domains, such as edge:allow,login:deny.",
  }),
  memoryMaxKeys: integerOption({
    name: "MEMORY_MAX_KEYS",
    default: 1_000_000,
    min: 1_000,
    max: 100_000_000,
    group: STORE,
    help:
      "Maximum number of counters in memory, of about 150 bytes each with " +
      "keys of 60; a sliding window takes up to 1000.",
  }),
  memoryFullMode: choiceOption({
    name: "MEMORY_FULL_MODE",
    values: { allow: "allow", refuse: "refuse" },
    default: "allow",
    group: STORE,
    help: "Treatment of a new counter when memory is full of counters near " +
      "their limits.",
  }),
} as const;

/** Settings of counters on Redis. */
export const kvstoreSettings = {
  kvstoreUrl: textOption({
    name: "KVSTORE_URL",
    aliases: ["REDIS_URL"],
    default: "",
    secret: true,
    group: KVSTORE,
    help: "single: host:port, redis://host:port or the path of a unix " +
      "socket; sentinel: the master's name and the sentinels, " +
      "name,host:port,host:port; cluster: its nodes, host:port,host:port.",
  }),
  kvstoreType: choiceOption({
    name: "KVSTORE_TYPE",
    aliases: ["REDIS_TYPE"],
    values: TYPES,
    ignoreCase: true,
    default: "single",
    group: KVSTORE,
    help: "The topology of the servers.",
  }),
  kvstoreSocketType: choiceOption({
    name: "KVSTORE_SOCKET_TYPE",
    aliases: ["REDIS_SOCKET_TYPE"],
    values: SOCKET_TYPES,
    ignoreCase: true,
    group: KVSTORE,
    help: "When unset, the URL decides.",
  }),
  kvstoreAuth: textOption({
    secret: true,
    name: "KVSTORE_AUTH",
    aliases: ["REDIS_AUTH"],
    default: "",
    group: KVSTORE,
    help: "PASSWORD or USERNAME:PASSWORD.",
  }),
  kvstoreSentinelAuth: textOption({
    secret: true,
    name: "KVSTORE_SENTINEL_AUTH",
    aliases: ["REDIS_SENTINEL_AUTH"],
    default: "",
    group: KVSTORE,
    help: "The same for the sentinels.",
  }),
  kvstoreTls: booleanOption({
    name: "KVSTORE_TLS",
    aliases: ["REDIS_TLS"],
    default: false,
    group: KVSTORE,
    help: "Connect with TLS.",
  }),
  kvstoreTlsClientCert: textOption({
    name: "KVSTORE_TLS_CLIENT_CERT",
    aliases: ["REDIS_TLS_CLIENT_CERT"],
    default: "",
    group: KVSTORE,
    help: "File of the client certificate, for both servers.",
  }),
  kvstoreTlsClientKey: textOption({
    name: "KVSTORE_TLS_CLIENT_KEY",
    aliases: ["REDIS_TLS_CLIENT_KEY"],
    default: "",
    group: KVSTORE,
    help: "File of its key.",
  }),
  kvstoreTlsCaCert: textOption({
    name: "KVSTORE_TLS_CACERT",
    aliases: ["REDIS_TLS_CACERT"],
    default: "",
    group: KVSTORE,
    help: "File with the authorities of the servers' certificates; without " +
      "it the system's.",
  }),
  kvstoreTlsSkipHostname: booleanOption({
    name: "KVSTORE_TLS_SKIP_HOSTNAME_VERIFICATION",
    aliases: ["REDIS_TLS_SKIP_HOSTNAME_VERIFICATION"],
    default: false,
    group: KVSTORE,
    help: "Do not compare the name in the certificate; its signature is " +
      "still checked.",
  }),
  kvstorePoolSize: integerOption({
    name: "KVSTORE_POOL_SIZE",
    aliases: ["REDIS_POOL_SIZE"],
    default: 10,
    min: 1,
    max: 1_000,
    group: KVSTORE,
    help: "Connections to the server, for a cluster to each of its masters.",
  }),
  kvstoreTimeoutMs: durationOption({
    name: "KVSTORE_TIMEOUT",
    aliases: ["REDIS_TIMEOUT"],
    default: "1s",
    min: "1ms",
    group: KVSTORE,
    help: "Bound on dialling and on every call.",
  }),
  kvstorePipelineWindowMs: durationOption({
    name: "KVSTORE_PIPELINE_WINDOW",
    aliases: ["REDIS_PIPELINE_WINDOW"],
    default: "0s",
    min: "0s",
    group: KVSTORE,
    help: "How long a call may wait to share a write with others, at most a " +
      "quarter of the timeout. With 0 calls do not wait, and only calls that " +
      "are ready together share a write.",
  }),
  kvstorePipelineLimit: integerOption({
    name: "KVSTORE_PIPELINE_LIMIT",
    aliases: ["REDIS_PIPELINE_LIMIT"],
    default: 0,
    min: 0,
    max: 1_000_000,
    group: KVSTORE,
    help: "Number of commands that ends that wait; 0 for no limit.",
  }),
  kvstoreHealthNeedsConnection: booleanOption({
    name: "KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION",
    aliases: ["REDIS_HEALTH_CHECK_ACTIVE_CONNECTION"],
    default: false,
    group: KVSTORE,
    help: "Report unhealthy while the store is unavailable: none of its " +
      "servers is connected and serving.",
  }),
} as const;

/**
 * Settings of a second Redis for limits by the second, the same as those of the
 * first.
 */
export const perSecondSettings = {
  perSecond: booleanOption({
    name: "KVSTORE_PERSECOND",
    aliases: ["REDIS_PERSECOND"],
    default: false,
    group: PER_SECOND,
    help: "Keep limits by the second on a separate server.",
  }),
  perSecondUrl: perSecond(kvstoreSettings.kvstoreUrl),
  perSecondType: perSecond(kvstoreSettings.kvstoreType),
  perSecondSocketType: perSecond(kvstoreSettings.kvstoreSocketType),
  perSecondAuth: perSecond(kvstoreSettings.kvstoreAuth),
  perSecondSentinelAuth: perSecond(kvstoreSettings.kvstoreSentinelAuth),
  perSecondTls: booleanOption({
    name: "KVSTORE_PERSECOND_TLS",
    aliases: ["REDIS_PERSECOND_TLS"],
    default: false,
    group: PER_SECOND,
    help: "As KVSTORE_TLS; the files are the same.",
  }),
  perSecondPoolSize: perSecond(kvstoreSettings.kvstorePoolSize),
  perSecondTimeoutMs: perSecond(kvstoreSettings.kvstoreTimeoutMs),
  perSecondPipelineWindowMs: perSecond(kvstoreSettings.kvstorePipelineWindowMs),
  perSecondPipelineLimit: perSecond(kvstoreSettings.kvstorePipelineLimit),
} as const;

/** Settings of counters on memcached. */
export const altcacheSettings = {
  altcacheHostPort: textOption({
    name: "ALTCACHE_HOST_PORT",
    aliases: ["MEMCACHE_HOST_PORT"],
    default: "",
    group: ALTCACHE,
    help: "memcached servers, host:port,host:port; the same for every " +
      "instance of the service.",
  }),
  altcacheSrv: textOption({
    name: "ALTCACHE_SRV",
    aliases: ["MEMCACHE_SRV"],
    default: "",
    group: ALTCACHE,
    help: "SRV record of the memcached servers, in place of a list.",
  }),
  altcacheSrvRefreshMs: durationOption({
    name: "ALTCACHE_SRV_REFRESH",
    aliases: ["MEMCACHE_SRV_REFRESH"],
    default: "0s",
    min: "0s",
    group: ALTCACHE,
    help: "Time between two lookups of the record; 0 looks it up once.",
  }),
  altcacheMaxIdleConnections: integerOption({
    name: "ALTCACHE_MAX_IDLE_CONNS",
    aliases: ["MEMCACHE_MAX_IDLE_CONNS"],
    default: 2,
    min: 1,
    max: 1_000,
    group: ALTCACHE,
    help: "Idle connections kept to each memcached server.",
  }),
  altcacheTimeoutMs: durationOption({
    name: "ALTCACHE_TIMEOUT",
    default: "1s",
    min: "1ms",
    group: ALTCACHE,
    help: "Bound on dialling memcached and on every command.",
  }),
  altcacheTls: booleanOption({
    name: "ALTCACHE_TLS",
    aliases: ["MEMCACHE_TLS"],
    default: false,
    group: ALTCACHE,
    help: "Connect to memcached with TLS.",
  }),
  altcacheTlsClientCert: textOption({
    name: "ALTCACHE_TLS_CLIENT_CERT",
    aliases: ["MEMCACHE_TLS_CLIENT_CERT"],
    default: "",
    group: ALTCACHE,
    help: "File of the client certificate.",
  }),
  altcacheTlsClientKey: altcache(kvstoreSettings.kvstoreTlsClientKey),
  altcacheTlsCaCert: altcache(kvstoreSettings.kvstoreTlsCaCert),
  altcacheTlsSkipHostname: altcache(kvstoreSettings.kvstoreTlsSkipHostname),
} as const;

/** Returns the same option for the Redis with the limits by the second. */
export function perSecond<T extends Option<unknown>>(option: T): T {
  return {
    ...renamed(option, "KVSTORE_PERSECOND_", "REDIS_PERSECOND_"),
    group: PER_SECOND,
    help: `As ${option.name}.`,
  };
}

/** Returns the same option for memcached. */
function altcache<T extends Option<unknown>>(option: T): T {
  return { ...renamed(option, "ALTCACHE_", "MEMCACHE_"), group: ALTCACHE };
}

function renamed<T extends Option<unknown>>(
  option: T,
  prefix: string,
  aliasPrefix: string,
): T {
  return {
    ...option,
    name: option.name.replace("KVSTORE_", prefix),
    aliases: option.aliases.map((alias) =>
      alias.replace("REDIS_", aliasPrefix)
    ),
  };
}
