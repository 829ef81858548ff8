/**
 * How long to wait between two looks at a job.
 *
 * @module
 */

const GROWTH = 1.5;
const MAX_DELAY_MS = 5_000;
const MIN_JITTER = 0.75;
const JITTER_SPAN = 0.5;

/** The shortest first delay that a caller may ask for, in milliseconds. */
export const MIN_POLL_INTERVAL_MS = 100;

/** The first delay when the caller does not say, in milliseconds. */
export const DEFAULT_POLL_INTERVAL_MS = 1_500;

/** Options of {@linkcode pollDelayMs}. */
export interface PollDelayOptions {
  /** The first delay, in milliseconds. */
  readonly baseMs: number;
  /** A number from 0 up to 1. */
  readonly random: number;
}

/**
 * Milliseconds before look number `attempt` + 1, where the first look is number
 * 1: the delay grows by half each time up to 5 s, or up to the first one
 * when that is longer, and is then spread by a quarter to both sides, so that
 * clients that began together do not stay together.
 */
export function pollDelayMs(
  attempt: number,
  { baseMs, random }: PollDelayOptions,
): number {
  const grown = Math.min(
    baseMs * GROWTH ** (attempt - 1),
    Math.max(MAX_DELAY_MS, baseMs),
  );
  return grown * (MIN_JITTER + JITTER_SPAN * random);
}

/** The caller's first delay, or the usual one where it gives none that is one. */
export function pollIntervalOf(
  pollIntervalMs: number | undefined,
  defaultMs: number = DEFAULT_POLL_INTERVAL_MS,
): number {
  return pollIntervalMs === undefined || !Number.isFinite(pollIntervalMs)
    ? defaultMs
    : Math.max(MIN_POLL_INTERVAL_MS, pollIntervalMs);
}
