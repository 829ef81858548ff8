/**
 * Opens the counter store that the settings ask for.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Tracing } from "../../shared/telemetry/tracing.ts";
import type { Logger } from "../../shared/logger.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { Stats } from "../stats/stats.ts";
import { parseAltcacheSource } from "./altcache/altcache_servers.ts";
import { AltcacheStore } from "./altcache/altcache_store.ts";
import type { CounterStore } from "./counter_store.ts";
import { KvstoreStore } from "./kvstore/kvstore_store.ts";
import {
  parseRedisAuth,
  parseRedisTarget,
  type RedisTargetType,
} from "./kvstore/redis/address.ts";
import { MemoryStore } from "./memory_store.ts";
import { OverLimitCache } from "./over_limit_cache.ts";
import { sharedOptions, type StoreSharing } from "./shared_stores.ts";
import { altcacheTally, connectionTally } from "./store_stats.ts";
import { TracedStore } from "./traced_store.ts";
import { readTlsFiles, type StoreTls } from "./store_tls.ts";
import {
  FailurePolicyStore,
  SplitStore,
  type StoreFailureMode,
} from "./two_stores.ts";

/** What stores need beside their settings. */
interface OpenStoreParts {
  /** Time. */
  readonly clock: Clock;
  /** Hears of connections and of a full memory. */
  readonly logger: Logger;
  /** Counts failures. */
  readonly stats: Stats;
  /** Reads the files that settings name. */
  readonly readText: (path: string) => Promise<string>;
  /**
   * Makes spans of the batches that servers are asked.
   *
   * @default none are made
   */
  readonly tracing?: Tracing | undefined;
  /**
   * What counters in memory have in common with those of other threads.
   *
   * @default nothing
   */
  readonly sharing?: StoreSharing | undefined;
}

/** A store that isn't started yet, or why the settings name none. */
type OpenStoreOutcome =
  | {
    /** Tells the outcomes apart. */
    readonly kind: "store";
    /** The store. */
    readonly store: CounterStore;
  }
  | {
    /** Tells the outcomes apart. */
    readonly kind: "invalid";
    /** One line that names the setting and what is wrong. */
    readonly problem: string;
  };

/**
 * Makes the store of `BACKEND_TYPE`, and puts the over-limit cache and the
 * failure policy in front of it. Where the type is unset, it is KVSTORE if
 * that has an address and memory otherwise.
 */
export async function openStore(
  settings: RateLimitSettings,
  parts: OpenStoreParts,
): Promise<OpenStoreOutcome> {
  const opened = await openBackend(settings, parts);
  if (opened.kind === "invalid") return opened;
  const store = tracedStore(opened.store, {
    type: backendOf(settings),
    tracing: parts.tracing,
  });
  const { stats, sharing } = parts;
  return layeredStore(store, { settings, stats, sharing });
}

type Backend = "memory" | "kvstore" | "altcache";

function backendOf({ backendType, kvstoreUrl }: RateLimitSettings): Backend {
  return backendType ?? (kvstoreUrl === "" ? "memory" : "kvstore");
}

/** Memory answers at once: a span of it would say nothing. */
function tracedStore(
  store: CounterStore,
  { type, tracing }: {
    readonly type: Backend;
    readonly tracing: Tracing | undefined;
  },
): CounterStore {
  if (tracing === undefined || type === "memory") return store;
  return new TracedStore({
    store,
    tracing,
    ...type === "kvstore"
      ? { spanName: "KVSTORE Pipeline Execution", system: "redis" }
      : { spanName: "ALTCACHE Fetch Execution", system: "memcached" },
  });
}

/** Connections of a candidate's store to each server. */
const CANDIDATE_POOL_SIZE = 2;

/**
 * Makes a store for a candidate's counters: of the same kind as the service's,
 * so that instances count together, but with connections and memory of its own,
 * so that nothing waits for it. It has no over-limit cache, and no policy: a
 * comparison that can't be made is not made up.
 */
