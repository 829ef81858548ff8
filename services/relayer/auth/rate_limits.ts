/**
 * How often a caller may call: points within a minute for each key, within a
 * minute and within an hour for each account.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { RateWindow } from "../store/store.ts";
import type { Caller } from "./authenticate.ts";

/** Points spent within a minute. */
type MinutePoints = Pick<RateWindow, "minute" | "points">;

/** Milliseconds of a minute. */
const MINUTE_MS = 60_000;

/** Rounding must not turn the last point away. */
const EPSILON = 1e-9;

/**
 * Points within the last so many minutes. Of the minute that is leaving the
 * window the part counts that is still in it, as if its points had been spent
 * evenly.
 */
export function spentPoints(
  spent: readonly MinutePoints[],
  options: { readonly nowMs: number; readonly minutes: number },
): number {
  const now = Math.floor(options.nowMs / MINUTE_MS);
  const gone = options.nowMs / MINUTE_MS - now;
  const leaving = now - options.minutes;
  let sum = 0;
  for (const { minute, points } of spent) {
    if (minute > leaving && minute <= now) sum += points;
    if (minute === leaving) sum += points * (1 - gone);
  }
  return sum;
}

/**
 * Seconds until so many points more would fit; 0 when they fit now. What never
 * fits is told to come back when the window is empty.
 */
export function waitSeconds(
  spent: readonly MinutePoints[],
  options: Pick<Layer, "minutes" | "limit"> & {
    readonly nowMs: number;
    readonly points: number;
  },
): number {
  const { nowMs, minutes, limit, points } = options;
  const fits = (seconds: number): boolean =>
    spentPoints(spent, { nowMs: nowMs + seconds * 1_000, minutes }) + points <=
      limit + EPSILON;
  if (fits(0)) return 0;
  // Nothing is spent meanwhile, so what fits once fits ever after.
  let [tooSoon, enough] = [0, (minutes + 1) * 60];
  while (enough - tooSoon > 1) {
    const middle = (tooSoon + enough) >> 1;
    if (fits(middle)) enough = middle;
    else tooSoon = middle;
  }
  return enough;
}

/** What is limited; names as released clients know them. */
export const RATE_LAYERS = [
  "delegate_key",
  "account_burst",
  "account_sustained",
] as const;

type RateLayer = typeof RATE_LAYERS[number];

/** The outcome of a call. */
type RateOutcome =
  /** It may go on; its points are spent. */
  | { readonly kind: "ok" }
  /** It may not; nothing is spent. */
  | {
    readonly kind: "limited";
    /** The layer that has to be waited for longest. */
    readonly layer: RateLayer;
    /** What that layer allows. */
    readonly limit: number;
    /** Seconds until the call would go through if nothing else came. */
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
  /** Has windows written down; called by {@linkcode RateLimits.flush}. */
  readonly persist: (windows: readonly RateWindow[]) => Promise<void>;
  /**
   * Most keys and accounts that are remembered; the one that has called longest
   * ago is forgotten first.
   *
   * @default {100000}
   */
  readonly maxNames?: number;
}

interface Layer {
  readonly layer: RateLayer;
  readonly minutes: number;
  readonly limit: number;
  /** Whose points they are. */
  readonly nameOf: (caller: Caller) => string;
}

/** Minutes that the longest window reaches back, the one that is leaving too. */
const MAX_MINUTES = 61;
/** Windows of one commit. */
const FLUSH_WINDOWS = 1_000;

const nameOfKey = (caller: Caller): string => `k:${caller.publicKey}`;
const nameOfAccount = (caller: Caller): string => `a:${caller.accountId}`;

/**
 * Counts what callers spend. It only ever hears of callers whose signature and
 * account were checked, so strangers cannot make it grow.
 */
export class RateLimits {
  readonly #clock: Clock;
  readonly #persist: RateLimitsOptions["persist"];
  readonly #maxNames: number;
  readonly #layers: readonly Layer[];
  /** By name, the one that was used last at the end. */
  readonly #spent: BoundedMap<string, MinutePoints[]>;
  /** Windows that are not written down, by name and minute. */
  #changed = new Map<string, RateWindow>();

