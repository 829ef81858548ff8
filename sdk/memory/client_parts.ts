/**
 * The parts that all operations of one client share, such as its exchange,
 * namespace and deadlines.
 *
 * @module
 */

import { CallerSignals } from "./caller_signals.ts";
import { combineSignals, type EndSignal, throwIfEnded } from "./life.ts";
import type { ClientClock } from "./client_clock.ts";
import type { ResolvedConfig } from "./config.ts";
import type { Exchange } from "./exchange.ts";
import type { HttpExchange } from "./http_exchange.ts";
import { IdempotencyKeys } from "./idempotency_keys.ts";
import { OwnerLookup } from "./owner_lookup.ts";
import type { Ranking, RankingOptions } from "./recall_types.ts";
import type { ReceiptKey } from "./receipt.ts";

/** The parts that all operations of one client share. */
export interface ClientParts {
  /** Sends requests. */
  readonly exchange: Exchange;
  /** The namespace of calls that name none. */
  readonly namespace: string;
  /**
   * The ranking of calls that name none; undefined leaves it to the relayer.
   */
  readonly ranking: Ranking | undefined;
  /** Milliseconds that a request may take. */
  readonly requestTimeoutMs: number;
  /** Milliseconds that a recall may take. */
  readonly recallTimeoutMs: number;
  /** Timeout in milliseconds of a request for the relayer's state. */
  readonly preflightTimeoutMs: number;
  /** Tells the time and sets timers. */
  readonly clock: ClientClock;
  /** Returns a random number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Idempotency keys of writes that the relayer has not acknowledged yet. */
  readonly keys: IdempotencyKeys;
  /** Finds the owner of the account. */
  readonly owner: OwnerLookup;
  /**
   * The keys that receipts have to be signed with; undefined when the
   * configuration names none.
   */
  readonly receiptKeys: readonly ReceiptKey[] | undefined;
  /**
   * Whether the relayer can delay the answer about a job's state until the
   * state changes. Never rejects: an error counts as no.
   */
  readonly canAwaitStatus: () => Promise<boolean>;
  /**
   * Whether the relayer offers a choice of ranking. Rejects when the relayer
   * cannot be reached or does not fit this client, as the signed request would;
   * otherwise the ranking would be left out without notice.
   */
  readonly canRank: () => Promise<boolean>;
  /** The signals of callers. */
  readonly callers: CallerSignals;
  /** Aborts when the client is destroyed, and ends its waits. */
  readonly signal: EndSignal;
}

const STATUS_WAIT_FLAG = "remember.statusWait";
const RANKING_FLAG = "recall.ranking";

/**
 * Returns the parts of a client that sends its requests with `exchange`.
 *
 * @param signal aborts when the client is destroyed
 */
export function clientParts(
  exchange: HttpExchange,
  config: ResolvedConfig,
  signal: EndSignal,
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
        // The signed request that follows fetches the relayer's contract, too,
        // and reports the failure to the caller.
        return false;
      }
    },
    canRank: async () => {
      const { featureFlags } = await exchange.contract();
      return featureFlags[RANKING_FLAG] === true;
    },
    receiptKeys: config.receiptKeys,
    callers: new CallerSignals(),
    signal,
  };
}

/**
 * Returns the parts for a call that its caller may end: its requests and waits
 * end with the caller's signal, too.
 */
export function partsUntil(
  parts: ClientParts,
  signal: AbortSignal | undefined,
): ClientParts {
  if (signal === undefined) return parts;
  const caller = parts.callers.of(signal);
  throwIfEnded(caller);
  const { exchange } = parts;
  return {
    ...parts,
    exchange: {
      send: (request) => exchange.send({ signal: caller, ...request }),
    },
    signal: combineSignals(parts.signal, caller),
  };
}

/**
 * Returns the members of a request's body that ask for a ranking or an
 * explanation; none for a relayer that does not offer them. The relayer's
 * features are only read when the call asks for either.
 *
 * @throws {MemError} When the relayer cannot be reached, or is not compatible
 * with this client.
 */
export async function rankingMembers(
  parts: ClientParts,
  options: RankingOptions,
): Promise<RankingOptions> {
  const ranking = options.ranking ?? parts.ranking;
  const explain = options.explain === true ? true : undefined;
  const isPlain = ranking === undefined && explain === undefined;
  return isPlain || !await parts.canRank() ? {} : { ranking, explain };
}