export async function openCandidateStore(
  settings: RateLimitSettings,
  parts: OpenStoreParts,
): Promise<OpenStoreOutcome> {
  const backend = settings.backendType ??
    (settings.kvstoreUrl === "" ? "memory" : "kvstore");
  if (backend === "memory") {
    const { memoryMaxKeys: maxKeys, memoryFullMode: onFull } = settings;
    const store = new MemoryStore({
      maxKeys,
      onFull,
      ...sharedOptions("candidate", parts.sharing),
    });
    return { kind: "store", store };
  }
  const atMost = (size: number) => Math.min(size, CANDIDATE_POOL_SIZE);
  return await openBackend({
    ...settings,
    kvstorePoolSize: atMost(settings.kvstorePoolSize),
    perSecondPoolSize: atMost(settings.perSecondPoolSize),
  }, {
    ...parts,
    // No call waits for it, so it is no part of one.
    tracing: undefined,
    logger: candidateLogger(parts.logger),
    stats: candidateStats(parts.stats),
  });
}

/** `ratelimit.redis_pool.…` becomes `ratelimit.candidate.redis_pool.…`. */
function candidateStats(stats: Stats): Stats {
  const own = (name: string) => name.replace(/^ratelimit\./, "$&candidate.");
  return {
    counter: (name, segments) => stats.counter(own(name), segments),
    gauge: (name) => stats.gauge(own(name)),
    timer: (name) => stats.timer(own(name)),
  };
}

function candidateLogger(logger: Logger): Logger {
  const told = (level: keyof Logger): Logger["info"] => (message, fields) =>
    logger[level](message, { ...fields, of: "candidate" });
  return {
    debug: told("debug"),
    info: told("info"),
    warn: told("warn"),
    error: told("error"),
  };
}

async function openBackend(
  settings: RateLimitSettings,
  parts: OpenStoreParts,
): Promise<OpenStoreOutcome> {
  switch (backendOf(settings)) {
    case "memory":
      return { kind: "store", store: memoryStore(settings, parts) };
    case "kvstore":
      return await kvstoreStore(settings, parts);
    case "altcache":
      return await altcacheStore(settings, parts);
  }
}

function memoryStore(
  settings: RateLimitSettings,
  { logger, stats, sharing }: OpenStoreParts,
): CounterStore {
  const full = stats.gauge("ratelimit.memory.operations_when_full");
  // Other threads would say the same.
  if ((sharing?.thread ?? 0) === 0) {
    logger.warn(
      "Counters are kept in memory: limits hold for this process alone and " +
        "start from zero when it starts; set KVSTORE_URL to share them",
    );
  }
  return new MemoryStore({
    maxKeys: settings.memoryMaxKeys,
    onFull: settings.memoryFullMode,
    ...sharedOptions("counters", sharing),
    onBound: (fullTotal) => {
      full.set(fullTotal);
      logger.warn("Memory is full of counters near their limits", {
        fullTotal,
        memoryMaxKeys: settings.memoryMaxKeys,
        memoryFullMode: settings.memoryFullMode,
      });
    },
  });
}

/** The settings of one server. */
interface ServerSettings {
  /** What it is called in logs. */
  readonly name: string;
  /** What its connections are counted under. */
  readonly pool: "redis_pool" | "redis_per_second_pool";
  /** Names of the variable that holds the URL. */
  readonly variable: string;
  readonly url: string;
  readonly type: RedisTargetType;
  readonly socketType: "tcp" | "unix" | undefined;
  readonly auth: string;
  readonly sentinelAuth: string;
  readonly usesTls: boolean;
  readonly poolSize: number;
  readonly timeoutMs: number;
  readonly pipelineWindowMs: number;
  readonly pipelineLimit: number;
}

