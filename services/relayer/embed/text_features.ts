/**
 * What of a text makes its hashed vector: words, pairs of words and pieces of
 * words, each with a weight. The weights are part of the vectors: a change of them
 * is another model.
 *
 * @module
 */

import { stem } from "./stem.ts";
import type { Steps } from "./steps.ts";
import { isStopWord } from "./stop_words.ts";
import { withBoundedMarks, type Word, wordsOf } from "./words.ts";

const WORD_WEIGHT = 1;
const STOP_WORD_WEIGHT = 0.1;
const PAIR_WEIGHT = 0.4;
/** Of all pieces of a word together. */
const GRAMS_WEIGHT = 0.6;
const GRAM_CHARS = 4;
const CHARACTER_WEIGHT = 0.5;

/** Words between two steps. */
const WORDS_PER_STEP = 32;

/** The features of a text, by name, with their weights; never empty. */
export function* textFeatures(
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
