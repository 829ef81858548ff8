/**
 * Parts of a client for tests of single operations.
 *
 * @module
 */

import { CallerSignals } from "../caller_signals.ts";
import type { ClientParts } from "../client_parts.ts";
import { IdempotencyKeys } from "../idempotency_keys.ts";
import { OwnerLookup } from "../owner_lookup.ts";
import { InstantClock } from "./instant_clock.ts";
import { StubRelayer } from "./stub_relayer.ts";

/** {@linkcode ClientParts} over stand-ins, with the defaults of a client. */
export interface StubParts extends ClientParts {
  /** Answers requests by script. */
  readonly exchange: StubRelayer;
  /** Tells the time. */
  readonly clock: InstantClock;
}

/** Creates parts over stand-ins; delays have no jitter. */
export function stubParts(changes: Partial<StubParts> = {}): StubParts {
  const exchange = changes.exchange ?? new StubRelayer();
  const namespace = changes.namespace ?? "default";
  return {
    exchange,
    namespace,
    ranking: undefined,
    requestTimeoutMs: 30_000,
    recallTimeoutMs: 15_000,
    preflightTimeoutMs: 5_000,
    clock: new InstantClock(),
    random: () => 0.5,
    keys: new IdempotencyKeys(),
    owner: new OwnerLookup({ exchange, namespace, timeoutMs: 30_000 }),
    receiptKeys: undefined,
    canAwaitStatus: () => Promise.resolve(false),
    canRank: () => Promise.resolve(true),
    callers: new CallerSignals(),
    signal: new AbortController().signal,
    ...changes,
  };
}
