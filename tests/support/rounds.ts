/**
 * Rounds of tests with random values: few on a developer's machine, many in CI.
 *
 * @module
 */

import { SeededRandom } from "./seeded_random.ts";

/** The variable that says how many times the usual rounds are done. */
export const EFFORT_VARIABLE = "TEST_EFFORT";

/** What {@linkcode eachRound} does. */
export interface Rounds {
  /** How many rounds there are when nothing else is asked for. */
  readonly rounds: number;
  /**
   * The seed of the first round; the others have those that follow it.
   *
   * @default {1}
   */
  readonly seed?: number;
}

/** What a round draws from. */
export interface Round {
  /** Random values that its seed determines. */
  readonly random: SeededRandom;
  /** Its seed. */
  readonly seed: number;
}

/**
 * How many rounds are to be done where `usual` are done without `TEST_EFFORT`.
 * Needs permission to read that variable.
 *
 * @throws {RangeError} When the variable is not a number above 0.
 */
export function roundsOf(usual: number): number {
  const text = Deno.env.get(EFFORT_VARIABLE) ?? "";
  const effort = text === "" ? 1 : Number(text);
  if (!(effort > 0 && effort < Infinity)) {
    throw new RangeError(
      `Cannot read ${EFFORT_VARIABLE}: "${text}" is not a number above 0`,
    );
  }
  return Math.max(1, Math.round(usual * effort));
}

/**
 * Does a test for one seed after the other, `TEST_EFFORT` times as often as
 * `rounds` says.
 *
 * @throws {Error} When a round fails; it names the round and its seed.
 */
export async function eachRound(
  { rounds, seed = 1 }: Rounds,
  test: (round: Round) => unknown,
): Promise<void> {
  const count = roundsOf(rounds);
  for (let at = 0; at < count; at++) {
    const own = seed + at;
    try {
      await test({ random: new SeededRandom(own), seed: own });
    } catch (cause) {
      throw new Error(
        `Round ${at + 1} of ${count} fails, with seed ${own}`,
        { cause },
      );
    }
  }
}
