/**
 * Quantiles of measured values, and random numbers from a seed.
 *
 * @module
 */

/** Returns values in ascending order, as {@linkcode quantile} takes them. */
export function sorted(values: readonly number[]): Float64Array {
  return Float64Array.from(values).sort();
}

/**
 * Returns the quantile of sorted values: the value that `share` of them do not
 * exceed; NaN when there are no values.
 */
export function quantile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return NaN;
  return sorted[
    Math.min(sorted.length - 1, Math.floor(sorted.length * share))
  ]!;
}

/** Returns the median of some values. */
export function median(values: readonly number[]): number {
  return quantile(sorted(values), 0.5);
}

/**
 * Returns a generator of numbers from 0 up to but not including 1; the same
 * seed gives the same numbers (mulberry32), so that a benchmark measures the
 * same thing each time.
 */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Waits for some milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
