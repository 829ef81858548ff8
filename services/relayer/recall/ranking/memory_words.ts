/**
 * What ranking has to know of a memory's text: its terms and the signs of a
 * conversation, such as a speaker. It is made once and kept sealed beside the
 * vector.
 *
 * @module
 */

import type { Steps } from "../../concurrency/bounded_work.ts";
import { splitTurn } from "./turn_parts.ts";
import { detectSigns, type Signs } from "./turn_signs.ts";
import { type Language, LANGUAGES } from "./languages.ts";
import { termSteps } from "./terms.ts";

/** What is known of a memory's text. */
export interface MemoryWords extends Signs {
  /** The language of the text; undefined where that cannot be told. */
  readonly language: Language | undefined;
  /** How often the text has each term. */
  readonly terms: ReadonlyMap<string, number>;
  /** Who speaks, where a name and a colon begin the text. */
  readonly speaker: string | undefined;
  /** How many terms are in what is said, each counted as often as it occurs. */
  readonly saidTerms: number;
}

/** The steps to what ranking has to know of a text. */
export function* memoryWordsSteps(text: string): Steps<MemoryWords> {
  const { speaker, said } = splitTurn(text);
  const { language, counts, length } = yield* termSteps(text);
  const head = text.slice(0, text.length - said.length);
  const headTerms = head === "" ? 0 : (yield* termSteps(head)).length;
  return {
    ...{ language, terms: new Map(keptTerms(counts)), speaker },
    ...detectSigns(said),
    saidTerms: Math.max(0, length - headTerms),
  };
}

/**
 * The version of {@linkcode MemoryWords}: another number with each change of
 * what is found in a text.
 */
export const WORDS_VERSION = 4;
const HEAD_BYTES = 9;
/** The signs, by the bits that stand for them. */
const SIGNS = [
  "isQuestion",
  "tellsTime",
  "isTalk",
  "tellsChange",
  "tellsNumber",
  "tellsPlace",
  "isOfSelf",
] as const;
/**
 * Most occurrences that a term counts, most terms that are kept, and most bytes
 * of these in UTF-8; the last terms of a text are left out. The limits hold
 * before words are sealed too, so that a restart changes nothing.
 */
const MAX_COUNT = 255;
const MAX_TERMS = 16_384;
const MAX_TERMS_BYTES = 131_072;
const BREAK = "\n";

/**
 * Encodes what is known: version, signs and language (a byte each), terms of
 * what is said and kept terms (4 and 2 bytes, little endian), their counts (a
 * byte each), then in UTF-8 the speaker's name and the terms, with line feeds
 * between them.
 */
export function encodeWords(words: MemoryWords): Uint8Array<ArrayBuffer> {
  const { language, speaker, saidTerms } = words;
  const terms = keptTerms(words.terms);
  const texts = [speaker ?? "", ...terms.map(([term]) => term)]
    .map((text) => text.replaceAll(BREAK, " "));
  const names = new TextEncoder().encode(texts.join(BREAK));
  const bytes = new Uint8Array(HEAD_BYTES + terms.length + names.length);
  const view = new DataView(bytes.buffer);
  bytes[0] = WORDS_VERSION;
  SIGNS.forEach((sign, at) => bytes[1]! |= words[sign] ? 1 << at : 0);
  bytes[2] = language === undefined ? 0 : LANGUAGES.indexOf(language) + 1;
  view.setUint32(3, saidTerms, true);
  view.setUint16(7, terms.length, true);
  terms.forEach(([, count], at) => bytes[HEAD_BYTES + at] = count);
  bytes.set(names, HEAD_BYTES + terms.length);
  return bytes;
}

function keptTerms(
  terms: ReadonlyMap<string, number>,
): readonly (readonly [string, number])[] {
  const kept: (readonly [string, number])[] = [];
  let bytes = 0;
  for (const [term, count] of terms) {
    bytes += bytesIn(term) + BREAK.length;
    if (kept.length === MAX_TERMS || bytes > MAX_TERMS_BYTES) break;
    kept.push([term, Math.min(MAX_COUNT, count)]);
  }
  return kept;
}

/** Bytes in UTF-8, or a few more. */
function bytesIn(term: string): number {
  let bytes = 0;
  for (let at = 0; at < term.length; at++) {
    const unit = term.charCodeAt(at);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
  }
  return bytes;
}

const DECODER = new TextDecoder();

/**
 * Decodes what {@linkcode encodeWords} gave; undefined when the bytes are
 * something else, or of a version with other terms: then words have to be made
 * of the text again.
 */
export function decodeWords(bytes: Uint8Array): MemoryWords | undefined {
  if (bytes.length < HEAD_BYTES || bytes[0] !== WORDS_VERSION) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint16(7, true);
  const text = DECODER.decode(bytes.subarray(HEAD_BYTES + count));
  const [speaker, ...names] = text.split(BREAK);
  if (names.length !== count) return undefined;
  const has = (sign: keyof Signs): boolean =>
    ((bytes[1] ?? 0) & 1 << SIGNS.indexOf(sign)) !== 0;
  const spoken = bytes[2] ?? 0;
  return {
    language: spoken === 0 ? undefined : LANGUAGES[spoken - 1],
    terms: new Map(
      names.map((term, at) => [term, bytes[HEAD_BYTES + at] ?? 0]),
    ),
    speaker: speaker === "" ? undefined : speaker,
    isQuestion: has("isQuestion"),
    isTalk: has("isTalk"),
    tellsTime: has("tellsTime"),
    tellsNumber: has("tellsNumber"),
    tellsPlace: has("tellsPlace"),
    isOfSelf: has("isOfSelf"),
    tellsChange: has("tellsChange"),
    saidTerms: view.getUint32(3, true),
  };
}
