/**
 * Texts for benchmarks: sentences that share words with each other, as people's
 * notes do.
 *
 * @module
 */

const NAMES = ["Ada", "Grace", "Edsger", "Barbara", "Alan", "Radia", "Ken"];
const VERBS = ["prefers", "bought", "visited", "dislikes", "planned", "met"];
const THINGS = [
  "green tea",
  "a red bicycle",
  "the harbour of Lisbon",
  "early meetings",
  "a trip to Kyoto",
  "her cousin from Oslo",
  "the old library",
  "jazz on Sundays",
  "a garden with plum trees",
];
const ADDITIONS = [
  "because of the weather",
  "after a long talk with a friend",
  "and told everybody at work about it",
  "though it was more expensive than expected",
];

/** Returns the text with a number; different numbers give different texts. */
export function memoryText(index: number): string {
  const pick = (list: readonly string[], divisor: number): string =>
    list[Math.floor(index / divisor) % list.length] ?? "";
  return `${pick(NAMES, 1)} ${pick(VERBS, 7)} ${pick(THINGS, 3)} ` +
    `${pick(ADDITIONS, 11)}; note ${index} of the diary.`;
}

/** Returns a question that some of the texts answer. */
export function question(index: number): string {
  const name = NAMES[index % NAMES.length];
  const thing = THINGS[index % THINGS.length];
  return `What did ${name} say about ${thing}?`;
}
