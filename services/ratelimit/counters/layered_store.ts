/**
 * A counter store with what the settings put around it.
 *
 * @module
 */

import type { Stats } from "../stats/stats.ts";
import type { RateLimitSettings } from "../settings.ts";
import type { CounterStore } from "./counter_store.ts";
import { createMemoryStore } from "./memory_store.ts";
import type { OpenStoreOutcome } from "./open_store.ts";
import { OverLimitCache } from "./over_limit_cache.ts";
import { FailurePolicyStore, type StoreFailureMode } from "./store_failure.ts";

/** The settings that the layers depend on. */
export type LayerSettings = Pick<
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
export function layeredStore(
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
      local: createMemoryStore({ maxKeys: settings.memoryMaxKeys }),
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
