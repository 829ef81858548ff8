/**
 * The starts that count for rates: at most a number of starts within any
 * period. The store keeps them, so that all instances count together and a
 * restart forgets none; each instance remembers what it has read of them.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { CountedStarts, Store } from "../store/store.ts";
import type { WorkerName } from "../store/queries.ts";

/** A limit on starts. */
export interface RateBound {
  /** The most starts within the period. */
  readonly count: number;
  /** The length of the period, in milliseconds. */
  readonly periodMs: number;
}

/** The recent starts, as far as they still count for the limit. */
export class RateWindow {
  /** Times of the last starts, oldest first. */
  #starts: number[] = [];

  /** How many starts it remembers. */
  get size(): number {
    return this.#starts.length;
  }

  /**
   * How many tasks may start now.
   *
   * @param kept the bound whose starts are remembered, if others need more
   */
  room(bound: RateBound, nowMs: number, kept = bound): number {
    this.#forget(kept, nowMs);
    return Math.max(0, bound.count - this.#startsWithin(bound, nowMs));
  }

  /**
   * When the next task may start; `nowMs` when it may start now. For `kept` see
   * {@linkcode room}.
   */
  nextAtMs(bound: RateBound, nowMs: number, kept = bound): number {
    this.#forget(kept, nowMs);
    if (this.#startsWithin(bound, nowMs) < bound.count) return nowMs;
    const start = this.#starts[this.#starts.length - bound.count];
    return (start ?? nowMs) + bound.periodMs;
  }

  /**
   * Counts starts, even ones beyond the limit, which came after all that were
   * counted before. One that seems to be later dates from before the clock was
   * set back, and counts as one of this time.
   */
  add(bound: RateBound, atMs: number, count = 1): void {
    const starts = this.#starts;
    for (let last = starts.length - 1; (starts[last] ?? 0) > atMs; last--) {
      starts[last] = atMs;
    }
    const wanted = Math.min(count, bound.count);
    for (let added = 0; added < wanted; added++) starts.push(atMs);
    // Only the last `count` starts matter. Older ones are dropped in bulk,
    // since each drop moves all others.
    const excess = this.#starts.length - bound.count;
    if (excess > bound.count) this.#starts.splice(0, excess);
  }

  #startsWithin({ periodMs }: RateBound, nowMs: number): number {
    const first = this.#starts.findIndex((start) => start > nowMs - periodMs);
    return first < 0 ? 0 : this.#starts.length - first;
  }

  #forget({ periodMs }: RateBound, nowMs: number): void {
    const [first = Infinity] = this.#starts;
    const last = this.#starts.at(-1) ?? -Infinity;
    if (first > nowMs - periodMs && last <= nowMs) return;
    // A start in the future dates from before the clock was set back. It counts
    // as one of now, or the limit would be exceeded.
    this.#starts = this.#starts.filter((start) => start > nowMs - periodMs)
      .map((start) => Math.min(start, nowMs));
  }
}

/**
 * The most starts that are remembered of a worker's groups, each group counted
 * as {@linkcode GROUP_WEIGHT} more. Beyond that, the group that has started
 * nothing for longest is forgotten, and read again when it comes up.
 */
const MAX_WEIGHT = 2_000_000;
const GROUP_WEIGHT = 20;
/** How many entries are read at once, which takes some milliseconds. */
const PAGE = 2_000;
/**
 * The most pages of what was added that are read. An instance that is further
 * behind begins again, which reads the groups that come up only.
 */
const MAX_PAGES = 5;

/** Options of {@linkcode RateWindows}. */
interface RateWindowsOptions extends WorkerName {
  /**
   * The most starts that are remembered, with twenty for each group.
   *
   * @default {2000000}
   */
  readonly maxWeight?: number;
}

/**
 * The windows of a worker and its groups, or of the groups that workers of a
 * tenant share. They only hold what was read of the store: all of a group when
 * it comes up, and what was added since with each claim. So it makes no
 * difference which instance added it, how many groups there are, and how much
 * was started before a restart.
 */
