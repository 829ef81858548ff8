/**
 * The counters, gauges and timers of the registry: adding to one is a field
 * increment without look-up or allocation.
 *
 * @module
 */

import type { Counter, Gauge, StatOrigin, Timer } from "./stats.ts";

/** One statistic of the registry. */
export type StatCell = CounterCell | GaugeCell | TimerCell;

/** A counter and its total since the start. */
export class CounterCell implements Counter {
  /** Tells the kinds apart. */
  readonly kind = "counter";
  /** Full dotted name. */
  readonly name: string;
  /** Where it comes from; undefined unless it is one of a rule. */
  readonly origin: StatOrigin | undefined;
  /** Sum of all additions since the start; see {@linkcode CounterCell.add}. */
  total = 0;

  /** Starts at 0. */
  constructor(name: string, origin?: StatOrigin) {
    this.name = name;
    this.origin = origin;
  }

  /**
   * Adds `amount`. An amount that is not above 0 is ignored, since a counter
   * only grows. A total that could no longer be exact (over 2^53 − 1) begins
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
  #own = 0;
  /** The values of other threads, by thread. */
  #others: Map<number, number> | undefined;

  /** Starts at 0. */
  constructor(name: string) {
    this.name = name;
  }

  /** The sum of the values that the threads set last; 0 before the first. */
  get value(): number {
    let sum = this.#own;
    for (const value of this.#others?.values() ?? []) sum += value;
    return sum;
  }

  /** Replaces the value; a value that is not a finite number is ignored. */
  set(value: number): void {
    if (Number.isFinite(value)) this.#own = value;
  }

  /** Replaces the value of another thread, which is added to the own one. */
  setThreadValue(thread: number, value: number): void {
    this.#others ??= new Map();
    this.#others.set(thread, value);
  }
}

/**
 * A timer: a histogram since the start, and observers such as a reader's
 * interval.
 */
export class TimerCell implements Timer {
  /** Tells the kinds apart. */
  readonly kind = "timer";
  /** Full dotted name. */
  readonly name: string;
  readonly #buckets = emptyBuckets();
  readonly #observers: DurationObserver[] = [];
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;

  /** Starts empty. */
  constructor(name: string) {
    this.name = name;
  }

