/**
 * Makes the counter store that the settings ask for.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Tracing } from "../../shared/telemetry/tracing.ts";
import type { Logger } from "../../shared/logger.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { Stats } from "../stats/stats.ts";
import { AltcacheStore } from "./altcache/altcache_store.ts";
import type { CounterStore } from "./counter_store.ts";
import { KvstoreStore } from "./kvstore/kvstore_store.ts";
import { MemoryStore } from "./memory_store.ts";
import { OverLimitCache } from "./over_limit_cache.ts";
import { sharedOptions, type StoreSharing } from "./shared_stores.ts";
import type { Backend, PlannedServer, StorePlan } from "./store_plan.ts";
import {
  altcacheTally,
  connectionTally,
  outageTally,
  TracedStore,
} from "./store_telemetry.ts";
import { FailurePolicyStore, SplitStore } from "./two_stores.ts";

/** What a store needs beside its plan. */
interface OpenStoreParts {
  /** The settings, for sizes, times and modes. */
  readonly settings: RateLimitSettings;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets log lines about connections and about a full memory. */
  readonly logger: Logger;
  /** Counts failures. */
  readonly stats: Stats;
  /**
   * Makes spans of the batches that are sent to servers.
   *
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
  /**
   * The memory in which threads keep counters together, and this thread's
   * number.
   *
   * @default counters of this thread alone
   */
  readonly sharing?: StoreSharing | undefined;
}

/**
 * Makes the store of a plan, with the over-limit cache and the failure policy
 * in front of it; the store is not started yet.
 */
export function openStore(
  plan: StorePlan,
  parts: OpenStoreParts,
): CounterStore {
  const store = tracedStore(backendStore(plan, parts), {
    type: plan.backend.kind,
    tracing: parts.tracing,
  });
  return layeredStore(store, { ...parts, failureModes: plan.failureModes });
}

/**
 * Makes spans of the batches of a store on servers. Memory answers at once: a
 * span of it would say nothing.
 */
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

/** Most connections that a candidate's store has to each server. */
const CANDIDATE_POOL_SIZE = 2;

/**
 * Makes a store for a candidate's counters: of the same kind as the service's,
 * so that instances count together, but with connections and memory of its own,
 * so that no request waits for it. It has no over-limit cache, and no failure
 * policy: a comparison that can't be made is not made up.
 */
export function openCandidateStore(
  plan: StorePlan,
  parts: OpenStoreParts,
): CounterStore {
  const { backend } = plan;
  const { settings, sharing } = parts;
  if (backend.kind === "memory") {
    const { memoryMaxKeys: maxKeys, memoryFullMode: onFull } = settings;
    const shared = sharedOptions("candidate", sharing);
    return new MemoryStore({ maxKeys, onFull, ...shared });
  }
  const own = (server: PlannedServer): PlannedServer => ({
    ...server,
    poolSize: Math.min(server.poolSize, CANDIDATE_POOL_SIZE),
  });
  return backendStore(
    backend.kind === "altcache" ? plan : {
      ...plan,
      backend: {
        kind: "kvstore",
        other: own(backend.other),
        perSecond: backend.perSecond && own(backend.perSecond),
      },
    },
    {
      ...parts,
      // No call waits for this store, so its batches belong to no call's trace.
      tracing: undefined,
      logger: candidateLogger(parts.logger),
      stats: candidateStats(parts.stats),
    },
  );
}

/**
 * Renames statistics: `ratelimit.redis_pool.…` becomes
 * `ratelimit.candidate.redis_pool.…`.
 */
function candidateStats(stats: Stats): Stats {
  const own = (name: string) => name.replace(/^ratelimit\./, "$&candidate.");
  return {
    counter: (name, origin) => stats.counter(own(name), origin),
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

function backendStore(
  { backend }: StorePlan,
  parts: OpenStoreParts,
): CounterStore {
  switch (backend.kind) {
    case "memory":
      return memoryStore(parts);
    case "kvstore": {
      const other = kvstoreServer(backend.other, parts);
      return backend.perSecond === undefined ? other : new SplitStore({
        perSecond: kvstoreServer(backend.perSecond, parts),
        other,
      });
    }
    case "altcache":
      return altcacheStore(backend, parts);
  }
}

function memoryStore(
  { settings, logger, stats, sharing }: OpenStoreParts,
): CounterStore {
  const full = stats.gauge("ratelimit.memory.operations_when_full");
  // Only the first thread warns: the others would say the same.
  if ((sharing?.thread ?? 0) === 0) {
    logger.warn(
      "Counters are kept in memory: limits apply only to this process and " +
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

function kvstoreServer(
  { pool, ...server }: PlannedServer,
  { settings, clock, logger, stats }: OpenStoreParts,
): CounterStore {
  return new KvstoreStore({
    ...server,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    healthNeedsConnection: settings.kvstoreHealthNeedsConnection,
    probePrefix: settings.cacheKeyPrefix,
    tally: connectionTally(stats, pool),
    outageTally: outageTally(stats, pool),
    clock,
    logger,
  });
}

function altcacheStore(
  { source, tls }: Extract<
    StorePlan["backend"],
    { readonly kind: "altcache" }
  >,
  { settings, clock, logger, stats }: OpenStoreParts,
): CounterStore {
  const lost = stats.counter("ratelimit.altcache.increments_lost");
  return new AltcacheStore({
    source,
    tls,
    timeoutMs: settings.altcacheTimeoutMs,
    maxIdleConnections: settings.altcacheMaxIdleConnections,
    expirationJitterMaxSeconds: settings.expirationJitterMaxSeconds,
    onIncrementError: (count) => lost.add(count),
    tally: altcacheTally(stats),
    outageTally: outageTally(stats, "memcache"),
    clock,
    logger,
  });
}

const LEAST_CACHE_BYTES = 524_288;

/**
 * Puts the over-limit cache and the failure policy in front of `store`. The
 * policy is outside the cache, so that answers it makes up are never
 * remembered.
 */
function layeredStore(
  store: CounterStore,
  { settings, stats, sharing, failureModes }: OpenStoreParts & {
    readonly failureModes: StorePlan["failureModes"];
  },
): CounterStore {
  const maybeCounted = stats.counter(
    "ratelimit.service.store_failure.maybe_counted",
  );
  const cached = settings.localCacheBytes === 0 ? store : new OverLimitCache({
    store,
    maxBytes: Math.max(LEAST_CACHE_BYTES, settings.localCacheBytes),
    maxAgeSeconds: settings.localCacheMaxAgeMs / 1000,
    stats,
  });
  return new FailurePolicyStore({
    store: cached,
    local: new MemoryStore({
      maxKeys: settings.memoryMaxKeys,
      ...sharedOptions("local", sharing),
    }),
    mode: settings.storeFailureMode,
    byDomain: failureModes,
    onFailure: (mode, { mayHaveCounted }) => {
      stats.counter(`ratelimit.service.store_failure.${mode}`).add();
      if (mayHaveCounted) maybeCounted.add();
    },
  });
}
