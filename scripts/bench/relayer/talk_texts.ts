/**
 * Turns of a long talk between two people, and questions about them. A word comes as
 * often as its rank lets words of a language come (Zipf's law), so that lists of the
 * memories that have a word are as long as they are with people.
 *
 * @module
 */

import { randomNumbers } from "../random_numbers.ts";

const SPEAKERS = ["Annika", "Tobias"];
const WORDS = 20_000;
const MIN_WORDS = 6;
const MORE_WORDS = 24;
const ASKED_WORDS = 5;
/** Question words, and what has no content, are for questions too. */
const QUESTIONS = ["What did", "When did", "Why did", "How did"];
const CONSONANTS = "bcdfghjklmnprstvz";
const VOWELS = "aeiou";

/** A turn: "name: words", the same one for the same number. */
export function talkText(number: number): string {
  const speaker = SPEAKERS[number % SPEAKERS.length];
  return `${speaker}: ${wordsOf(number).join(" ")}.`;
}

/** A question in words of the turn of that number. */
export function talkQuestion(number: number): string {
  const words = wordsOf(number);
  const step = Math.max(1, Math.floor(words.length / ASKED_WORDS));
  const asked = words.filter((_, at) => at % step === 0).slice(0, ASKED_WORDS);
  const begin = QUESTIONS[number % QUESTIONS.length];
  const speaker = SPEAKERS[number % SPEAKERS.length];
  return `${begin} ${speaker} ${asked.join(" ")}?`;
}

function wordsOf(number: number): readonly string[] {
  const next = randomNumbers(number + 1);
  const count = MIN_WORDS + Math.floor(next() * MORE_WORDS);
  // The rank of a share of all mentions, when they fall as one by the rank.
  return Array.from(
    { length: count },
    () => wordOf(Math.floor(WORDS ** next())),
  );
}

/** Syllables of the rank's digits: those that come often are short. */
function wordOf(rank: number): string {
  const syllables = CONSONANTS.length * VOWELS.length;
  let word = "";
  for (let rest = rank; rest > 0; rest = Math.floor(rest / syllables)) {
    const digit = rest % syllables;
    word += CONSONANTS.charAt(Math.floor(digit / VOWELS.length)) +
      VOWELS.charAt(digit % VOWELS.length);
  }
  return word;
}
