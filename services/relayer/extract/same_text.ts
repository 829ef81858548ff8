/**
 * Whether two sentences say the same in nearly the same words.
 *
 * @module
 */

import { stem } from "../embed/stem.ts";
import { wordsOf } from "../embed/words.ts";

/** Words that change nothing. All others may: "to" and "from", "not". */
const FILLERS: ReadonlySet<string> = new Set([
  ...["a", "an", "the", "really", "very", "so", "just", "also", "too", "that"],
]);
const SAME_SHARE = 0.9;

/** A sentence as the set of its words, for {@linkcode saysSame}. */
export function wordSet(text: string): ReadonlySet<string> {
  const words = wordsOf(text).map((word) => word.text);
  return new Set(words.filter((word) => !FILLERS.has(word)).map(stem));
}

/** Whether nine of ten words are the same. */
export function saysSame(
  left: ReadonlySet<string>,
  right: ReadonlySet<string>,
): boolean {
  const shared = left.intersection(right).size;
  return shared > 0 &&
    shared / (left.size + right.size - shared) >= SAME_SHARE;
}

/** Gathers texts and refuses those that say what an earlier one says. */
export class DistinctTexts {
  readonly #sets: ReadonlySet<string>[];

  /** A collection that has some already. */
  constructor(known: readonly string[]) {
    this.#sets = known.map(wordSet);
  }

  /** Adds a text; false when it says nothing new. */
  add(text: string): boolean {
    const words = wordSet(text);
    if (this.#sets.some((known) => saysSame(known, words))) return false;
    this.#sets.push(words);
    return true;
  }
}
