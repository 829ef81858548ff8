/**
 * Rate limits of callers, in points: within a minute for each key, within a
 * minute and an hour for each account.
 *
 * Each instance decides from its memory. Where several share the store, each
 * adds its points to those of all every {@linkcode SHARED_SYNC_MS}, and reads
 * those of the callers that it has served since. So each knows all points that
 * are a second old. Together they let through at most a limit and the calls that
 * reach all of them within a second.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { RateWindow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { Caller } from "./authenticate.ts";
import {
  addPoints,
  MAX_MINUTES,
  MINUTE_MS,
  type MinutePoints,
  waitSeconds,
} from "./rate_windows.ts";

/** The limits by name, as released clients know them. */
export const RATE_LAYERS = [
  "delegate_key",
  "account_burst",
  "account_sustained",
] as const;

type RateLayer = typeof RATE_LAYERS[number];

/** The outcome of spending the points of a call. */
type RateOutcome =
  /** The call may go on; its points are spent. */
  | { readonly kind: "ok" }
  /** The call is over a limit; nothing is spent. */
  | {
    readonly kind: "limited";
    /** The limit with the longest wait. */
    readonly layer: RateLayer;
    /** The points that this limit allows. */
    readonly limit: number;
    /** Seconds until the call would succeed if no other call came. */
    readonly retryAfterSeconds: number;
  };

/** Options of {@linkcode RateLimits}. */
interface RateLimitsOptions {
  /** Points a minute of a key. */
  readonly keyPerMinute: number;
  /** Points a minute of an account. */
  readonly accountPerMinute: number;
  /** Points an hour of an account. */
  readonly accountPerHour: number;
  /** Measures the time. */
  readonly clock: Clock;
  /** Adds points to stored windows; called by {@linkcode RateLimits.flush}. */
  readonly persist: (windows: readonly RateWindow[]) => Promise<void>;
  /**
   * Reads the sums that are stored, with the points of other instances.
   *
   * @default no other instance spends points
   */
  readonly read?: RelayerStore["rateWindowsOf"] | undefined;
  /**
   * Most keys and accounts that are remembered; the one with the oldest call is
   * evicted first.
   *
   * @default {100000}
   */
  readonly maxNames?: number;
}

interface Layer {
  readonly layer: RateLayer;
  readonly minutes: number;
  readonly limit: number;
  /** Returns the name under which the limit counts the caller's points. */
  readonly toName: (caller: Caller) => string;
}

/** Most windows of one commit, and most names of one read. */
const FLUSH_WINDOWS = 1_000;

/**
 * Milliseconds between two calls of {@linkcode RateLimits.sync} where instances
 * share the store: points wait that long at most to be written, and again to be
 * read.
 */
export const SHARED_SYNC_MS = 500;

const nameOfKey = (caller: Caller): string => `k:${caller.publicKey}`;
const nameOfAccount = (caller: Caller): string => `a:${caller.accountId}`;

/** The points of a name. */
interface Spent {
  /** By minute, the earliest first. */
  readonly points: MinutePoints[];
  /** In which minute the sums of all instances were read last. */
  readMinute: number;
}

/**
 * Counts the points that callers spend. Only callers whose signature and
 * account are valid reach it, so strangers cannot make it grow.
 */
export class RateLimits {
  readonly #clock: Clock;
  readonly #persist: RateLimitsOptions["persist"];
  readonly #read: RateLimitsOptions["read"];
  readonly #maxNames: number;
  readonly #layers: readonly Layer[];
  /**
   * Points by name of key or account; the most recently used name comes last.
   */
  readonly #spent: BoundedMap<string, Spent>;
  /** Names that have spent points here since the sums were read last. */
  #active = new Set<string>();
  /** Points that were not stored yet, by minute and name. */
  #added = new Map<string, RateWindow>();

