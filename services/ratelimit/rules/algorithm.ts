/**
 * The algorithms by which a rule can count.
 *
 * @module
 */

/**
 * How a counter counts. `fixed_window` begins again with each window;
 * `sliding_window` looks back over one window's length at any time;
 * `token_bucket` holds a burst and is refilled at the rule's rate. Only the
 * first charges hits that are refused.
 */
export type Algorithm = "fixed_window" | "sliding_window" | "token_bucket";

/** Algorithms as a configuration writes them, the default first. */
export const ALGORITHM_WORDS: readonly Algorithm[] = [
  "fixed_window",
  "sliding_window",
  "token_bucket",
];

/**
 * Returns the algorithm that a configuration names, in any case; the default
 * for an empty word, undefined for an unknown one.
 */
export function algorithmOfWord(word: string): Algorithm | undefined {
  if (word === "") return "fixed_window";
  const lower = word.toLowerCase();
  return ALGORITHM_WORDS.find((algorithm) => algorithm === lower);
}
