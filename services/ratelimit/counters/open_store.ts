/**
 * The counter store that the settings ask for.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { Stats } from "../stats/stats.ts";
import { openAltcache } from "./altcache/open_altcache.ts";
import type { CounterStore } from "./counter_store.ts";
import { layeredStore } from "./layered_store.ts";
import type { OpenStoreOutcome } from "./open_outcome.ts";
import { createMemoryStore } from "./memory_store.ts";
import { openKvstore } from "./kvstore/open_kvstore.ts";
import { readTlsFiles } from "./tls_files.ts";

/** What stores need beside their settings. */
export interface OpenStoreParts {
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
  return opened.kind === "bad"
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
      "begin anew when it starts; set KVSTORE_URL to share them",
  );
  return createMemoryStore({
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
  if (files?.kind === "bad") return files;
  return openKvstore(settings, { clock, logger, tls: files?.tls });
}
