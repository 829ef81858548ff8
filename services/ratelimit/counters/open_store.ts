/**
 * Opens the counter store that the settings ask for, with the TLS files it
 * needs.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { Stats } from "../stats/stats.ts";
import { openAltcache } from "./altcache/open_altcache.ts";
import type { CounterStore } from "./counter_store.ts";
import { openKvstore } from "./kvstore/open_kvstore.ts";
import { MemoryStore } from "./memory_store.ts";
import { OverLimitCache } from "./over_limit_cache.ts";
import { FailurePolicyStore, type StoreFailureMode } from "./store_failure.ts";

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
}

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
  return opened.kind === "invalid"
    ? opened
    : layeredStore(opened.store, { settings, stats: parts.stats });
}

async function openBackend(
  settings: RateLimitSettings,
  parts: OpenStoreParts,
): Promise<OpenStoreOutcome> {
  const type = settings.backendType ??
    (settings.kvstoreUrl === "" ? "memory" : "kvstore");
  switch (type) {
    case "memory":
      return { kind: "store", store: memoryStore(settings, parts) };
    case "kvstore":
      return await kvstoreStore(settings, parts);
    case "altcache":
      return await openAltcache(settings, parts);
  }
}

function memoryStore(
  settings: RateLimitSettings,
  { logger, stats }: OpenStoreParts,
): CounterStore {
  const full = stats.gauge("ratelimit.memory.operations_when_full");
  logger.warn(
    "Counters are kept in memory: limits hold for this process alone and " +
      "start from zero when it starts; set KVSTORE_URL to share them",
  );
  return new MemoryStore({
    maxKeys: settings.memoryMaxKeys,
    onFull: settings.memoryFullMode,
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

async function kvstoreStore(
  settings: RateLimitSettings,
  { clock, logger, readText }: OpenStoreParts,
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
  return openKvstore(settings, { clock, logger, tls: files?.tls });
}

/** A store that isn't started yet, or why the settings name none. */
export type OpenStoreOutcome =
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

/** Paths of PEM files; an empty one names none. */
interface TlsPaths {
  /** Certificates that sign the servers'. */
  readonly ca: string;
  /** The client's certificate. */
  readonly cert: string;
  /** The key of that. */
  readonly key: string;
  /** Whether the name in the server's certificate is not compared. */
  readonly skipHostnameVerification: boolean;
}

/** The same, read. */
export interface TlsMaterial {
  /** Certificates that sign the servers'; the system's without. */
  readonly caPem?: string;
  /** The client's certificate. */
  readonly certPem?: string;
  /** The key of that. */
  readonly keyPem?: string;
  /** Whether the name in the server's certificate is not compared. */
  readonly skipHostnameVerification: boolean;
}

/** The files, or which of them can't be read. */
type TlsFilesOutcome =
  | { readonly kind: "tls"; readonly tls: TlsMaterial }
  | { readonly kind: "invalid"; readonly problem: string };

/** Reads the files; a certificate without a key, or the reverse, is a fault. */
export async function readTlsFiles(
  paths: TlsPaths,
  readText: (path: string) => Promise<string>,
): Promise<TlsFilesOutcome> {
  if ((paths.cert === "") !== (paths.key === "")) {
    const problem = "Cannot use TLS: a client certificate and its key go " +
      "together, and only one of them is set";
    return { kind: "invalid", problem };
  }
  const read: Record<string, string> = {};
  for (
    const [name, path] of [
      ["caPem", paths.ca],
      ["certPem", paths.cert],
      ["keyPem", paths.key],
    ] as const
  ) {
    if (path === "") continue;
    try {
      read[name] = await readText(path);
    } catch (error) {
      const reason = describeError(error);
      return { kind: "invalid", problem: `Cannot read "${path}": ${reason}` };
    }
  }
  const { skipHostnameVerification } = paths;
  return { kind: "tls", tls: { ...read, skipHostnameVerification } };
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
  parts: { readonly settings: LayerSettings; readonly stats: Stats },
): OpenStoreOutcome {
  const { settings, stats } = parts;
  const byDomain = new Map<string, StoreFailureMode>();
  for (const [domain, mode] of settings.storeFailureModeByDomain) {
    if (!isMode(mode)) {
      const problem = "Cannot read settings: STORE_FAILURE_MODE_BY_DOMAIN " +
        `has "${mode}" for "${domain}", expected one of ${MODES.join(", ")}`;
      return { kind: "invalid", problem };
    }
    byDomain.set(domain, mode);
  }
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
      local: new MemoryStore({ maxKeys: settings.memoryMaxKeys }),
      mode: settings.storeFailureMode,
      byDomain,
      onFailure: (mode) =>
        stats.counter(`ratelimit.service.store_failure.${mode}`).add(),
    }),
  };
}

function isMode(text: string): text is StoreFailureMode {
  return MODES.includes(text);
}