/** Opens the main server, and with `KVSTORE_PERSECOND` the second one. */
async function kvstoreStore(
  settings: RateLimitSettings,
  { clock, logger, stats, readText }: OpenStoreParts,
): Promise<OpenStoreOutcome> {
  const usesTls = settings.kvstoreTls ||
    (settings.perSecond && settings.perSecondTls);
  const files = usesTls
    ? await readTlsFiles({
      ca: settings.kvstoreTlsCaCert,
      cert: settings.kvstoreTlsClientCert,
      key: settings.kvstoreTlsClientKey,
      skipHostnameVerification: settings.kvstoreTlsSkipHostname,
    }, readText)
    : undefined;
  if (files?.kind === "invalid") return files;
  const common = { settings, clock, logger, stats, tls: files?.tls };
  const other = kvstoreServer(mainServer(settings), common);
  if (other.kind === "invalid" || !settings.perSecond) return other;
  const perSecond = kvstoreServer(perSecondServer(settings), common);
  if (perSecond.kind === "invalid") return perSecond;
  const store = new SplitStore({
    perSecond: perSecond.store,
    other: other.store,
  });
  return { kind: "store", store };
}

function kvstoreServer(
  server: ServerSettings,
  { settings, clock, logger, stats, tls }:
    & Pick<OpenStoreParts, "clock" | "logger" | "stats">
    & {
      readonly settings: RateLimitSettings;
      /** The TLS files, read; undefined when neither server uses TLS. */
      readonly tls: StoreTls | undefined;
    },
): OpenStoreOutcome {
  const { name, variable, url, type, socketType, usesTls } = server;
  const bad = (reason: string): OpenStoreOutcome => ({
    kind: "invalid",
    problem: `Cannot read settings: ${variable}: ${reason}`,
  });
  if (url === "") {
    return bad("it is not set; set it to host:port or a socket's path");
  }
  const parsed = parseRedisTarget(url, type, { usesTls, socketType });
  if (parsed.kind === "invalid") return bad(parsed.reason);
  if (usesTls && tls === undefined) {
    return bad("TLS is on and its files have not been read");
  }
  const store = new KvstoreStore({
    name,
    address: parsed.address,
    auth: parseRedisAuth(server.auth) ?? parsed.auth,
    sentinelAuth: parseRedisAuth(server.sentinelAuth),
    tls: usesTls ? tls : undefined,
    database: parsed.database,
    timeoutMs: server.timeoutMs,
    poolSize: server.poolSize,
    pipelineWindowMs: server.pipelineWindowMs,
    pipelineLimit: server.pipelineLimit,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    healthNeedsConnection: settings.kvstoreHealthNeedsConnection,
    tally: connectionTally(stats, server.pool),
    clock,
    logger,
  });
  return { kind: "store", store };
}

function mainServer(settings: RateLimitSettings): ServerSettings {
  return {
    name: "kvstore",
    pool: "redis_pool",
    variable: "KVSTORE_URL (REDIS_URL)",
    url: settings.kvstoreUrl,
    type: settings.kvstoreType,
    socketType: settings.kvstoreSocketType,
    auth: settings.kvstoreAuth,
    sentinelAuth: settings.kvstoreSentinelAuth,
    usesTls: settings.kvstoreTls,
    poolSize: settings.kvstorePoolSize,
    timeoutMs: settings.kvstoreTimeoutMs,
    pipelineWindowMs: settings.kvstorePipelineWindowMs,
    pipelineLimit: settings.kvstorePipelineLimit,
  };
}

function perSecondServer(settings: RateLimitSettings): ServerSettings {
  return {
    name: "kvstore for limits by the second",
    pool: "redis_per_second_pool",
    variable: "KVSTORE_PERSECOND_URL (REDIS_PERSECOND_URL)",
    url: settings.perSecondUrl,
    type: settings.perSecondType,
    socketType: settings.perSecondSocketType,
    auth: settings.perSecondAuth,
    sentinelAuth: settings.perSecondSentinelAuth,
    usesTls: settings.perSecondTls,
    poolSize: settings.perSecondPoolSize,
    timeoutMs: settings.perSecondTimeoutMs,
    pipelineWindowMs: settings.perSecondPipelineWindowMs,
    pipelineLimit: settings.perSecondPipelineLimit,
  };
}

