/**
 * When a job is begun again after it failed.
 *
 * @module
 */

/** What decides. */
export interface BackoffFacts {
  /** How often the job was begun, this time included. */
  readonly attempts: number;
  /** How often it may be. */
  readonly maxAttempts: number;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * When the other end wants to be asked again.
   * @default it did not say
   */
  readonly retryAfterMs?: number | undefined;
  /** A number from 0 up to 1, so that jobs don't come back all at once. */
  readonly random: number;
}

/** The longest wait, in milliseconds, however long the other end wants. */
export const LONGEST_WAIT_MS = 60 * 60_000;

const LONGEST_MS = 5 * 60_000;

/** When to begin again, in milliseconds since the epoch; undefined for never. */
export function nextAttemptMs(facts: BackoffFacts): number | undefined {
  const { attempts, maxAttempts, nowMs, retryAfterMs = 0, random } = facts;
  if (attempts >= maxAttempts) return undefined;
  const waitMs = Math.min(LONGEST_MS, 1_000 * 2 ** attempts);
  const spreadMs = waitMs * (0.75 + random / 2);
  const askedMs = Math.min(LONGEST_WAIT_MS, retryAfterMs);
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}