  /** Makes limits of which nothing is spent yet. */
  constructor(options: RateLimitsOptions) {
    this.#clock = options.clock;
    this.#persist = options.persist;
    this.#read = options.read;
    this.#maxNames = options.maxNames ?? 100_000;
    this.#spent = new BoundedMap({ maxEntries: this.#maxNames });
    const { keyPerMinute, accountPerMinute, accountPerHour } = options;
    this.#layers = [
      {
        layer: "delegate_key",
        minutes: 1,
        limit: keyPerMinute,
        toName: nameOfKey,
      },
      {
        layer: "account_burst",
        minutes: 1,
        limit: accountPerMinute,
        toName: nameOfAccount,
      },
      {
        layer: "account_sustained",
        minutes: 60,
        limit: accountPerHour,
        toName: nameOfAccount,
      },
    ];
  }

  /** The number of keys and accounts that are remembered. */
  get size(): number {
    return this.#spent.size;
  }

  /** The first minute since the epoch whose windows still count. */
  get firstMinute(): number {
    return this.#minute() - MAX_MINUTES;
  }

  /** Adds the windows that were stored before a restart. */
  load(windows: readonly RateWindow[]): void {
    for (const { name, minute, points } of windows) {
      if (minute >= this.firstMinute) {
        addPoints(this.#use(name).points, { minute, points });
      }
    }
  }

  /** Spends the points of a call, unless they exceed a limit. */
  take(caller: Caller, points: number): RateOutcome {
    const nowMs = this.#clock.nowMs();
    let [longest, waitFor]: [number, Layer | undefined] = [0, undefined];
    for (const layer of this.#layers) {
      const { minutes, limit } = layer;
      const spent = this.#spent.peek(layer.toName(caller))?.points ?? [];
      const seconds = waitSeconds(spent, { minutes, limit, nowMs, points });
      if (seconds > longest) [longest, waitFor] = [seconds, layer];
    }
    if (waitFor === undefined) {
      this.charge(caller, points);
      return { kind: "ok" };
    }
    const { layer, limit } = waitFor;
    return { kind: "limited", layer, limit, retryAfterSeconds: longest };
  }

  /**
   * Spends points that are known only after the call; they may exceed a limit,
   * and then the next calls wait.
   */
  charge(caller: Caller, points: number): void {
    if (!(points > 0)) return;
    const minute = this.#minute();
    for (const name of [nameOfKey(caller), nameOfAccount(caller)]) {
      addPoints(this.#use(name).points, { minute, points });
      this.#note({ name, minute, points });
      // Bounded, like the names in memory.
      if (this.#read !== undefined && this.#active.size < 2 * this.#maxNames) {
        this.#active.add(name);
      }
    }
  }

  /**
   * Stores the points that were spent since the last flush. Points that could
   * not be stored are tried again with the next flush; where that failed after
   * all was written, they count twice for others and after a restart.
   *
   * @throws {unknown} what `persist` throws
   */
  async flush(): Promise<void> {
    const added = [...this.#added.values()];
    this.#added = new Map();
    for (let from = 0; from < added.length; from += FLUSH_WINDOWS) {
      try {
        await this.#persist(added.slice(from, from + FLUSH_WINDOWS));
      } catch (error) {
        this.#putBack(added.slice(from));
        throw error;
      }
    }
  }

  /**
   * Stores the points that were spent here, and reads those of other instances
   * where there are any. Called in turn, never twice at a time.
   *
   * @throws {unknown} what `persist` and `read` throw; the next call makes up
   * for it
   */
  async sync(): Promise<void> {
    await this.flush();
    const read = this.#read;
    if (read === undefined) return;
    const minute = this.#minute();
    const byMinute = Map.groupBy(this.#active, (name) => {
      const readMinute = this.#spent.peek(name)?.readMinute ?? -Infinity;
      // Others may have added to the minute before since it was read.
      return Math.max(this.firstMinute, readMinute - 1);
    });
    for (const [fromMinute, names] of byMinute) {
      const minutes = Array.from(
        { length: minute - fromMinute + 1 },
        (_, at) => fromMinute + at,
      );
      for (let from = 0; from < names.length; from += FLUSH_WINDOWS) {
        const some = names.slice(from, from + FLUSH_WINDOWS);
        for (const name of some) this.#active.delete(name);
        try {
          this.#take(await read({ names: some, minutes }), some, minute);
        } catch (error) {
          for (const name of some) this.#active.add(name);
          throw error;
        }
      }
    }
  }

  /** Takes over sums, to which what is not stored yet is added. */
  #take(
    windows: readonly RateWindow[],
    names: readonly string[],
    readMinute: number,
  ): void {
    for (const { name, minute, points } of windows) {
      const spent = this.#spent.peek(name)?.points;
      if (spent === undefined) continue;
      const own = this.#added.get(toKey(name, minute))?.points ?? 0;
      const known = spent.find((one) => one.minute === minute)?.points ?? 0;
      addPoints(spent, { minute, points: points + own - known });
    }
    for (const name of names) {
      const spent = this.#spent.peek(name);
      if (spent !== undefined) spent.readMinute = readMinute;
    }
  }

  #putBack(windows: readonly RateWindow[]): void {
    for (const window of windows) {
      // Bounded, like the names in memory: these windows matter only to others
      // and after a restart.
      if (this.#added.size >= 2 * this.#maxNames) return;
      if (window.minute >= this.firstMinute) this.#note(window);
    }
  }

  #note({ name, minute, points }: RateWindow): void {
    const key = toKey(name, minute);
    const sum = points + (this.#added.get(key)?.points ?? 0);
    this.#added.set(key, { name, minute, points: sum });
  }

  /** Returns the points of a name, and marks the name as used now. */
  #use(name: string): Spent {
    const known = this.#spent.get(name);
    if (known !== undefined) return known;
    const spent: Spent = { points: [], readMinute: -Infinity };
    this.#spent.set(name, spent);
    return spent;
  }

  #minute(): number {
    return Math.floor(this.#clock.nowMs() / MINUTE_MS);
  }
}

function toKey(name: string, minute: number): string {
  return `${minute} ${name}`;
}
