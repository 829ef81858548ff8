/**
 * Splits a text into sentences, and finds sentences that repeat another in
 * nearly the same words.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import { englishStem } from "../embed/english_stem.ts";
import { listWords } from "../embed/words.ts";

/** A sentence of a text. */
interface Sentence {
  /** The sentence, without a list mark or its speaker's name. */
  readonly text: string;
  /** The name of the speaker, where the line begins with one and a colon. */
  readonly speaker?: string;
}

/** A bullet or a number of a list, at the beginning of a line. */
const LIST_MARK = /^(?:[-*•–]|\d{1,3}[.)])\s+/;
/** A name or a role with a colon, at the beginning of a line. */
const SPEAKER =
  /^(\p{Lu}[\p{L}'’-]{0,30}(?: \p{Lu}[\p{L}'’-]{0,30})?|user|assistant|human):\s+/u;
/** Speakers that are a role and not a name. */
const ROLE = /^(?:user|human|me|assistant|ai|system)$/i;
/**
 * The end of a sentence. Repetitions are bounded, so that a line of a thousand
 * dots takes no longer than others.
 */
const END = /[.!?…]{1,10}["'”’)\]]{0,5}(?=\s|$)|[。！？]{1,10}/gu;
/** An abbreviation, whose dot does not end a sentence. */
const ABBREVIATION =
  /(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|etc|approx|[A-HJ-Z])\.$/u;
const ABBREVIATION_CHARS = 10;

/** Number of lines that are split in one step. */
const LINES_PER_STEP = 64;

/**
 * Splits a text, in steps, into sentences in their order, each with its
 * speaker.
 */
export function* splitSentences(text: string): Steps<readonly Sentence[]> {
  const sentences: Sentence[] = [];
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (at % LINES_PER_STEP === LINES_PER_STEP - 1) yield;
    const plain = line.trim().replace(LIST_MARK, "");
    const name = SPEAKER.exec(plain);
    const spoken = name === null ? plain : plain.slice(name[0].length);
    const speaker = name?.[1];
    const isNamed = speaker !== undefined && !ROLE.test(speaker);
    for (const sentence of splitLine(spoken)) {
      sentences.push(
        isNamed ? { text: sentence, speaker } : { text: sentence },
      );
    }
  }
  return sentences;
}

function splitLine(line: string): readonly string[] {
  const sentences: string[] = [];
  let from = 0;
  for (const match of line.matchAll(END)) {
    const to = match.index + match[0].length;
    const sentence = line.slice(from, to);
    const ending = sentence.slice(-ABBREVIATION_CHARS);
    if (match[0] === "." && ABBREVIATION.test(ending)) continue;
    sentences.push(sentence.trim());
    from = to;
  }
  sentences.push(line.slice(from).trim());
  return sentences.filter((sentence) => sentence !== "");
}

/**
 * Words that do not change what a sentence says. All others may: "to", "from"
 * and "not", for example.
 */
const FILLERS: ReadonlySet<string> = new Set([
  ...["a", "an", "the", "really", "very", "so", "just", "also", "too", "that"],
]);
const SAME_SHARE = 0.9;

/** A sentence as the set of its words, for {@linkcode saysSame}. */
function wordSet(text: string): ReadonlySet<string> {
  const words = listWords(text).map((word) => word.text);
  return new Set(words.filter((word) => !FILLERS.has(word)).map(englishStem));
}

/** Whether nine of ten words of two sentences are the same. */
function saysSame(
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

  /** A collection that holds the known texts from the start. */
  constructor(known: readonly string[]) {
    this.#sets = known.map(wordSet);
  }

  /** Adds a text; returns false when it repeats one that was added or known. */
  add(text: string): boolean {
    const words = wordSet(text);
    if (this.#sets.some((known) => saysSame(known, words))) return false;
    this.#sets.push(words);
    return true;
  }
}
