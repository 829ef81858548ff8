/**
 * Generates turns of a long talk between two people, and questions about them.
 * Words are as frequent as in a natural language (Zipf's law), so that the
 * index's lists of memories with a word are as long as those of real texts.
 *
 * @module
 */

import { randomNumbers } from "../kit/numbers.ts";

const SPEAKERS = ["Annika", "Tobias"];
const WORDS = 20_000;
const MIN_WORDS = 6;
const MORE_WORDS = 24;
const ASKED_WORDS = 5;
/**
 * Questions begin with such words, which carry no content, as real questions
 * do.
 */
const QUESTIONS = ["What did", "When did", "Why did", "How did"];
const CONSONANTS = "bcdfghjklmnprstvz";
const VOWELS = "aeiou";

/** Returns a turn as "name: I words"; the same number gives the same turn. */
export function talkText(number: number): string {
  const speaker = SPEAKERS[number % SPEAKERS.length];
  return `${speaker}: I ${createWords(number).join(" ")}.`;
}

/** Returns a question made of words of the turn with that number. */
export function talkQuestion(number: number): string {
  const words = createWords(number);
  const step = Math.max(1, Math.floor(words.length / ASKED_WORDS));
  const asked = words.filter((_, at) => at % step === 0).slice(0, ASKED_WORDS);
  const begin = QUESTIONS[number % QUESTIONS.length];
  const speaker = SPEAKERS[number % SPEAKERS.length];
  return `${begin} ${speaker} ${asked.join(" ")}?`;
}

function createWords(number: number): readonly string[] {
  const next = randomNumbers(number + 1);
  const count = MIN_WORDS + Math.floor(next() * MORE_WORDS);
  // `WORDS ** share` is the rank at which words up to it make up that share of
  // all mentions, if a word's frequency is 1 divided by its rank.
  return Array.from(
    { length: count },
    () => spellWord(Math.floor(WORDS ** next())),
  );
}

/**
 * Spells the digits of a word's rank as syllables, so that frequent words are
 * short.
 */
function spellWord(rank: number): string {
  const syllables = CONSONANTS.length * VOWELS.length;
  let word = "";
  for (let rest = rank; rest > 0; rest = Math.floor(rest / syllables)) {
    const digit = rest % syllables;
    word += CONSONANTS.charAt(Math.floor(digit / VOWELS.length)) +
      VOWELS.charAt(digit % VOWELS.length);
  }
  return word;
}
