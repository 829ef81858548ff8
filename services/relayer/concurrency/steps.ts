/**
 * Long computing as a generator that yields between short steps: it can be run
 * to its end at once, or in slices between which others get their turn.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";

/** A computation in steps that ends with a `Result`. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Computes at once. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Computes, and gives way between two steps when it is time to.
 *
 * @throws what a step throws, and the signal's reason when it ends early
 */
export async function finishInSlices<Result>(
  steps: Steps<Result>,
  { pausing, signal }: {
    readonly pausing: Pausing;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    const wait = pausing.pause();
    if (wait === undefined) continue;
    await wait;
    signal?.throwIfAborted();
  }
}
