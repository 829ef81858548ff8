/**
 * A wait that can be ended.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";

/** Options of {@linkcode pause}. */
export interface PauseOptions {
  /** Measures the time. */
  readonly clock: Clock;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/** Waits so many milliseconds, or until the signal; leaves nothing behind. */
export async function pause(
  ms: number,
  { clock, signal }: PauseOptions,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer(resolve, ms);
  const onAbort = () => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) resolve();
  await promise;
  timer.cancel();
  signal.removeEventListener("abort", onAbort);
}
