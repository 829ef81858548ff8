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

/** Whom a transaction is from. */
interface TransactionOrigin {
  /** The address of the connection. */
  readonly from: string;
  /** The sender's address on the ledger. */
  readonly sender: string;
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
   * Counts a transaction.
   *
   * @returns why it is refused; undefined when it may be carried out.
   */
  take({ from, sender }: TransactionOrigin): string | undefined {
    const { perMinute } = this.#options;
    const windows = [this.#window(`from ${from}`), this.#window(sender)];
    if (windows.some(({ taken }) => taken >= perMinute)) {
      return `Cannot take transaction: ${perMinute} a minute are the most; ` +
        "try again in a minute";
    }
    for (const window of windows) window.taken++;
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
