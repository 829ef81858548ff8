/**
 * Runs tests with random values in rounds: few on a developer's machine, many
 * in CI.
 *
 * @module
 */

import { SeededRandom } from "./seeded_random.ts";

/** The environment variable that multiplies the usual number of rounds. */
export const EFFORT_VARIABLE = "TEST_EFFORT";

/** How many rounds {@linkcode eachRound} runs. */
export interface Rounds {
  /** The number of rounds without `TEST_EFFORT`. */
  readonly rounds: number;
  /**
   * The seed of the first round; each further round has the next number.
   *
   * @default {1}
   */
  readonly seed?: number;
}

/** The random values of a round. */
export interface Round {
  /** The source of random values, determined by the seed. */
  readonly random: SeededRandom;
  /** The seed of the round. */
  readonly seed: number;
}

/**
 * Returns the number of rounds to run, given the usual number without
 * `TEST_EFFORT`. Needs permission to read that variable.
 *
 * @throws {RangeError} When the variable is not a number above 0.
 */
export function countRounds(usual: number): number {
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
 * Runs a test with one seed after the other, `TEST_EFFORT` times as often as
 * `rounds` says.
 *
 * @throws {Error} When a round fails; the message names the round and its seed.
 */
export async function eachRound(
  { rounds, seed = 1 }: Rounds,
  test: (round: Round) => unknown,
): Promise<void> {
  const count = countRounds(rounds);
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
