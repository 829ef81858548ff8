/**
 * The rate limit of a worker, for the whole worker or for each group: at most a
 * number of starts within any period.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { WorkerDefinition } from "../domain/records.ts";

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

  /** Counts a start, even one beyond the limit. */
  add(bound: RateBound, nowMs: number): void {
    this.#starts.push(nowMs);
    // Only the last `count` starts matter. Older ones are dropped in bulk,
    // since each drop moves all others.
    const excess = this.#starts.length - bound.count;
    if (excess > bound.count) this.#starts.splice(0, excess);
  }

  /** Whether no start counts for the limit. */
  isIdle(bound: RateBound, nowMs: number): boolean {
    this.#forget(bound, nowMs);
    return this.#starts.length === 0;
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

type WorkerRate = NonNullable<NonNullable<WorkerDefinition["limits"]>["rate"]>;

/**
 * The most groups whose starts are remembered. Beyond that, the group that has
 * started nothing for longest is evicted: it may exceed its rate, but memory is
 * bounded.
 */
export const MAX_GROUPS = 10_000;

/**
 * The rate limiter of a worker. It remembers starts in memory only: after a
 * restart the limit counts from zero.
 */
export class WorkerRates {
  readonly #all = new RateWindow();
  readonly #groups = new BoundedMap<string, RateWindow>({
    maxEntries: MAX_GROUPS,
  });
  #rate: WorkerRate | undefined;

  /** How many tasks of the worker may start now. */
  room(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    this.#rate = rate;
    if (rate === undefined || rate.per !== "worker") return Infinity;
    return this.#all.room(rate, nowMs);
  }

  /** How many tasks of a group may start now. */
  groupRoom(worker: WorkerDefinition, group: string, nowMs: number): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "group") return Infinity;
    return this.#groups.peek(group)?.room(rate, nowMs) ?? rate.count;
  }

  /**
   * When the next task of the worker may start; `nowMs` when no limit holds it
   * back.
   */
  nextAtMs(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "worker") return nowMs;
    return this.#all.nextAtMs(rate, nowMs);
  }

  /**
   * When the next task of a group may start; `nowMs` when no limit holds it
   * back.
   */
  groupNextAtMs(
    worker: WorkerDefinition,
    group: string,
    nowMs: number,
  ): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "group") return nowMs;
    return this.#groups.peek(group)?.nextAtMs(rate, nowMs) ?? nowMs;
  }

  /** Counts a start. */
  add(group: string, nowMs: number): void {
    const rate = this.#rate;
    if (rate === undefined) return;
    this.#all.add(rate, nowMs);
    if (rate.per === "worker") return;
    let window = this.#groups.get(group);
    if (window === undefined) {
      window = new RateWindow();
      this.#groups.set(group, window);
    }
    window.add(rate, nowMs);
  }

  /** Whether no start counts for the limit. */
  isIdle(nowMs: number): boolean {
    return this.#rate === undefined || this.#all.isIdle(this.#rate, nowMs);
  }
}