/** Makes the store; the TLS files are read when TLS is on. */
async function altcacheStore(
  settings: RateLimitSettings,
  { clock, logger, stats, readText }: OpenStoreParts,
): Promise<OpenStoreOutcome> {
  const parsed = parseAltcacheSource({
    hostPort: settings.altcacheHostPort,
    srv: settings.altcacheSrv,
    srvRefreshMs: settings.altcacheSrvRefreshMs,
  });
  if (parsed.kind === "invalid") {
    const problem = "Cannot read settings: ALTCACHE_HOST_PORT and " +
      `ALTCACHE_SRV: ${parsed.reason}`;
    return { kind: "invalid", problem };
  }
  const files = settings.altcacheTls
    ? await readTlsFiles({
      ca: settings.altcacheTlsCaCert,
      cert: settings.altcacheTlsClientCert,
      key: settings.altcacheTlsClientKey,
      skipHostnameVerification: settings.altcacheTlsSkipHostname,
    }, readText)
    : undefined;
  if (files?.kind === "invalid") return files;
  const lost = stats.counter("ratelimit.altcache.increments_lost");
  const store = new AltcacheStore({
    source: parsed.source,
    tls: files?.tls,
    timeoutMs: settings.altcacheTimeoutMs,
    maxIdleConnections: settings.altcacheMaxIdleConnections,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    onIncrementError: (count) => lost.add(count),
    tally: altcacheTally(stats),
    clock,
    logger,
  });
  return { kind: "store", store };
}

/** The settings that the layers depend on. */
type LayerSettings = Pick<
  RateLimitSettings,
  | "localCacheBytes"
  | "localCacheMaxAgeMs"
  | "memoryMaxKeys"
  | "storeFailureMode"
  | "storeFailureModeByDomain"
>;

const MODES: readonly string[] = ["error", "allow", "deny", "local"];
const LEAST_CACHE_BYTES = 524_288;

/**
 * Puts the over-limit cache and the failure policy in front of `store`. The
 * policy stands outside, so that what it makes up is never remembered.
 */
function layeredStore(
  store: CounterStore,
  parts: {
    readonly settings: LayerSettings;
    readonly stats: Stats;
    readonly sharing: StoreSharing | undefined;
  },
): OpenStoreOutcome {
  const { settings, stats, sharing } = parts;
  const byDomain = new Map<string, StoreFailureMode>();
  for (const [domain, mode] of settings.storeFailureModeByDomain) {
    if (!isMode(mode)) {
      const problem = "Cannot read settings: STORE_FAILURE_MODE_BY_DOMAIN " +
        `has "${mode}" for "${domain}", expected one of ${MODES.join(", ")}`;
      return { kind: "invalid", problem };
    }
    byDomain.set(domain, mode);
  }
  const maybeCounted = stats.counter(
    "ratelimit.service.store_failure.maybe_counted",
  );
  const cached = settings.localCacheBytes === 0 ? store : new OverLimitCache({
    store,
    maxBytes: Math.max(LEAST_CACHE_BYTES, settings.localCacheBytes),
    maxAgeSeconds: settings.localCacheMaxAgeMs / 1000,
    stats,
  });
  return {
    kind: "store",
    store: new FailurePolicyStore({
      store: cached,
      local: new MemoryStore({
        maxKeys: settings.memoryMaxKeys,
        ...sharedOptions("local", sharing),
      }),
      mode: settings.storeFailureMode,
      byDomain,
      onFailure: (mode, { mayHaveCounted }) => {
        stats.counter(`ratelimit.service.store_failure.${mode}`).add();
        if (mayHaveCounted) maybeCounted.add();
      },
    }),
  };
}

function isMode(text: string): text is StoreFailureMode {
  return MODES.includes(text);
}