  /**
   * Records one duration in milliseconds. A negative one (a clock was set back)
   * counts as 0; one that is not a finite number is ignored.
   */
  record(durationMs: number): void {
    if (!Number.isFinite(durationMs)) return;
    const taken = durationMs > 0 ? durationMs : 0;
    const bucket = timerBucketIndex(taken);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    this.#sumMs += taken;
    if (taken > this.#maxMs) this.#maxMs = taken;
    for (const observer of this.#observers) observer.add(taken);
  }

  /** Adds durations that another thread has recorded. */
  absorb(values: TimerIntervalValues): void {
    const { count, sumMs, maxMs, buckets, samplesMs } = values;
    this.#count += count;
    this.#sumMs += sumMs;
    this.#maxMs = Math.max(this.#maxMs, maxMs);
    for (const [bucket, taken] of buckets.entries()) {
      this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + taken;
    }
    for (const observer of this.#observers) {
      if (observer.absorb !== undefined) observer.absorb(values);
      else for (const sampleMs of samplesMs) observer.add(sampleMs);
    }
  }

  /** Returns a summary of the durations since the start. */
  summary(): TimerSummary {
    return {
      count: this.#count,
      sumMs: this.#sumMs,
      maxMs: this.#maxMs,
      buckets: [...this.#buckets],
    };
  }

  /** Lets an observer see every duration from now on. */
  attach(observer: DurationObserver): void {
    this.#observers.push(observer);
  }

  /** Detaches an observer. */
  detach(observer: DurationObserver): void {
    const index = this.#observers.indexOf(observer);
    if (index >= 0) this.#observers.splice(index, 1);
  }
}

/** Is told of the durations of a timer. */
export interface DurationObserver {
  /** Takes one duration in milliseconds, not below 0. */
  add(durationMs: number): void;
  /**
   * Takes durations that another thread has recorded.
   *
   * @default each of the samples is added
   */
  absorb?(values: TimerIntervalValues): void;
}

/**
 * Upper bounds of the buckets in milliseconds, 0.005 s to 10 s: the usual ones
 * of pull-metrics. What is longer falls in one more bucket without a bound.
 */
export const timerBucketsMs: readonly number[] = [
  5,
  10,
  25,
  50,
  100,
  250,
  500,
  1_000,
  2_500,
  5_000,
  10_000,
];

/** The durations of a timer since the start. */
export interface TimerSummary {
  /** Number of durations. */
  readonly count: number;
  /** Sum of the durations in milliseconds. */
  readonly sumMs: number;
  /** The longest duration in milliseconds; 0 without any. */
  readonly maxMs: number;
  /**
   * Number of durations in each bucket of {@linkcode timerBucketsMs} (a bound
   * belongs to its bucket), and last the number of longer ones. Not cumulative.
   */
  readonly buckets: readonly number[];
}

/** Returns the index of the bucket that `durationMs` belongs to. */
function timerBucketIndex(durationMs: number): number {
  let index = 0;
  while (durationMs > (timerBucketsMs[index] ?? Infinity)) index++;
  return index;
}

/**
 * Estimates the duration in milliseconds that a share of all durations does not
 * exceed, as if they lay evenly within each bucket. 0 without durations; never
 * more than the longest.
 *
 * @param quantile The share, 0 to 1: 0.99 for the 99th percentile.
 */
export function estimateQuantileMs(
  summary: TimerSummary,
  quantile: number,
): number {
  const rank = quantile * summary.count;
  let before = 0;
  for (const [index, inBucket] of summary.buckets.entries()) {
    if (inBucket > 0 && before + inBucket >= rank) {
      const low = timerBucketsMs[index - 1] ?? 0;
      const high = Math.min(timerBucketsMs[index] ?? Infinity, summary.maxMs);
      const share = Math.max(0, rank - before) / inBucket;
      return Math.min(low + (high - low) * share, summary.maxMs);
    }
    before += inBucket;
  }
  return summary.maxMs;
}

/** The durations of one interval. */
export interface TimerIntervalValues {
  /** Number of durations. */
  readonly count: number;
  /** Sum of the durations in milliseconds. */
  readonly sumMs: number;
  /** The longest duration in milliseconds. */
  readonly maxMs: number;
  /** Number of durations in each bucket, as in {@linkcode TimerSummary}. */
  readonly buckets: readonly number[];
  /** All durations in milliseconds, or an evenly chosen part of them. */
  readonly samplesMs: readonly number[];
}

/** Settings of a {@linkcode TimerInterval}. */
interface TimerIntervalOptions {
  /** Most samples that are kept in an interval. */
  readonly maxSamples: number;
  /** Returns a number from 0 up to, not including, 1, to choose samples by. */
  readonly random: () => number;
}

/** Gathers the durations of one timer for one sink. */
export class TimerInterval implements DurationObserver {
  readonly #maxSamples: number;
  readonly #random: () => number;
  #count = 0;
  #sumMs = 0;
  #maxMs = 0;
  #buckets = emptyBuckets();
  #samplesMs: number[] = [];

  /** Starts an empty interval. */
  constructor(options: TimerIntervalOptions) {
    this.#maxSamples = options.maxSamples;
    this.#random = options.random;
  }

  /** Takes one duration in milliseconds. */
  add(durationMs: number): void {
    this.#sumMs += durationMs;
    if (durationMs > this.#maxMs) this.#maxMs = durationMs;
    this.#buckets[timerBucketIndex(durationMs)]!++;
    this.#count++;
    this.#sample(durationMs);
  }

  /** Adds an interval of another thread. */
  absorb(values: TimerIntervalValues): void {
    const { count, samplesMs } = values;
    this.#sumMs += values.sumMs;
    this.#maxMs = Math.max(this.#maxMs, values.maxMs);
    for (const [bucket, taken] of values.buckets.entries()) {
      this.#buckets[bucket]! += taken;
    }
    this.#count += count;
    this.#samplesMs = this.#merged(samplesMs, count / this.#count);
  }

  /** Returns what was collected and starts again; undefined when empty. */
  take(): TimerIntervalValues | undefined {
    if (this.#count === 0) return undefined;
    const values = {
      count: this.#count,
      sumMs: this.#sumMs,
      maxMs: this.#maxMs,
      buckets: this.#buckets,
      samplesMs: this.#samplesMs,
    };
    this.#count = 0;
    this.#sumMs = 0;
    this.#maxMs = 0;
    this.#buckets = emptyBuckets();
    this.#samplesMs = [];
    return values;
  }

  /**
   * Merges two samples: chooses from the other one with the given probability.
   */
  #merged(otherMs: readonly number[], shareOfOther: number): number[] {
    const [own, other] = [this.#samplesMs, [...otherMs]];
    if (own.length + other.length <= this.#maxSamples) {
      return [...own, ...other];
    }
    const chosen: number[] = [];
    while (chosen.length < this.#maxSamples) {
      const isOther = own.length === 0 ||
        (other.length > 0 && this.#random() < shareOfOther);
      const from = isOther ? other : own;
      const index = Math.floor(this.#random() * from.length);
      chosen.push(from[index]!);
      from[index] = from.at(-1)!;
      from.pop();
    }
    return chosen;
  }

  /**
   * Samples a duration by Vitter's algorithm R (reservoir sampling): each of
   * the values seen so far stays with the same chance.
   */
  #sample(durationMs: number): void {
    if (this.#samplesMs.length < this.#maxSamples) {
      this.#samplesMs.push(durationMs);
      return;
    }
    const index = Math.floor(this.#random() * this.#count);
    if (index < this.#maxSamples) this.#samplesMs[index] = durationMs;
  }
}

function emptyBuckets(): number[] {
  return new Array(timerBucketsMs.length + 1).fill(0);
}
