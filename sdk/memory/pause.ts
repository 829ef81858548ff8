/**
 * Waiting.
 *
 * @module
 */

import type { ClientClock } from "./client_clock.ts";

/** Options of {@linkcode pause}. */
export interface PauseOptions {
  /** Sets the timer. */
  readonly clock: ClientClock;
  /** Ends the wait early, with its reason as the exception. */
  readonly signal: AbortSignal;
}

/**
 * Waits.
 *
 * @param delayMs milliseconds
 * @throws {unknown} The signal's reason, when it ends the wait.
 */
export function pause(
  delayMs: number,
  { clock, signal }: PauseOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.setTimer(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
