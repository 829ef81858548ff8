/**
 * A call that repeats.
 *
 * @module
 */

import type { Clock, Timer } from "./clock.ts";

/** Settings of {@linkcode repeatEvery}. */
export interface RepeatOptions {
  /** Milliseconds between two calls. */
  readonly intervalMs: number;
  /** What is called; must not throw. */
  readonly run: () => void;
}

/**
 * Calls `run` every `intervalMs`, first one interval from now, until the
 * returned timer is cancelled.
 *
 * @throws {RangeError} when the interval is not above 0.
 */
export function repeatEvery(clock: Clock, options: RepeatOptions): Timer {
  const { intervalMs, run } = options;
  if (!(intervalMs > 0)) {
    throw new RangeError(
      `Cannot repeat a call: the interval is "${intervalMs}" ms, not above 0`,
    );
  }
  const tick = () => {
    timer = clock.setTimer(tick, intervalMs);
    run();
  };
  let timer = clock.setTimer(tick, intervalMs);
  return { cancel: () => timer.cancel() };
}
