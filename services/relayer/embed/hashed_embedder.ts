/**
 * The built-in embedder, which hashes words into vectors. It needs no weights,
 * no network and no key, and gives the same vector for the same text on every
 * machine, for ever.
 *
 * It is a vector form of matching words. Each word, pair of words and piece of
 * a word has a place and a sign by its hash, and adds its weight there (feature
 * hashing: Weinberger and others, 2009). Texts that share words, endings aside,
 * are close; rare spellings still share pieces of words.
 *
 * No vector knows others, so what is rare is guessed: long words are, and
 * little words are not. What is said in a conversation ("Ann: …") is kept at a
 * distance from everything, the more the less it says and if it only asks: else
 * short turns, whose few words weigh most, were close to every question.
 *
 * It is not a language model. It does not know that a dog is an animal, and
 * finds nothing across languages. Operators who need that configure an endpoint
 * that makes vectors.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../shared/slices.ts";
import {
  finishInSlices,
  type Steps,
  type WorkOptions,
} from "../concurrency/bounded_work.ts";
import type { Embedder, EmbedOutcome } from "./embedder.ts";
import { englishStem } from "./english_stem.ts";
import { turnPartsOf } from "./turn_parts.ts";
import { asksTime, signsOf } from "./turn_signs.ts";
import { isStopWord, withBoundedMarks, type Word, wordsOf } from "./words.ts";

/**
 * What a word weighs by the number of its letters; longer ones weigh as much as
 * the last. The more a word is used, the shorter it is (Zipf, 1935).
 */
const WEIGHTS_BY_LENGTH = [0, 0.6, 0.6, 0.7, 0.8, 1, 1.1, 1.2, 1.3] as const;
const NUMBER_WEIGHT = 1;
const STOP_WORD_WEIGHT = 0.03;
const PAIR_WEIGHT = 0.2;
/**
 * Weight of the pieces of a word, as a share of the word's: each piece gets it
 * divided by the square root of their number.
 */
const GRAMS_SHARE = 0.6;
const GRAM_CHARS = 4;
/** Weight of a pair of characters where words have no spaces between them. */
const PIECE_WEIGHT = 1;
const CHARACTER_WEIGHT = 0.5;
/** Weight of the speaker's name in a turn of a conversation. */
const SPEAKER_WEIGHT = 2;
/** Weight of the other words before what is said, such as the time. */
const HEAD_WEIGHT = 0.2;
/** Weight that questions for a time share with turns that tell one. */
const TIME_WEIGHT = 1;
/** Weight of what a turn shares with no other text. */
const DISTANCE_WEIGHT = 4;
/** The same of a turn that asks, on top: what asks does not answer. */
const ASK_DISTANCE_WEIGHT = 3;
/** So many features share such a weight, lest one hits a word's place. */
const DISTANCE_FEATURES = 4;
const DIGIT = /^\p{N}/u;

/** Number of words that are hashed in one step. */
const WORDS_PER_STEP = 32;

/**
 * The features of a text, by name, with their weights: words, pairs of words
 * and pieces of words; never empty. The weights are part of the vectors, so a
 * change of them makes another model.
 */
function* textFeatures(
  text: string,
): Steps<ReadonlyMap<string, number>> {
  const counted = new Map<string, { count: number; weight: number }>();
  const add = (feature: string, weight: number): void => {
    const known = counted.get(feature);
    if (known === undefined) counted.set(feature, { count: 1, weight });
    else known.count++;
  };
  const { speaker, said } = turnPartsOf(text);
  const words = wordsOf(said);
  yield;
  if (speaker !== undefined) {
    const { isQuestion, tellsTime } = signsOf(said);
    addHead(text.slice(0, text.length - said.length), speaker, add);
    const whole = hashOf(
      `${speaker} ${words.map((word) => word.text).join(" ")}`,
    );
    addDistance(`t ${whole}`, DISTANCE_WEIGHT, add);
    if (isQuestion) addDistance(`u ${whole}`, ASK_DISTANCE_WEIGHT, add);
    if (tellsTime) add("k time", TIME_WEIGHT);
  } else if (asksTime(text)) add("k time", TIME_WEIGHT);
  let before: string | undefined;
  for (const [at, word] of words.entries()) {
    if (at % WORDS_PER_STEP === WORDS_PER_STEP - 1) yield;
    const base = addWord(word, add);
    if (base === undefined) continue;
    if (before !== undefined) add(`p ${before} ${base}`, PAIR_WEIGHT);
    before = base;
  }
  if (counted.size === 0) addCharacters(text, add);
  yield;
  return new Map(Array.from(
    counted,
    ([feature, { count, weight }]) => [feature, weight * (1 + Math.log(count))],
  ));
}

type Add = (feature: string, weight: number) => void;

/** Adds the words before what a speaker says. */
function addHead(head: string, speaker: string, add: Add): void {
  const names = new Set(wordsOf(speaker).map(({ text }) => text));
  for (const { text } of wordsOf(head)) {
    add(
      `w ${englishStem(text)}`,
      names.has(text) ? SPEAKER_WEIGHT : HEAD_WEIGHT,
    );
  }
}

