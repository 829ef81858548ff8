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
export interface TransactionLimitsOptions {
  /** Transactions a minute from one address of the network, and of one sender. */
  readonly perMinute: number;
  /** Transactions within 24 hours, from all together. */
  readonly perDay: number;
  /** Measures the time. */
  readonly clock: Clock;
}

interface Window {
  /** Which minute it is, counted from the epoch. */
  readonly minute: number;
  taken: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Addresses that are remembered; of more, those seen longest ago get a new minute. */
const MAX_ADDRESSES = 10_000;

/** Bounds transactions. Counts within a minute are in memory, those of a day in the log. */
export class TransactionLimits {
  readonly #options: TransactionLimitsOptions;
  readonly #windows = new BoundedMap<string, Window>({
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
   * Tells why no further transaction of anyone is taken; undefined while there is
   * room.
   */
  fullness(
    log: Pick<LedgerLog, "transactionsSince">,
    nowMs: number,
  ): string | undefined {
    const { perDay } = this.#options;
    return log.transactionsSince(nowMs - DAY_MS) < perDay
      ? undefined
      : `Cannot take transaction: the ledger has taken ${perDay} within a ` +
        "day, which are the most; try again later";
  }

  #window(key: string): Window {
    const minute = Math.floor(this.#options.clock.nowMs() / MINUTE_MS);
    const known = this.#windows.get(key);
    if (known?.minute === minute) return known;
    const window = { minute, taken: 0 };
    this.#windows.set(key, window);
    return window;
  }
}
