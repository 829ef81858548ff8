/**
 * Runs a computation in steps to its end without a pause, for tests.
 *
 * @module
 */

import type { Steps } from "../bounded_work.ts";

/**
 * Runs all steps at once, without giving other work a turn, and returns the
 * result.
 */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
