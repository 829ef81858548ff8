/**
 * Asserts how much longer work may take for a larger input, independent of the
 * speed of the machine.
 *
 * @module
 */

import { AssertionError } from "@std/assert";

/** The work that {@linkcode assertGrowth} compares. */
export interface Growth {
  /** Does the work for the small input; called repeatedly. */
  readonly small: () => unknown;
  /** Does the work for the large input; called as often as `small`. */
  readonly large: () => unknown;
  /** The most times longer that the large input may take. */
  readonly atMost: number;
  /**
   * How often both are run in a try. The fastest run of each is compared, since
   * other work on the machine only ever makes a run slower.
   *
   * @default {11}
   */
  readonly runs?: number;
  /**
   * The most tries. One try within the limit is enough: code that is too slow
   * is so in every try, while a busy machine is not.
   *
   * @default {25}
   */
  readonly tries?: number;
}

/**
 * Asserts that work takes no more than `atMost` times longer for a large input
 * than for a small one. Both take turns, so that a slow machine slows both
 * down.
 *
 * @throws {AssertionError} When no try is within the limit.
 */
export async function assertGrowth(growth: Growth): Promise<void> {
  const { small, large, atMost, runs = 11, tries = 25 } = growth;
  const ratios: number[] = [];
  for (let attempt = 0; attempt < tries; attempt++) {
    const smallMs: number[] = [];
    const largeMs: number[] = [];
    for (let run = 0; run < runs; run++) {
      smallMs.push(await timeMs(small));
      largeMs.push(await timeMs(large));
    }
    const ratio = Math.min(...largeMs) / Math.min(...smallMs);
    if (ratio <= atMost) return;
    ratios.push(ratio);
  }
  const told = ratios.map((ratio) => ratio.toFixed(1)).join(", ");
  throw new AssertionError(
    `The large one takes ${told} times longer than the small one in ` +
      `${tries} tries; ${atMost} times is allowed`,
  );
}

async function timeMs(work: () => unknown): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}