/** Adds features that no other text has. */
function addDistance(name: string, weight: number, add: Add): void {
  for (let at = 0; at < DISTANCE_FEATURES; at++) {
    add(`${name} ${at}`, weight / Math.sqrt(DISTANCE_FEATURES));
  }
}

/**
 * Adds the features of a word. Returns its stem for pairs of neighbouring
 * words; `undefined` for stop words and pieces, which make no pairs.
 */
function addWord(
  { text, isPiece, isCapital }: Word,
  add: Add,
): string | undefined {
  if (isPiece) {
    const isSingle = [...text].length === 1;
    add(`w ${text}`, isSingle ? CHARACTER_WEIGHT : PIECE_WEIGHT);
    return undefined;
  }
  if (isStopWord(text) && !isCapital) {
    add(`w ${text}`, STOP_WORD_WEIGHT);
    return undefined;
  }
  const base = englishStem(text);
  const weight = weightOf(text);
  add(`w ${base}`, weight);
  const grams = gramsOf(base);
  for (const gram of grams) {
    add(`g ${gram}`, weight * GRAMS_SHARE / Math.sqrt(grams.length));
  }
  return base;
}

function weightOf(word: string): number {
  if (DIGIT.test(word)) return NUMBER_WEIGHT;
  const longest = WEIGHTS_BY_LENGTH.length - 1;
  return WEIGHTS_BY_LENGTH[Math.min(word.length, longest)] ?? NUMBER_WEIGHT;
}

/**
 * The pieces of a word, four characters each, with marks at its beginning and
 * end.
 */
function gramsOf(word: string): readonly string[] {
  const characters = [..."<", ...word, ">"];
  const grams: string[] = [];
  for (let at = 0; at + GRAM_CHARS <= characters.length; at++) {
    grams.push(characters.slice(at, at + GRAM_CHARS).join(""));
  }
  return grams;
}

/**
 * Adds the characters of a text without words, such as signs and emoji, and one
 * feature that even a text of blanks has.
 */
function addCharacters(text: string, add: Add): void {
  const plain = withBoundedMarks(text).normalize("NFKC").replace(/\s/gu, "");
  for (const character of plain) {
    add(`c ${character}`, 1);
  }
  add("blank", STOP_WORD_WEIGHT);
}

/** Number of values in the vectors that released clients send and expect. */
const DEFAULT_WIDTH = 1_536;

/** Number of features that are summed in one step. */
const FEATURES_PER_STEP = 256;

/** Makes vectors of hashed words. */
export class HashedEmbedder implements Embedder {
  /** Number of values in each vector. */
  readonly width: number;
  /** The embedder's name and the version of its weights. */
  readonly model = "hashed-words-2";

  /**
   * An embedder that is ready.
   *
   * @throws {RangeError} when the width is not a whole number above 0
   */
  constructor(width: number = DEFAULT_WIDTH) {
    if (!Number.isInteger(width) || width < 1) {
      throw new RangeError(
        `Cannot make an embedder: the width is "${width}", not above 0`,
      );
    }
    this.width = width;
  }

  /**
   * Returns one vector of length 1 for each text; `unavailable` only when the
   * signal is aborted.
   */
  async embed(
    texts: readonly string[],
    options: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    const { signal, pausing = NEVER_PAUSING } = options;
    const vectors: Float32Array[] = [];
    for (const text of texts) {
      if (signal?.aborted === true) {
        return {
          kind: "unavailable",
          reason: "Cannot embed texts: the call was ended",
          isPassing: true,
        };
      }
      const steps = hashingSteps(text, this.width);
      vectors.push(await finishInSlices(steps, { pausing }));
      await pausing.pause();
    }
    return { kind: "ok", vectors };
  }
}

/**
 * Computes the vector of a text in steps: its hashed words, scaled to length 1.
 */
export function* hashingSteps(
  text: string,
  width: number,
): Steps<Float32Array> {
  const sums = new Float64Array(width);
  let features = 0;
  for (const [feature, weight] of yield* textFeatures(text)) {
    if (++features % FEATURES_PER_STEP === 0) yield;
    const hash = hashOf(feature);
    const place = hash % width;
    const sign = (mixed(hash ^ 0x9e3779b9) & 1) === 0 ? 1 : -1;
    sums[place] = (sums[place] ?? 0) + sign * weight;
  }
  let squares = 0;
  for (let place = 0; place < width; place++) {
    squares += (sums[place] ?? 0) ** 2;
  }
  // In a text that was made for it, all weights may cancel each other out.
  if (squares === 0) sums[0] = 1;
  const length = squares === 0 ? 1 : Math.sqrt(squares);
  const vector = new Float32Array(width);
  for (let place = 0; place < width; place++) {
    vector[place] = (sums[place] ?? 0) / length;
  }
  return vector;
}

/** FNV-1a over UTF-16 units, with the last step of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return mixed(hash);
}

function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
