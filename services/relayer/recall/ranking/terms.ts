/**
 * The terms by which a text is found: the stems of its words, and names such as
 * `v2.3.1`, `ERR_FOO-12`, `snakeCase` or an address whole as well as in parts;
 * and the terms that a word of a question may stand for which no memory has:
 * misspelt names, words that are joined in one place and apart in another, and
 * words of one family.
 *
 * @module
 */

import { editDistance } from "../../../shared/did_you_mean.ts";
import type { Steps } from "../../concurrency/bounded_work.ts";
import { listAccentedWords, type Word } from "../../embed/words.ts";
import {
  detectLanguage,
  type Language,
  saysLittle,
  stemWord,
} from "./languages.ts";

/**
 * Characters of a text that are indexed; of longer texts only the beginning is.
 */
export const MAX_TERM_TEXT_CHARS = 262_144;
/**
 * Of longer questions so much of the beginning and of the end counts, read
 * without a pause: who pastes a text asks before it or after it.
 */
const MAX_QUESTION_END_CHARS = 4_096;
/** Longer words are indexed by their beginning. */
const MAX_TERM_CHARS = 64;
/** Characters that are read between two steps: about a millisecond. */
const STEP_CHARS = 8_192;
/**
 * Names with marks within; every repetition is bounded, so that no text is
 * looked through more than once a char.
 */
