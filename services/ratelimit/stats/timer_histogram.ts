/**
 * Durations in a fixed set of buckets: what a timer keeps for ever, at a size
 * that does not depend on how often it is used.
 *
 * @module
 */

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

/** What a timer has seen since the start. */
export interface TimerSummary {
  /** How many durations. */
  readonly count: number;
  /** Their sum in milliseconds. */
  readonly sumMs: number;
  /** The longest in milliseconds, 0 when there was none. */
  readonly maxMs: number;
  /**
   * How many fell in each bucket of {@linkcode timerBucketsMs} (a bound
   * belongs to its bucket), and last how many were longer. Not cumulative.
   */
  readonly buckets: readonly number[];
}

/** The index of the bucket that `durationMs` belongs to. */
export function timerBucketIndex(durationMs: number): number {
  let index = 0;
  while (durationMs > (timerBucketsMs[index] ?? Infinity)) index++;
  return index;
}

/**
 * Estimates the duration in milliseconds that a share of all durations does
 * not exceed, as if they lay evenly within each bucket. 0 when there are none;
 * never more than the longest.
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
