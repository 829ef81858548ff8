/**
 * The terms by which a text is found: the stems of its words, and names such as
 * `v2.3.1`, `ERR_FOO-12`, `snakeCase` or an address whole as well as in parts.
 *
 * @module
 */

import type { Steps } from "../../concurrency/bounded_work.ts";
import { accentedWordsOf } from "../../embed/words.ts";
import { type Language, languageOf, saysLittle, stemOf } from "./languages.ts";

/** Of longer texts only the beginning is indexed. */
export const MAX_TERM_TEXT_CHARS = 262_144;
/**
 * Of longer questions so much of the beginning and of the end counts, read without a
 * pause: who pastes a text asks before it or after it.
 */
const MAX_QUESTION_END_CHARS = 4_096;
/** Longer words are indexed by their beginning. */
const MAX_TERM_CHARS = 64;
/** Characters that are read between two steps: about a millisecond. */
const STEP_CHARS = 8_192;
/** Bounded everywhere, so that no text is looked through more than once a char. */
const JOINED =
  /(?<![\p{L}\p{N}])[\p{L}\p{N}]{1,64}(?:[._\-@/:+#]{1,3}[\p{L}\p{N}]{1,64}){1,16}/gu;
/** What French leaves of a short word before a vowel; the next one is found without it. */
const ELISION =
  /(?<![\p{L}\p{M}\p{N}])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?=\p{L})/giu;
const HUMP = /(\p{Ll})(?=\p{Lu})/gu;
const HUMPED = /(?<![\p{L}\p{N}])\p{L}{0,32}\p{Ll}\p{Lu}\p{L}{0,64}/gu;

/** A text's terms. */
interface TextTerms {
  /** What the text is in; undefined where its words do not tell. */
  readonly language: Language | undefined;
  /** How often it has each. */
  readonly counts: ReadonlyMap<string, number>;
  /** How many it has, each as often as it is mentioned. */
  readonly length: number;
}

/** A word of a question. */
export interface QuestionTerm {
  /** The word as it is asked, in lower case. */
  readonly word: string;
  /** What memories that have it have, in this language or that. */
  readonly terms: readonly string[];
}

/**
 * The steps to the terms of a memory's text. Words that say little are left out,
 * unless the text has no others.
 */
export function* termSteps(text: string): Steps<TextTerms> {
  const parts: TextParts[] = [];
  for (const chunk of chunksOf(text)) {
    parts.push(partsOf(chunk));
    yield;
  }
  const language = languageOf(parts.flatMap(({ words }) => words));
  const counts = new Map<string, number>();
  const stems = new Map<string, string>();
  const spoken = language ?? "en";
  let length = 0;
  const add = (term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
    length++;
  };
  const addWord = (word: string): void => {
    const stem = stems.get(word) ?? stemOf(bounded(word), spoken);
    stems.set(word, stem);
    add(stem);
  };
  const isTelling = (word: string): boolean => !saysLittle(word, spoken);
  const hasTelling = parts.some(({ words }) => words.some(isTelling));
  for (const { words, wholes, pieces } of parts) {
    for (const word of words) {
      if (!hasTelling || isTelling(word)) addWord(word);
    }
    for (const piece of pieces) addWord(piece);
    for (const whole of wholes) add(whole);
    yield;
  }
  return { language, counts, length };
}

/**
 * The words of a question, each once, with its terms in the language of the question
 * and in those that memories are in.
 */
export function questionTerms(
  text: string,
  languages: readonly Language[],
): readonly QuestionTerm[] {
  const { words, wholes, pieces } = partsOf(endsOf(text));
  const own = languageOf(words);
  const spoken = own ?? languages[0] ?? "en";
  const telling = words.filter((word) => !saysLittle(word, spoken));
  const all = new Set([spoken, ...languages]);
  const found = new Map<string, QuestionTerm>();
  const add = (word: string, terms: readonly string[]): void => {
    const [first = word] = terms;
    if (!found.has(first)) found.set(first, { word, terms });
  };
  for (const word of [...(telling.length === 0 ? words : telling), ...pieces]) {
    const terms = [...all].map((language) => stemOf(bounded(word), language));
    add(word, [...new Set(terms)]);
  }
  for (const whole of wholes) add(whole, [whole]);
  return [...found.values()];
}

/** What of a text becomes terms, in lower case. */
interface TextParts {
  readonly words: readonly string[];
  /** Names with marks in them, whole. */
  readonly wholes: readonly string[];
  /** Parts of names that have capitals within. */
  readonly pieces: readonly string[];
}

function partsOf(text: string): TextParts {
  return {
    words: accentedWordsOf(text.replace(ELISION, " ")).map((word) => word.text),
    wholes: (text.match(JOINED) ?? []).map((name) =>
      name.normalize("NFKC").toLowerCase().slice(0, 4 * MAX_TERM_CHARS)
    ),
    pieces: (text.match(HUMPED) ?? []).flatMap((name) =>
      accentedWordsOf(name.replace(HUMP, "$1 ")).map((word) => word.text)
    ),
  };
}

/** Parts of a text, cut between words where it has blanks. */
function* chunksOf(text: string): Generator<string> {
  const end = Math.min(text.length, MAX_TERM_TEXT_CHARS);
  for (let from = 0; from < end;) {
    const to = Math.min(end, from + STEP_CHARS);
    const blank = to === end ? to : text.lastIndexOf(" ", to);
    const cut = blank > from ? blank : to;
    yield text.slice(from, cut);
    from = cut;
  }
}

/** Beginning and end of a long text, with a blank between them. */
function endsOf(text: string): string {
  if (text.length <= 2 * MAX_QUESTION_END_CHARS) return text;
  const beginning = text.slice(0, MAX_QUESTION_END_CHARS);
  return `${beginning} ${text.slice(-MAX_QUESTION_END_CHARS)}`;
}

function bounded(word: string): string {
  return word.slice(0, MAX_TERM_CHARS);
}
