/**
 * Puts together what a client works with.
 *
 * @module
 */

import type { ClientParts } from "./client_parts.ts";
import type { ResolvedConfig } from "./config.ts";
import type { HttpExchange } from "./http_exchange.ts";
import { IdempotencyKeys } from "./idempotency_keys.ts";
import { OwnerLookup } from "./owner_lookup.ts";

const STATUS_WAIT_FLAG = "remember.statusWait";

/** Options of {@linkcode clientParts}. */
export interface ClientSetupOptions {
  /** What the client was made with. */
  readonly config: ResolvedConfig;
  /** Ends what waits, with the client. */
  readonly signal: AbortSignal;
}

/** Returns what the operations of a client over `exchange` work with. */
export function clientParts(
  exchange: HttpExchange,
  { config, signal }: ClientSetupOptions,
): ClientParts {
  const { namespace, requestTimeoutMs, recallTimeoutMs, clock } = config;
  return {
    exchange,
    namespace,
    requestTimeoutMs,
    recallTimeoutMs,
    preflightTimeoutMs: config.preflightTimeoutMs,
    clock,
    random: Math.random,
    keys: new IdempotencyKeys(),
    owner: new OwnerLookup({
      exchange,
      namespace,
      timeoutMs: requestTimeoutMs,
    }),
    canAwaitStatus: async () => {
      try {
        const { featureFlags } = await exchange.contract();
        return featureFlags[STATUS_WAIT_FLAG] === true;
      } catch {
        // The signed request that follows asks the same, and tells the caller.
        return false;
      }
    },
    signal,
  };
}
