/**
 * Work in steps, done at once.
 *
 * @module
 */

import type { Steps } from "../bounded_work.ts";

/** Computes all steps, as if no other work had to have its turn. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