  /** Without any points spent. */
  constructor(options: RateLimitsOptions) {
    this.#clock = options.clock;
    this.#persist = options.persist;
    this.#maxNames = options.maxNames ?? 100_000;
    this.#spent = new BoundedMap({ maxEntries: this.#maxNames });
    const { keyPerMinute, accountPerMinute, accountPerHour } = options;
    this.#layers = [
      {
        layer: "delegate_key",
        minutes: 1,
        limit: keyPerMinute,
        nameOf: nameOfKey,
      },
      {
        layer: "account_burst",
        minutes: 1,
        limit: accountPerMinute,
        nameOf: nameOfAccount,
      },
      {
        layer: "account_sustained",
        minutes: 60,
        limit: accountPerHour,
        nameOf: nameOfAccount,
      },
    ];
  }

  /** How many keys and accounts are remembered. */
  get size(): number {
    return this.#spent.size;
  }

  /** The first minute since the epoch whose windows still count. */
  get firstMinute(): number {
    return this.#minute() - MAX_MINUTES;
  }

  /** Takes in what was written down before a restart. */
  load(windows: readonly RateWindow[]): void {
    for (const { name, minute, points } of windows) {
      if (minute >= this.firstMinute) {
        addPoints(this.#use(name), { minute, points });
      }
    }
  }

  /** Spends the points of a call, unless it is one too many. */
  take(caller: Caller, points: number): RateOutcome {
    const nowMs = this.#clock.nowMs();
    let [longest, waitFor]: [number, Layer | undefined] = [0, undefined];
    for (const layer of this.#layers) {
      const { minutes, limit } = layer;
      const spent = this.#spent.peek(layer.nameOf(caller)) ?? [];
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
   * Spends points for what a call turned out to be; this may go over what is
   * allowed, and the next calls wait for it.
   */
  charge(caller: Caller, points: number): void {
    if (!(points > 0)) return;
    const minute = this.#minute();
    for (const name of [nameOfKey(caller), nameOfAccount(caller)]) {
      const total = addPoints(this.#use(name), { minute, points });
      this.#changed.set(`${minute} ${name}`, { name, minute, points: total });
    }
  }

  /**
   * Has written down what changed since the last time. What could not be written
   * is tried again with the next call.
   *
   * @throws {unknown} what `persist` throws
   */
  async flush(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed = new Map();
    for (let from = 0; from < changed.length; from += FLUSH_WINDOWS) {
      const part = changed.slice(from, from + FLUSH_WINDOWS);
      try {
        await this.#persist(part.map(([, window]) => window));
      } catch (error) {
        this.#putBack(changed.slice(from));
        throw error;
      }
    }
  }

  #putBack(windows: readonly (readonly [string, RateWindow])[]): void {
    for (const [key, window] of windows) {
      // No more than is remembered: it is only there for a restart.
      if (this.#changed.size >= 2 * this.#maxNames) return;
      if (!this.#changed.has(key) && window.minute >= this.firstMinute) {
        this.#changed.set(key, window);
      }
    }
  }

  /** The points of a name, which counts as used now. */
  #use(name: string): MinutePoints[] {
    const known = this.#spent.get(name);
    if (known !== undefined) return known;
    const spent: MinutePoints[] = [];
    this.#spent.set(name, spent);
    return spent;
  }

  #minute(): number {
    return Math.floor(this.#clock.nowMs() / MINUTE_MS);
  }
}

/** Adds to a minute; answers with its sum, and forgets the oldest minutes. */
function addPoints(spent: MinutePoints[], added: MinutePoints): number {
  const { minute, points } = added;
  // Nearly always the last; another one only after a clock was set.
  const index = spent.findLastIndex((known) => known.minute === minute);
  const sum = points + (spent[index]?.points ?? 0);
  if (index === -1) spent.push({ minute, points: sum });
  else spent[index] = { minute, points: sum };
  if (spent.length > MAX_MINUTES + 1) spent.shift();
  return sum;
}
