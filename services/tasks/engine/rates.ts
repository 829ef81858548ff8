/**
 * The rate limit of a worker, for all of it or for each group: at most so many
 * starts in any period of a length.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { WorkerDefinition } from "../domain/records.ts";

/** A bound on starts. */
interface RateBound {
  /** Most starts of a period. */
  readonly count: number;
  /** Length of the period. */
  readonly periodMs: number;
}

/** The starts of the last period, no more of them than can matter. */
export class RateWindow {
  /** Times of the last starts, oldest first. */
  #starts: number[] = [];

  /** How many starts it remembers. */
  get size(): number {
    return this.#starts.length;
  }

  /** How many may start now. */
  room(bound: RateBound, nowMs: number): number {
    this.#forget(bound, nowMs);
    return Math.max(0, bound.count - this.#starts.length);
  }

  /** When the next one may start; `nowMs` when one may now. */
  nextAtMs(bound: RateBound, nowMs: number): number {
    this.#forget(bound, nowMs);
    const { length } = this.#starts;
    if (length < bound.count) return nowMs;
    return (this.#starts[length - bound.count] ?? nowMs) + bound.periodMs;
  }

  /** Counts a start, also one beyond the bound. */
  add(bound: RateBound, nowMs: number): void {
    this.#starts.push(nowMs);
    // Earlier ones than the last of a full period hold nothing back. They are
    // dropped together: each time, all others would be moved.
    const excess = this.#starts.length - bound.count;
    if (excess > bound.count) this.#starts.splice(0, excess);
  }

  /** Whether it holds nothing that matters. */
  isIdle(bound: RateBound, nowMs: number): boolean {
    this.#forget(bound, nowMs);
    return this.#starts.length === 0;
  }

  #forget({ periodMs }: RateBound, nowMs: number): void {
    const [first = Infinity] = this.#starts;
    const last = this.#starts.at(-1) ?? -Infinity;
    if (first > nowMs - periodMs && last <= nowMs) return;
    // A start in the future is from before the clock stepped back: it counts as
    // one of now, or the bound would be exceeded.
    this.#starts = this.#starts.filter((start) => start > nowMs - periodMs)
      .map((start) => Math.min(start, nowMs));
  }
}

type WorkerRate = NonNullable<NonNullable<WorkerDefinition["limits"]>["rate"]>;

/**
 * Most groups whose starts are remembered. Beyond that the group that started
 * nothing for longest is forgotten: it may go faster, but memory is bounded.
 */
const MAX_GROUPS = 10_000;

/**
 * Counts starts. Only this process remembers them: after a restart the
 * limit counts from zero.
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

  /** When the next task may start, where a limit holds it back. */
  nextAtMs(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "worker") return nowMs;
    return this.#all.nextAtMs(rate, nowMs);
  }

  /** When the next task of a group may start, where a limit holds it back. */
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

  /** Whether it holds nothing that matters. */
  isIdle(nowMs: number): boolean {
    return this.#rate === undefined || this.#all.isIdle(this.#rate, nowMs);
  }
}
