/**
 * What the operations of a client work with.
 *
 * @module
 */

import type { ClientClock } from "./client_clock.ts";
import type { ResolvedConfig } from "./config.ts";
import type { Exchange } from "./exchange.ts";
import type { HttpExchange } from "./http_exchange.ts";
import { IdempotencyKeys } from "./idempotency_keys.ts";
import { OwnerLookup } from "./owner_lookup.ts";
import type { Ranking } from "./recall_types.ts";
import type { ReceiptKey } from "./receipt.ts";

/** What the operations of one client have in common. */
export interface ClientParts {
  /** Sends requests. */
  readonly exchange: Exchange;
  /** The namespace when a call names none. */
  readonly namespace: string;
  /** What ranks memories when a call names nothing; undefined for the relayer's choice. */
  readonly ranking: Ranking | undefined;
  /** Milliseconds that a request may take. */
  readonly requestTimeoutMs: number;
  /** Milliseconds that a recall may take. */
  readonly recallTimeoutMs: number;
  /** Milliseconds that a look at the relayer's state may take. */
  readonly preflightTimeoutMs: number;
  /** The time. */
  readonly clock: ClientClock;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Keys of writes that the relayer has not acknowledged yet. */
  readonly keys: IdempotencyKeys;
  /** Knows whose account it is. */
  readonly owner: OwnerLookup;
  /** Keys that receipts have to be signed with; undefined where none were named. */
  readonly receiptKeys: readonly ReceiptKey[] | undefined;
  /**
   * Whether the relayer can answer a look at a job as late as there is news of
   * it. It never fails.
   */
  readonly canAwaitStatus: () => Promise<boolean>;
  /**
   * Whether the relayer knows of rankings. It fails as the signed request would that
   * waits for the same: without the answer a ranking would be left out in silence.
   */
  readonly canRank: () => Promise<boolean>;
  /** Ends what waits, with the client. */
  readonly signal: AbortSignal;
}

const STATUS_WAIT_FLAG = "remember.statusWait";
const RANKING_FLAG = "recall.ranking";

/**
 * Returns what the operations of a client over `exchange` work with.
 *
 * @param signal ends what waits, with the client
 */
export function clientParts(
  exchange: HttpExchange,
  config: ResolvedConfig,
  signal: AbortSignal,
): ClientParts {
  const { namespace, requestTimeoutMs, recallTimeoutMs, clock } = config;
  return {
    exchange,
    namespace,
    ranking: config.ranking,
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
        // The signed request that follows fetches the contract, too, and reports
        // the failure to the caller.
        return false;
      }
    },
    canRank: async () => {
      const { featureFlags } = await exchange.contract();
      return featureFlags[RANKING_FLAG] === true;
    },
    receiptKeys: config.receiptKeys,
    signal,
  };
}
