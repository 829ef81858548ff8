/**
 * What a text's vector is made of when no model makes it: its words, pairs of
 * words and pieces of words, each with a weight.
 *
 * Weights depend on the text alone, never on other texts. Common words count
 * less than rare ones, and words in front of what is said, or in brackets after
 * it, less than what is said.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import {
  asksForTime,
  LITTLE_WEIGHT,
  tellsTime,
  wordWeight,
} from "./common_words.ts";
import { englishStem } from "./english_stem.ts";
import { listWords, withBoundedMarks, type Word } from "./words.ts";

const PAIR_WEIGHT = 0.2;
/**
 * Weight of the pieces of a word: each piece gets it divided by the square root
 * of their number.
 */
const GRAMS_WEIGHT = 0.8;
const GRAM_CHARS = 4;
const CHARACTER_WEIGHT = 0.5;
/** What a text that tells a time shares with a question for one. */
const TIME_WEIGHT = 0.7;

/**
 * What stands before the first colon: a date, a label or who speaks. It is
 * looked for in the first 80 characters, which the longest names and dates fit
 * in.
 */
const HEAD = /^[^\n]{0,80}?(?::\s|：)/u;
const HEAD_FACTOR = 0.9;
/** What is in brackets at the end, such as the caption of a picture. */
const ASIDE_FACTOR = 0.5;
/**
 * The names that a speaker calls, as in "Hey Ann!" and "Thanks, Ann.": the turn
 * is more rarely about Ann than one that Ann speaks.
 */
const CALLED =
  /(?:,\s|(?:^|[.!?]\s)(?:(?:[Hh](?:ey|i|ello|allo|ola)|[Tt]hanks|[Dd]anke|[Ww]ow|[Cc]iao|[Ss]alut|[Bb]onjour|[Mm]erci|[Gg]racias|[Oo]i),?\s)?)(\p{Lu}\p{Ll}+)(?=[,.!?])/gu;
const CALLED_FACTOR = 0.5;
/**
 * What a turn has of its own, which no question shares. Turns are short, and
 * cosines favour the shortest: this much more length leaves the words of a long
 * turn their chance (pivoted length normalization: Singhal and others, 1996).
 */
const TURN_WEIGHT = 2;
const OWN_FEATURES = 4;
const BLANK_WEIGHT = 0.1;

/** Number of words that are hashed in one step. */
const WORDS_PER_STEP = 32;

/**
 * The features of a text, by name, with their weights; never empty. The weights
 * are part of the vectors, so a change of them makes another model.
 */
export function* textFeatures(
  text: string,
): Steps<ReadonlyMap<string, number>> {
  const features = new FeatureCounts();
  const { head, said, aside } = splitParts(text);
  const called = head === "" ? NO_NAMES : namesCalledIn(said);
  const words = listWords(said);
  yield;
  yield* addWords(words, { features, called, factor: 1 });
  yield* addWords(listWords(head), { features, factor: HEAD_FACTOR });
  yield* addWords(listWords(aside), { features, factor: ASIDE_FACTOR });
  if (asksForTime(words) || words.some(tellsTime)) {
    features.add("time", TIME_WEIGHT);
  }
  if (features.isEmpty) addCharacters(text, features);
  if (head !== "") addOwn(words, features);
  yield;
  return features.weights();
}

/** Features with how often they occur. */
class FeatureCounts {
  readonly #counted = new Map<string, { count: number; weight: number }>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#counted.size === 0;
  }

  /** Counts a feature once more; the highest of its weights holds. */
  add(feature: string, weight: number): void {
    const known = this.#counted.get(feature);
    if (known === undefined) this.#counted.set(feature, { count: 1, weight });
    else {
      known.count++;
      known.weight = Math.max(known.weight, weight);
    }
  }

  /** The weight of each feature, which grows ever slower with its count. */
  weights(): ReadonlyMap<string, number> {
    return new Map(Array.from(
      this.#counted,
      ([feature, { count, weight }]) =>
        [feature, weight * (1 + Math.log(count))] as const,
    ));
  }
}

/** A text in front of the first colon, what follows, and brackets at its end. */
function splitParts(text: string): {
  readonly head: string;
  readonly said: string;
  readonly aside: string;
} {
  const head = HEAD.exec(text)?.[0] ?? "";
  const open = text.trimEnd().endsWith(")") ? text.lastIndexOf("(") : -1;
  const end = open > head.length ? open : text.length;
  return { head, said: text.slice(head.length, end), aside: text.slice(end) };
}

const NO_NAMES: ReadonlySet<string> = new Set();

function namesCalledIn(said: string): ReadonlySet<string> {
  const names = Array.from(said.matchAll(CALLED), ([, name]) => name ?? "");
  return new Set(listWords(names.join(" ")).map(({ text }) => text));
}

/** Adds words, and pairs of those that say something. */
function* addWords(
  words: readonly Word[],
  { features, factor, called = NO_NAMES }: {
    readonly features: FeatureCounts;
    /** What the weight of each is multiplied by. */
    readonly factor: number;
    /** Names that are called, which count less. */
    readonly called?: ReadonlySet<string>;
  },
): Steps<void> {
  let before: { readonly base: string; readonly weight: number } | undefined;
  for (const [at, word] of words.entries()) {
    if (at % WORDS_PER_STEP === WORDS_PER_STEP - 1) yield;
    const { text, isPiece } = word;
    if (isPiece) {
      const isSingle = [...text].length === 1;
      features.add(`w ${text}`, factor * (isSingle ? CHARACTER_WEIGHT : 1));
      continue;
    }
    const base = englishStem(text);
    const common = wordWeight(text, base);
    if (common === LITTLE_WEIGHT) {
      features.add(`w ${text}`, factor * common);
      continue;
    }
    const weight = common * factor * (called.has(text) ? CALLED_FACTOR : 1);
    addWord(base, { features, weight });
    if (before !== undefined) {
      const pair = PAIR_WEIGHT * Math.sqrt(before.weight * weight);
      features.add(`p ${before.base} ${base}`, pair);
    }
    before = { base, weight };
  }
}

function addWord(
  base: string,
  { features, weight }: {
    readonly features: FeatureCounts;
    readonly weight: number;
  },
): void {
  features.add(`w ${base}`, weight);
  const grams = splitGrams(base);
  for (const gram of grams) {
    const share = GRAMS_WEIGHT / Math.sqrt(grams.length);
    features.add(`g ${gram}`, weight * share);
  }
}

/**
 * The pieces of a word, four characters each, with marks at its beginning and
 * end.
 */
function splitGrams(word: string): readonly string[] {
  const characters = [...`<${word}>`];
  const grams: string[] = [];
  for (let at = 0; at + GRAM_CHARS <= characters.length; at++) {
    grams.push(characters.slice(at, at + GRAM_CHARS).join(""));
  }
  return grams;
}

/** Adds what no text of other words has. */
function addOwn(words: readonly Word[], features: FeatureCounts): void {
  const own = words.map(({ text }) => text).join(" ");
  for (let at = 0; at < OWN_FEATURES; at++) {
    features.add(`o ${at} ${own}`, TURN_WEIGHT / Math.sqrt(OWN_FEATURES));
  }
}

/**
 * Adds the characters of a text without words, such as signs and emoji, and one
 * feature that even a text of blanks has.
 */
function addCharacters(text: string, features: FeatureCounts): void {
  const plain = withBoundedMarks(text).normalize("NFKC").replace(/\s/gu, "");
  for (const character of plain) features.add(`c ${character}`, 1);
  features.add("blank", BLANK_WEIGHT);
}
