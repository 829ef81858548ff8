/**
 * The objects behind the names. Adding to one is a field increment: no look-up,
 * no allocation.
 *
 * @module
 */

import type { Counter, Gauge, Timer } from "./stats.ts";
import {
  timerBucketIndex,
  timerBucketsMs,
  type TimerSummary,
} from "./timer_histogram.ts";
import type { TimerInterval } from "./timer_interval.ts";

/** One statistic of the registry. */
export type StatCell = CounterCell | GaugeCell | TimerCell;

/** A counter and its total since the start. */
export class CounterCell implements Counter {
  /** Tells the kinds apart. */
  readonly kind = "counter";
  /** Full dotted name. */
  readonly name: string;
  /** Sum of all additions since the start; see {@linkcode CounterCell.add}. */
  total = 0;

  /** Starts at 0. */
  constructor(name: string) {
    this.name = name;
  }

  /**
   * Adds `amount`. What is not above 0 is left out, since a counter only
   * grows. A total that could no longer be told exactly (over 2^53 − 1) begins
   * again at `amount`, which readers take as the reset of a counter.
   */
  add(amount = 1): void {
    if (!(amount > 0)) return;
    const total = this.total + amount;
    this.total = total <= Number.MAX_SAFE_INTEGER
      ? total
      : Math.min(amount, Number.MAX_SAFE_INTEGER);
  }
}

/** A gauge and its value. */
export class GaugeCell implements Gauge {
  /** Tells the kinds apart. */
  readonly kind = "gauge";
  /** Full dotted name. */
  readonly name: string;
  /** The value set last, 0 before. */
  value = 0;

  /** Starts at 0. */
  constructor(name: string) {
    this.name = name;
  }

  /** Replaces the value; what is not a finite number is left out. */
  set(value: number): void {
    if (Number.isFinite(value)) this.value = value;
  }
}

/** A timer: a histogram since the start, and an interval for each reader. */
export class TimerCell implements Timer {
  /** Tells the kinds apart. */
  readonly kind = "timer";
  /** Full dotted name. */
  readonly name: string;
  readonly #buckets: number[] = new Array(timerBucketsMs.length + 1).fill(0);
  readonly #intervals: TimerInterval[] = [];
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** Starts empty. */
  constructor(name: string) {
    this.name = name;
  }

  /**
   * Takes one duration in milliseconds. A negative one (a clock was set back)
   * counts as 0; what is not a finite number is left out.
   */
  record(durationMs: number): void {
    if (!Number.isFinite(durationMs)) return;
    const taken = durationMs > 0 ? durationMs : 0;
    const bucket = timerBucketIndex(taken);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    this.#sumMs += taken;
    if (taken > this.#maxMs) this.#maxMs = taken;
    for (const interval of this.#intervals) interval.add(taken);
  }

  /** What was taken since the start. */
  summary(): TimerSummary {
    return {
      count: this.#count,
      sumMs: this.#sumMs,
      maxMs: this.#maxMs,
      buckets: [...this.#buckets],
    };
  }

  /** Lets a reader's interval see every duration from now on. */
  attach(interval: TimerInterval): void {
    this.#intervals.push(interval);
  }

  /** Ends what {@linkcode TimerCell.attach} began. */
  detach(interval: TimerInterval): void {
    const index = this.#intervals.indexOf(interval);
    if (index >= 0) this.#intervals.splice(index, 1);
  }
}
