/**
 * Memories of all shapes that ranking tells apart, from a seed.
 *
 * @module
 */

import type { SeededRandom } from "../../../../tests/support/seeded_random.ts";

const SPEAKERS = ["Ann", "Bob", "Dr. Gil", "user", "assistant"];
const WORDS = [
  ..."tea coffee harbour garden tyres ticket seven 2024-05-01 v1.2.3".split(
    " ",
  ),
  ..."morning yesterday brother Lisbon rent paid 42 bought lost key".split(" "),
  ..."der Schlüssel liegt im Garten le jardin est fermé 茶 港".split(" "),
];

/** A text of some words; often somebody says it, or asks. */
export function randomText(random: SeededRandom): string {
  const words = Array.from(
    { length: 1 + random.below(12) },
    () => random.pick(WORDS),
  ).join(" ");
  const mark = random.chance(0.3) ? "?" : ".";
  return random.chance(0.5)
    ? `${random.pick(SPEAKERS)}: ${words}${mark}`
    : `${words}${mark}`;
}
