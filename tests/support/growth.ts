/**
 * How much longer something takes when there is more of it, whatever the speed of
 * the machine.
 *
 * @module
 */

import { AssertionError } from "@std/assert";

/** What {@linkcode assertGrowth} compares. */
export interface Growth {
  /** Does the work for the small size; called again and again. */
  readonly small: () => unknown;
  /** Does the work for the large size; called as often. */
  readonly large: () => unknown;
  /** How many times longer the large one may take. */
  readonly atMost: number;
  /**
   * How often both are done in a try; the quickest of each are compared, for
   * whatever else the machine does adds to a time and takes nothing from it.
   *
   * @default {11}
   */
  readonly runs?: number;
  /**
   * How many tries there are. One within the bound is enough: what is too slow in
   * itself is so in each of them, and a busy machine is not.
   *
   * @default {25}
   */
  readonly tries?: number;
}

/**
 * Demands that work takes no more than `atMost` times longer for a large input
 * than for a small one. Both take turns, so that what slows the machine down slows
 * both.
 *
 * @throws {AssertionError} When no try is within the bound.
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
