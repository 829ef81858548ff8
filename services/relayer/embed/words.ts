/**
 * What of a text vectors are made of: the words of it in any script, their
 * stems, and of a long text its first sentences.
 *
 * Words are found by regular expressions alone: a segmenter of the runtime
 * knows more of languages that have no spaces, but not the same in each
 * version, and vectors that were made with an earlier one would no longer fit.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";

/** Letters and digits, with apostrophes between them. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu;
/** Scripts that set no spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
/** Marks above and below Latin, Greek and Cyrillic letters. */
const ACCENT = /[\u0300-\u036f]/g;
const POSSESSIVE = /['’]s$/;
const APOSTROPHE = /['’]/g;
/**
 * No script sets so many marks on a letter (UAX #15, Stream-Safe Text Format), and
 * putting n of them in their order takes n² steps. The two at the end are no marks
 * until they are folded.
 */
const MARKS_BEYOND_BOUND = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
/** Some characters stand for 18; a text of nothing else is not compared. */
const MAX_GROWTH = 4;
const GROWTH_CHARS = 64;

/** A word of a text. */
export interface Word {
  /** In lower case, without apostrophes. */
  readonly text: string;
  /** Whether it is a piece of a text that has no spaces. */
  readonly isPiece: boolean;
}

/**
 * The words in their order. Where a script sets no spaces, each character and
 * each pair of neighbours stands for a word.
 */
export function wordsOf(text: string): readonly Word[] {
  return splitWords(withoutAccents(lowered(text)));
}

/** The same words with their accents, for who knows the language. */
export function accentedWordsOf(text: string): readonly Word[] {
  return splitWords(lowered(text));
}

/** A text without marks above and below Latin, Greek and Cyrillic letters. */
export function withoutAccents(text: string): string {
  return text.normalize("NFD").replace(ACCENT, "").normalize("NFC");
}

function splitWords(text: string): readonly Word[] {
  return (text.match(WORD) ?? []).flatMap(splitScripts);
}

/** In lower case, and no longer than a text of that length may be. */
function lowered(text: string): string {
  return withBoundedMarks(text).normalize("NFKC").toLowerCase()
    .slice(0, MAX_GROWTH * text.length + GROWTH_CHARS);
}

/** A text whose characters have no more marks than any script sets. */
export function withBoundedMarks(text: string): string {
  return text.replace(MARKS_BEYOND_BOUND, "$1");
}

function splitScripts(run: string): readonly Word[] {
  const words: Word[] = [];
  let from = 0;
  for (const match of run.matchAll(UNSPACED)) {
    words.push(...spaced(run.slice(from, match.index)));
    for (const piece of pieces(match[0])) words.push(piece);
    from = match.index + match[0].length;
  }
  return [...words, ...spaced(run.slice(from))];
}

function spaced(run: string): readonly Word[] {
  const text = run.replace(POSSESSIVE, "").replace(APOSTROPHE, "");
  return text === "" ? [] : [{ text, isPiece: false }];
}

function pieces(run: string): readonly Word[] {
  const characters = [...run];
  return characters.flatMap((character, at) => {
    const next = characters[at + 1];
    const single = { text: character, isPiece: true };
    if (next === undefined) return [single];
    return [single, { text: character + next, isPiece: true }];
  });
}

const ENGLISH = /^[a-z]{4,}$/;
const VOWEL = /[aeiouy]/;
/** Letters that are doubled before an ending without being so in the word. */
const DOUBLED = /([bdgmnprt])\1$/;

/**
 * The stem of a word in lower case, so that "move", "moves", "moved" and "moving" are
 * one; words of other letters than English ones stay. It need not be a word; it only
 * has to be the same.
 */
export function stem(word: string): string {
  if (!ENGLISH.test(word)) return word;
  const base = withoutTense(withoutPlural(word));
  if (base.length > 3 && base.endsWith("e")) return base.slice(0, -1);
  if (base.length > 2 && base.endsWith("y")) return `${base.slice(0, -1)}i`;
  return base;
}

function withoutPlural(word: string): string {
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

function withoutTense(word: string): string {
  for (const ending of ["ing", "ed"]) {
    if (!word.endsWith(ending)) continue;
    const rest = word.slice(0, -ending.length);
    if (rest.length < 3 || !VOWEL.test(rest)) return word;
    return DOUBLED.test(rest) ? rest.slice(0, -1) : rest;
  }
  return word;
}

const WORDS =
  "a about after again all also am an and any are as at be because " +
  "been before being but by can could did do does doing down during each few " +
  "for from further had has have having he her here hers him his how i if in " +
  "into is it its just me more most my no nor not of off on once only or other " +
  "our out over own same she should so some such than that the their them then " +
  "there these they this those through to too under until up very was we were " +
  "what when where which while who whom why will with would you your " +
  "im ive id ill youre youve dont doesnt didnt isnt wasnt cant couldnt wont " +
  "thats whats theyre weve were hes shes lets";

const STOP_WORDS: ReadonlySet<string> = new Set(WORDS.split(" "));

/** Whether a word in lower case and without apostrophes says little. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** Longer texts are shortened for their vector; the memory keeps all of it. */
export const MAX_VECTOR_CHARS = 8_192;

/** Where there are no blanks between sentences, the mark alone ends one. */
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]/;
/** Lines between two steps. */
const LINES_PER_STEP = 256;

/**
 * The steps to a text of at most {@linkcode MAX_VECTOR_CHARS} characters that is
 * about the same: the first sentence of each line, then as much more of the lines
 * as fits. A vector of a whole book is close to nothing, and a text may have half a
 * million lines.
 */
export function* vectorTextSteps(text: string): Steps<string> {
  if (text.length <= MAX_VECTOR_CHARS) return text;
  const parts: string[] = [];
  let chars = 0;
  let lines = 0;
  // Not even a sentence of one character fits when there is no room for two.
  for (let from = 0; from < text.length && chars + 2 <= MAX_VECTOR_CHARS;) {
    if (++lines % LINES_PER_STEP === 0) yield;
    const end = text.indexOf("\n", from);
    const to = end === -1 ? text.length : end;
    const first = firstSentence(text.slice(from, to));
    from = to + 1;
    // A sentence that has no end does not hide those after it.
    if (first === "" || chars + first.length + 1 > MAX_VECTOR_CHARS) continue;
    parts.push(first);
    chars += first.length + 1;
  }
  const head = parts.join("\n");
  const left = MAX_VECTOR_CHARS - head.length - 1;
  if (head === "") return wellFormed(text.slice(0, MAX_VECTOR_CHARS));
  return left <= 0 ? head : wellFormed(`${head}\n${text.slice(0, left)}`);
}

function firstSentence(line: string): string {
  const end = SENTENCE_END.exec(line);
  return (end === null ? line : line.slice(0, end.index + 1)).trim();
}

/** A cut may have parted two halves of one character. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}