export class RateWindows {
  readonly #of: WorkerName;
  readonly #windows: BoundedMap<string, RateWindow>;
  #kept: RateBound = { count: 0, periodMs: 0 };
  /** The last entry that the windows know of; undefined when there are none. */
  #lastNumber: number | undefined;

  /** Takes the worker; an id that is empty stands for those that share. */
  constructor({ tenantId, workerId, ...options }: RateWindowsOptions) {
    this.#of = { tenantId, workerId };
    this.#windows = new BoundedMap({
      maxEntries: Infinity,
      maxWeight: options.maxWeight ?? MAX_WEIGHT,
      weigh: ({ size }) => size + GROUP_WEIGHT,
    });
  }

  /** Forgets what was read, because the store may have another past by now. */
  forget(): void {
    this.#windows.clear();
    this.#lastNumber = undefined;
  }

  /**
   * Reads what was added to the starts of known groups.
   *
   * @param kept the bound that covers all those that are asked for
   * @returns the store's time
   * @throws {StoreFailedError} when the store fails
   */
  async follow(
    source: Pick<Store, "starts">,
    kept: RateBound,
  ): Promise<number> {
    if (!isSame(this.#kept, kept)) {
      this.forget();
      this.#kept = kept;
    }
    for (let pages = 0; this.#lastNumber !== undefined; pages++) {
      const { starts, nowMs } = await source.starts({
        ...this.#of,
        afterNumber: this.#lastNumber,
        limit: PAGE,
      });
      for (const counted of starts) this.#add(counted);
      if (starts.length < PAGE) return nowMs;
      if (pages === MAX_PAGES) this.forget();
    }
    const { starts: [last], nowMs } = await source.starts({
      ...this.#of,
      afterNumber: 0,
      end: "last",
      limit: 1,
    });
    this.#lastNumber = last?.number ?? 0;
    return nowMs;
  }

  /**
   * Reads the starts of groups that are not known.
   *
   * @throws {StoreFailedError} when the store fails
   */
  async learn(
    source: Pick<Store, "starts">,
    groups: Iterable<string>,
  ): Promise<void> {
    // Those that are known are used now, so that others are forgotten for these.
    const unknown = [...groups].filter((group) =>
      this.#windows.get(group) === undefined
    );
    const learning = await Promise.allSettled(unknown.map(async (group) => {
      const { starts } = await source.starts({
        ...this.#of,
        group,
        afterNumber: 0,
        end: "last",
        limit: this.#kept.count,
      });
      const window = new RateWindow();
      for (const { number, atMs, count } of starts) {
        // What comes after it is added when it is followed.
        if (number > (this.#lastNumber ?? 0)) break;
        window.add(this.#kept, atMs, count);
      }
      this.#windows.set(group, window);
    }));
    // Nothing is asked when a failure has ended the claim.
    for (const outcome of learning) {
      if (outcome.status === "rejected") throw outcome.reason;
    }
  }

  /**
   * How many tasks of a group may start now, by a bound that is covered;
   * undefined when the group is not known.
   */
  room(group: string, bound: RateBound, nowMs: number): number | undefined {
    return this.#windows.peek(group)?.room(bound, nowMs, this.#kept);
  }

  /**
   * When the next task of a group may start; `nowMs` when it may now, or the
   * group is not known.
   */
  nextAtMs(group: string, bound: RateBound, nowMs: number): number {
    return this.#windows.peek(group)?.nextAtMs(bound, nowMs, this.#kept) ??
      nowMs;
  }

  #add({ number, group, atMs, count }: CountedStarts): void {
    this.#lastNumber = number;
    const window = this.#windows.get(group);
    if (window === undefined) return;
    window.add(this.#kept, atMs, count);
    this.#windows.set(group, window);
  }
}

function isSame(one: RateBound, other: RateBound): boolean {
  return one.count === other.count && one.periodMs === other.periodMs;
}
