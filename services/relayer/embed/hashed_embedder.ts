/**
 * The built-in embedder: hashed words. It needs no weights, no network and no key,
 * and gives the same vector for the same text on every machine, for ever.
 *
 * What it is: a vector form of matching words. Each word, pair of words and piece of
 * a word has a place and a sign by its hash, and adds its weight there (feature
 * hashing: Weinberger and others, 2009). Texts that share words, endings aside,
 * are close; rare spellings still share pieces of words.
 *
 * What it is not: a language model. It does not know that a dog is an animal, and
 * finds nothing across languages. Who needs that sets an endpoint that makes
 * vectors.
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
import {
  isStopWord,
  stem,
  withBoundedMarks,
  type Word,
  wordsOf,
} from "./words.ts";

const WORD_WEIGHT = 1;
const STOP_WORD_WEIGHT = 0.1;
const PAIR_WEIGHT = 0.4;
/** Of all pieces of a word together. */
const GRAMS_WEIGHT = 0.6;
const GRAM_CHARS = 4;
const CHARACTER_WEIGHT = 0.5;

/** Words between two steps. */
const WORDS_PER_STEP = 32;

/**
 * The features of a text, by name, with their weights; never empty: words, pairs of
 * words and pieces of words. The weights are part of the vectors: a change of them is
 * another model.
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
  let before: string | undefined;
  const words = wordsOf(text);
  yield;
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

/** The stem of a word that pairs are made of. */
function addWord({ text, isPiece }: Word, add: Add): string | undefined {
  if (isPiece) {
    const isSingle = [...text].length === 1;
    add(`w ${text}`, isSingle ? CHARACTER_WEIGHT : WORD_WEIGHT);
    return undefined;
  }
  if (isStopWord(text)) {
    add(`w ${text}`, STOP_WORD_WEIGHT);
    return undefined;
  }
  const base = stem(text);
  add(`w ${base}`, WORD_WEIGHT);
  const grams = gramsOf(base);
  for (const gram of grams) {
    add(`g ${gram}`, GRAMS_WEIGHT / Math.sqrt(grams.length));
  }
  return base;
}

/** Pieces of a word, with marks where it begins and ends. */
function gramsOf(word: string): readonly string[] {
  const characters = [..."<", ...word, ">"];
  const grams: string[] = [];
  for (let at = 0; at + GRAM_CHARS <= characters.length; at++) {
    grams.push(characters.slice(at, at + GRAM_CHARS).join(""));
  }
  return grams;
}

/** Signs and pictures have no words; a text of blanks has not even those. */
function addCharacters(text: string, add: Add): void {
  const plain = withBoundedMarks(text).normalize("NFKC").replace(/\s/gu, "");
  for (const character of plain) {
    add(`c ${character}`, 1);
  }
  add("blank", STOP_WORD_WEIGHT);
}

/** How wide the vectors are that released clients send and expect. */
const DEFAULT_WIDTH = 1_536;

/** Features between two steps. */
const FEATURES_PER_STEP = 256;

/** Makes vectors of hashed words. */
export class HashedEmbedder implements Embedder {
  /** How wide its vectors are. */
  readonly width: number;
  /** Its name and the version of its weights. */
  readonly model = "hashed-words-1";

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

  /** One vector of length 1 for each text; never fails but for an early end. */
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

/** The steps to a text as hashed words, of length 1. */
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
  // All weights may cancel each other out, in a text that was made for it.
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