const JOINED =
  /(?<![\p{L}\p{N}])[\p{L}\p{N}]{1,64}(?:[._\-@/:+#]{1,3}[\p{L}\p{N}]{1,64}){1,16}/gu;
/**
 * What French leaves of a short word before a vowel; the word behind it is
 * found without it.
 */
const ELISION =
  /(?<![\p{L}\p{M}\p{N}])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?=\p{L})/giu;
const BETWEEN_PARTS = /[^\p{L}\p{N}]+/u;
const HUMP = /(\p{Ll})(?=\p{Lu})/gu;
const HUMPED = /(?<![\p{L}\p{N}])\p{L}{0,32}\p{Ll}\p{Lu}\p{L}{0,64}/gu;

/** A text's terms. */
interface TextTerms {
  /** The language of the text; undefined where its words do not tell. */
  readonly language: Language | undefined;
  /** How often the text has each term. */
  readonly counts: ReadonlyMap<string, number>;
  /** How many terms the text has, each counted as often as it occurs. */
  readonly length: number;
}

/** A word of a question. */
export interface QuestionTerm {
  /** The word as the question has it, in lower case. */
  readonly word: string;
  /**
   * The terms of the word in all languages that count: memories that have the
   * word have one of them.
   */
  readonly terms: readonly string[];
}

/**
 * The steps to the terms of a memory's text. Words that say little are left
 * out, unless the text has no others.
 */
export function* termSteps(text: string): Steps<TextTerms> {
  const parts: TextParts[] = [];
  for (const chunk of splitChunks(text)) {
    parts.push(splitParts(chunk));
    yield;
  }
  const language = detectLanguage(
    parts.flatMap(({ words }) => uncapitalized(words)),
  );
  const counts = new Map<string, number>();
  const stems = new Map<string, string>();
  const spoken = language ?? "en";
  let length = 0;
  const add = (term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
    length++;
  };
  const addWord = (word: string): void => {
    const stem = stems.get(word) ?? stemWord(bounded(word), spoken);
    stems.set(word, stem);
    add(stem);
  };
  const isTelling = (word: Word): boolean => tells(word, spoken);
  const hasTelling = parts.some(({ words }) => words.some(isTelling));
  for (const { words, wholes, pieces } of parts) {
    for (const word of words) {
      if (!hasTelling || isTelling(word)) addWord(word.text);
    }
    for (const piece of pieces) addWord(piece);
    for (const whole of wholes) add(whole);
    yield;
  }
  return { language, counts, length };
}

/**
 * The words of a question, each once, with its terms in the language of the
 * question and in those that memories are in.
 */
export function questionTerms(
  text: string,
  languages: readonly Language[],
): readonly QuestionTerm[] {
  const { words, wholes, pieces } = splitParts(cutMiddle(text));
  const own = detectLanguage(uncapitalized(words));
  const spoken = own ?? languages[0] ?? "en";
  const telling = words.filter((word) => tells(word, spoken));
  const all = new Set([spoken, ...languages]);
  const found = new Map<string, QuestionTerm>();
  const add = (word: string, terms: readonly string[]): void => {
    const [first = word] = terms;
    if (!found.has(first)) found.set(first, { word, terms });
  };
  const told = telling.length === 0 ? words : telling;
  for (const word of [...told.map(({ text }) => text), ...pieces]) {
    add(word, termsOfWord(word, [...all]));
  }
  for (const whole of wholes) {
    // French asks by "est-ce", which is no name.
    const parts = whole.split(BETWEEN_PARTS);
    if (parts.every((part) => saysLittle(part, spoken))) continue;
    add(whole, [whole]);
  }
  return [...found.values()];
}

/** The terms of a word in lower case, in each of the languages. */
export function termsOfWord(
  word: string,
  languages: readonly Language[],
): readonly string[] {
  const terms = languages.map((language) => stemWord(bounded(word), language));
  return [...new Set(terms)];
}

/** Whether a word says something: little words in capitals are names. */
function tells({ text, isCapital }: Word, language: Language): boolean {
  return isCapital || !saysLittle(text, language);
}

/** The words that say which language a text is in. */
function uncapitalized(words: readonly Word[]): readonly string[] {
  return words.flatMap(({ text, isCapital }) => isCapital ? [] : [text]);
}

/** The parts of a text that become terms, in lower case. */
interface TextParts {
  readonly words: readonly Word[];
  /** Names with marks in them, whole. */
  readonly wholes: readonly string[];
  /** Parts of names that have capitals within. */
  readonly pieces: readonly string[];
}

function splitParts(text: string): TextParts {
  return {
    words: listAccentedWords(text.replace(ELISION, " ")),
    wholes: (text.match(JOINED) ?? []).map((name) =>
      name.normalize("NFKC").toLowerCase().slice(0, 4 * MAX_TERM_CHARS)
    ),
    pieces: (text.match(HUMPED) ?? []).flatMap((name) =>
      listAccentedWords(name.replace(HUMP, "$1 ")).map((word) => word.text)
    ),
  };
}

/** Parts of a text, cut between words where it has blanks. */
function* splitChunks(text: string): Generator<string> {
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
function cutMiddle(text: string): string {
  if (text.length <= 2 * MAX_QUESTION_END_CHARS) return text;
  const beginning = text.slice(0, MAX_QUESTION_END_CHARS);
  return `${beginning} ${text.slice(-MAX_QUESTION_END_CHARS)}`;
}

function bounded(word: string): string {
  return word.slice(0, MAX_TERM_CHARS);
}

/** Words shorter than this are close to too many others. */
const MIN_MISSPELT_CHARS = 4;
/** From this length on a word may have two faults. */
const MIN_TWICE_MISSPELT_CHARS = 8;
/** The shortest part of a joined word. */
const MIN_PART_CHARS = 4;
/** Characters at the beginning that related words have in common at least. */
const MIN_RELATED_CHARS = 5;
/** The share of the longer of two related words that both begin with. */
const RELATED_SHARE = 0.6;
/** Most near terms of a word: more of them say nothing. */
const MAX_NEAR = 8;
const NO_LETTER = /[^\p{L}]/u;

/** Options of {@linkcode nearTerms}. */
interface NearTermsOptions {
  /**
   * Whether words of the language are joined, as in German.
   *
   * @default {false}
   */
  readonly areJoined?: boolean | undefined;
  /**
   * Whether misspelt words are looked for.
   *
   * @default {true}
   */
  readonly areMisspelt?: boolean | undefined;
}

/**
 * The terms of a vocabulary that a term which is not in it stands for, if any:
 * first, where words are joined, those that it is a part of or that are parts of
 * it; else those that it is spelt like, with one fault, or two in a long word;
 * else those that begin like it.
 */
export function nearTerms(
  term: string,
  vocabulary: Iterable<string>,
  { areJoined = false, areMisspelt = true }: NearTermsOptions = {},
): readonly string[] {
  // Numbers and identifiers that differ a little mean something else.
  if (NO_LETTER.test(term) || term.length < MIN_MISSPELT_CHARS) return [];
  const faults = !areMisspelt
    ? 0
    : term.length < MIN_TWICE_MISSPELT_CHARS
    ? 1
    : 2;
  const bySpelling: string[][] = [[], []];
  const joined: string[] = [];
  const related: string[] = [];
  for (const other of vocabulary) {
    if (other === term) continue;
    if (Math.abs(other.length - term.length) <= faults) {
      // Few misspell how a word begins.
      const isLike = term[0] === other[0] || term[1] === other[1];
      const distance = isLike
        ? editDistance(term, { to: other, most: faults })
        : Infinity;
      if (distance <= faults) bySpelling[distance - 1]?.push(other);
    }
    if (areJoined && isJoined(term, other)) joined.push(other);
    else if (areMisspelt && isRelated(term, other)) related.push(other);
  }
  const closest = [joined, ...bySpelling, related]
    .find((terms) => terms.length > 0);
  return closest?.slice(0, MAX_NEAR) ?? [];
}

/** Whether two terms begin alike, so that they may be forms of one word. */
function isRelated(one: string, other: string): boolean {
  const longer = Math.max(one.length, other.length);
  const least = Math.max(MIN_RELATED_CHARS, RELATED_SHARE * longer);
  if (Math.min(one.length, other.length) < least) return false;
  for (let at = 0; at < least; at++) {
    if (one[at] !== other[at]) return false;
  }
  return true;
}

/** Whether one begins or ends with the other, and both are words. */
function isJoined(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.length >= MIN_PART_CHARS &&
    (long.startsWith(short) || long.endsWith(short));
}
