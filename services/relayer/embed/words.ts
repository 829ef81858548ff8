/**
 * Splits texts into words in any script, and shortens long texts for their
 * vectors.
 *
 * Words are found by regular expressions alone. The runtime's segmenter knows
 * more of languages without spaces, but its results change with its version,
 * and vectors that were made with an earlier version would no longer fit.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import { koreanStem } from "./korean.ts";

/**
 * Emoji, those of several characters as one, such as flags and families; or
 * letters and digits, with apostrophes between them. Marks alone are no word.
 */
const WORD =
  /\p{Regional_Indicator}{2}|(?![©®])\p{Extended_Pictographic}(?:\u200d\p{Extended_Pictographic}|[\u{e0020}-\u{e007f}])*|[\p{L}\p{N}][\p{L}\p{N}\p{M}\u200d]*(?:['’][\p{L}\p{M}]+)*/gu;
/**
 * What changes how a character looks and not what it says: selectors of
 * variants, tones of skin, and places to part a word at.
 */
const LOOKS = /[\u00ad\ufe00-\ufe0f\u{1f3fb}-\u{1f3ff}\u{e0100}-\u{e01ef}]/gu;
/** A joiner between letters, which the same word may lack. */
const LETTER_JOINER = /(?<=[\p{L}\p{M}])\u200d/gu;
/**
 * Scripts that set no spaces between words; and Korean, in a group, which sets
 * none before particles and endings.
 */
const UNSPACED_RUN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+|(\p{Script=Hangul}+)/gu;
const CAPITALS = /^\p{Lu}{2,}$/u;
/** Marks above and below Latin, Greek and Cyrillic letters. */
const ACCENT = /[\u0300-\u036f]/g;
const POSSESSIVE = /['’]s$/;
const APOSTROPHE = /['’]/g;
/**
 * Combining marks after the first 30 on a letter. No script sets so many (UAX
 * #15, Stream-Safe Text Format), and normalization takes n² steps to sort n of
 * them. U+FF9E and U+FF9F become marks only when they are normalized.
 */
const MARKS_BEYOND_BOUND = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
/**
 * How many times longer than its text a normalized text may be, besides
 * `GROWTH_CHARS`. A single character may become 18; what exceeds the limit is
 * cut.
 */
const MAX_GROWTH = 4;
const GROWTH_CHARS = 64;

/** A word of a text. */
export interface Word {
  /** In lower case, without apostrophes. */
  readonly text: string;
  /** Whether it was cut from a script that sets no spaces between words. */
  readonly isPiece: boolean;
  /**
   * Whether it stands in capitals in a text that has others: "IT" is a name,
   * in contrast to "it".
   */
  readonly isCapital: boolean;
}

/**
 * The words in their order. Where a script sets no spaces, each character and
 * each pair of neighbours stands for a word; in Korean each pair does, once
 * particles and endings are off.
 */
export function listWords(text: string): readonly Word[] {
  return splitWords(withoutAccents(normalized(text)));
}

/** The same words with their accents, for callers that know the language. */
export function listAccentedWords(text: string): readonly Word[] {
  return splitWords(normalized(text));
}

/** A text without marks above and below Latin, Greek and Cyrillic letters. */
export function withoutAccents(text: string): string {
  return text.normalize("NFD").replace(ACCENT, "").normalize("NFC");
}

function splitWords(text: string): readonly Word[] {
  const runs = text.match(WORD) ?? [];
  const capitals = runs.filter(isInCapitals).length;
  const isShouted = 2 * capitals > runs.length;
  return runs.flatMap((run) =>
    splitScripts(run.toLowerCase(), !isShouted && isInCapitals(run))
  );
}

function isInCapitals(run: string): boolean {
  return CAPITALS.test(run);
}

/** A text normalized, cut where it grew beyond the limit. */
function normalized(text: string): string {
  return withBoundedMarks(text).normalize("NFKC").replace(LOOKS, "")
    .slice(0, MAX_GROWTH * text.length + GROWTH_CHARS)
    .replace(LETTER_JOINER, "");
}

/** A text whose characters have no more marks than any script sets. */
export function withBoundedMarks(text: string): string {
  return text.replace(MARKS_BEYOND_BOUND, "$1");
}

function splitScripts(run: string, isCapital: boolean): readonly Word[] {
  const words: Word[] = [];
  let from = 0;
  for (const match of run.matchAll(UNSPACED_RUN)) {
    words.push(...spaced(run.slice(from, match.index), isCapital));
    const { 0: part, index } = match;
    words.push(...match[1] === undefined ? pieces(part) : koreanPieces(part));
    from = index + part.length;
  }
  return [...words, ...spaced(run.slice(from), isCapital)];
}

function spaced(run: string, isCapital: boolean): readonly Word[] {
  const text = run.replace(POSSESSIVE, "").replace(APOSTROPHE, "");
  return text === "" ? [] : [{ text, isPiece: false, isCapital }];
}

function pieces(run: string): readonly Word[] {
  const characters = [...run];
  return characters.flatMap((character, at) => {
    const next = characters[at + 1];
    const single = piece(character);
    if (next === undefined) return [single];
    return [single, piece(character + next)];
  });
}

/** The pairs of characters in the stem of a word; of a short stem all of it. */
function koreanPieces(word: string): readonly Word[] {
  const stem = koreanStem(word);
  const pairs = Array.from(
    { length: Math.max(1, stem.length - 1) },
    (_, at) => piece(stem.slice(at, at + 2)),
  );
  return pairs;
}

function piece(text: string): Word {
  return { text, isPiece: true, isCapital: false };
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
  "thats whats theyre weve were hes shes lets us theres wheres whos hows";

const STOP_WORDS: ReadonlySet<string> = new Set(WORDS.split(" "));

/** Whether a word in lower case and without apostrophes says little. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/**
 * The most characters that a vector is made of. A longer text is shortened for
 * its vector; the memory keeps the whole text.
 */
export const MAX_VECTOR_CHARS = 8_192;

/**
 * In scripts without blanks between sentences, the mark alone ends a sentence.
 */
const SENTENCE_END = /[.!?](?=\s|$)|[。！？]/;
/** Number of lines that are read in one step. */
const LINES_PER_STEP = 256;

/**
 * Shortens a text to {@linkcode MAX_VECTOR_CHARS} characters, in steps: the
 * first sentence of each line, then as much of the text's beginning as fits.
 * The vector of a whole book is close to no question, and a text may have half
 * a million lines.
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
    // A sentence that is too long is skipped, so that shorter ones after it get
    // in.
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

/** Replaces half a surrogate pair, which a cut inside a character leaves. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}
