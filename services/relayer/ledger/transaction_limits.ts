/**
 * Limits on the number of transactions that the embedded ledger takes:
 * everybody may send transactions, and they cost nothing, so strangers could
 * fill the log.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { LedgerLog } from "./ledger_log.ts";

/** Counts the transactions of a day by the network address they came from. */
export interface AddressCounts {
  /** How many of this day came from an address. */
  of(address: string): number;
  /**
   * Makes what is called when a transaction from an address was applied; it is
   * counted once, however often it is applied.
   */
  counter(address: string): () => void;
}

/** Options of {@linkcode TransactionLimits}. */
interface TransactionLimitsOptions {
  /** Most transactions a minute, from one network address and of one sender. */
  readonly perMinute: number;
  /** Most transactions within 24 hours, of all senders together. */
  readonly perDay: number;
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * Counts transactions by address.
   *
   * @default counts of this process, in memory
   */
  readonly addresses?: AddressCounts | undefined;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/**
 * Most addresses that are remembered; beyond it the one seen longest ago is
 * evicted, and its count begins again.
 */
const MAX_ADDRESSES = 10_000;
/** An address may use one of this many equal parts of a day's transactions. */
const ADDRESS_SHARE = 10;

/**
 * How many transactions each key has within the current window, counted from
 * the epoch.
 */
class WindowCounts implements AddressCounts {
  readonly #clock: Clock;
  readonly #spanMs: number;
  readonly #counts = new BoundedMap<
    string,
    { readonly window: number; readonly taken: number }
  >({ maxEntries: MAX_ADDRESSES });

  constructor(clock: Clock, spanMs: number) {
    this.#clock = clock;
    this.#spanMs = spanMs;
  }

  get #window(): number {
    return Math.floor(this.#clock.nowMs() / this.#spanMs);
  }

  of(key: string): number {
    const count = this.#counts.get(key);
    return count?.window === this.#window ? count.taken : 0;
  }

  add(key: string): void {
    const taken = this.of(key) + 1;
    this.#counts.set(key, { window: this.#window, taken });
  }

  counter(key: string): () => void {
    let isCounted = false;
    return () => {
      if (!isCounted) this.add(key);
      isCounted = true;
    };
  }
}

/**
 * Counts transactions. The counts of a minute are in memory; the sum of a day
 * comes from the log.
 */
export class TransactionLimits {
  readonly #options: TransactionLimitsOptions;
  readonly #minutes: WindowCounts;
  readonly #days: AddressCounts;

  /** Makes the limits of one ledger. */
  constructor(options: TransactionLimitsOptions) {
    this.#options = options;
    this.#minutes = new WindowCounts(options.clock, MINUTE_MS);
    this.#days = options.addresses ??
      new WindowCounts(options.clock, DAY_MS);
  }

  /**
   * Counts a transaction within a minute.
   *
   * @param key Who sends it: `from` and the address of the connection before
   * the signature was checked; the sender's address on the ledger after it, so
   * that no stranger uses up a sender's share.
   * @returns why the transaction is refused; undefined when it may go on.
   */
  take(key: string): string | undefined {
    const { perMinute } = this.#options;
    if (this.#minutes.of(key) >= perMinute) {
      return `Cannot accept transaction: ${perMinute} a minute are the most; ` +
        "try again in a minute";
    }
    this.#minutes.add(key);
    return undefined;
  }

  /**
   * Returns why a transaction does not fit into the log's limits; undefined
   * while there is room. Callers take a withdrawal of access nevertheless: each
   * one is preceded by a transaction that gave the access.
   */
  fullness(
    log: Pick<LedgerLog, "transactionsSince">,
    { nowMs, from }: { readonly nowMs: number; readonly from: string },
  ): string | undefined {
    const { perDay } = this.#options;
    if (log.transactionsSince(nowMs - DAY_MS) >= perDay) {
      return `Cannot accept transaction: the ledger has taken ${perDay} ` +
        "within a day, which are the most; try again later";
    }
    const share = Math.max(1, Math.floor(perDay / ADDRESS_SHARE));
    return this.#days.of(from) < share
      ? undefined
      : `Cannot accept transaction: ${share} within a day are the most from ` +
        "one network address; try again later";
  }

  /** Makes what counts a transaction that was written to the log. */
  counter(from: string): () => void {
    return this.#days.counter(from);
  }
}
