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

/** Options of {@linkcode TransactionLimits}. */
interface TransactionLimitsOptions {
  /** Most transactions a minute, from one network address and of one sender. */
  readonly perMinute: number;
  /** Most transactions within 24 hours, of all senders together. */
  readonly perDay: number;
  /** Measures the time. */
  readonly clock: Clock;
}

interface Window {
  /** The number of the minute or the day, counted from the epoch. */
  readonly number: number;
  taken: number;
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
 * Counts transactions. The counts of addresses are in memory; the sum of a day
 * comes from the log.
 */
export class TransactionLimits {
  readonly #options: TransactionLimitsOptions;
  readonly #windows = new BoundedMap<string, Window>({
    maxEntries: MAX_ADDRESSES,
  });
  readonly #days = new BoundedMap<string, Window>({
    maxEntries: MAX_ADDRESSES,
  });

  /** Makes the limits of one ledger. */
  constructor(options: TransactionLimitsOptions) {
    this.#options = options;
  }

  /**
   * Counts a transaction whose signature was not checked yet.
   *
   * @param from The address of the connection.
   * @returns why the transaction is refused; undefined when it may go on.
   */
  takeFrom(from: string): string | undefined {
    return this.#take(`from ${from}`);
  }

  /**
   * Counts a transaction whose signature is valid, so that no stranger uses up
   * a sender's share.
   *
   * @param sender The sender's address on the ledger.
   * @returns why the transaction is refused; undefined when it may go on.
   */
  takeOf(sender: string): string | undefined {
    return this.#take(sender);
  }

  #take(key: string): string | undefined {
    const { perMinute } = this.#options;
    const window = this.#window(key);
    if (window.taken >= perMinute) {
      return `Cannot take transaction: ${perMinute} a minute are the most; ` +
        "try again in a minute";
    }
    window.taken++;
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
      return `Cannot take transaction: the ledger has taken ${perDay} within a ` +
        "day, which are the most; try again later";
    }
    const share = Math.max(1, Math.floor(perDay / ADDRESS_SHARE));
    return (this.#day(from)?.taken ?? 0) < share
      ? undefined
      : `Cannot take transaction: ${share} within a day are the most from one ` +
        "network address; try again later";
  }

  /** Counts a transaction that was written to the log. */
  noteKept(from: string): void {
    const day = this.#day(from);
    if (day !== undefined) day.taken++;
    else this.#days.set(from, { number: this.#dayNumber(), taken: 1 });
  }

  #day(from: string): Window | undefined {
    const day = this.#days.get(from);
    return day?.number === this.#dayNumber() ? day : undefined;
  }

  #dayNumber(): number {
    return Math.floor(this.#options.clock.nowMs() / DAY_MS);
  }

  #window(key: string): Window {
    const number = Math.floor(this.#options.clock.nowMs() / MINUTE_MS);
    const known = this.#windows.get(key);
    if (known?.number === number) return known;
    const window = { number, taken: 0 };
    this.#windows.set(key, window);
    return window;
  }
}
