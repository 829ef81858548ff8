/**
 * How much of the embedded ledger strangers may fill: everybody may send
 * transactions there, and they cost nothing, so their number is bounded.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { LedgerLog } from "./ledger_log.ts";

/** Options of {@linkcode TransactionLimits}. */
interface TransactionLimitsOptions {
  /** Transactions a minute from one address of the network, and of one sender. */
  readonly perMinute: number;
  /** Transactions within 24 hours, from all together. */
  readonly perDay: number;
  /** Measures the time. */
  readonly clock: Clock;
}

interface Window {
  /** Which minute or day it is, counted from the epoch. */
  readonly number: number;
  taken: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Addresses that are remembered; of more, those seen longest ago get a new minute. */
const MAX_ADDRESSES = 10_000;
/** What one address may have of a day's transactions, as a part of them. */
const ADDRESS_SHARE = 10;

/**
 * Bounds transactions. What addresses have taken is in memory, the sum of a day in
 * the log.
 */
export class TransactionLimits {
  readonly #options: TransactionLimitsOptions;
  readonly #windows = new BoundedMap<string, Window>({
    maxEntries: MAX_ADDRESSES,
  });
  readonly #days = new BoundedMap<string, Window>({
    maxEntries: MAX_ADDRESSES,
  });

  /** Limits of one ledger. */
  constructor(options: TransactionLimitsOptions) {
    this.#options = options;
  }

  /**
   * Counts a transaction whose signature was not checked yet.
   *
   * @param from The address of the connection.
   * @returns why it is refused; undefined when it may be carried out.
   */
  takeFrom(from: string): string | undefined {
    return this.#take(`from ${from}`);
  }

  /**
   * Counts a transaction that its sender has signed, so that no stranger uses up
   * what a sender has.
   *
   * @param sender The sender's address on the ledger.
   * @returns why it is refused; undefined when it may be carried out.
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
   * Tells why a transaction is not kept; undefined while there is room. One that
   * withdraws access is kept nevertheless: each was preceded by one that gave it.
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

  /** Counts a transaction that is kept. */
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
