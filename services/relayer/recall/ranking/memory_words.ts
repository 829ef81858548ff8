/**
 * What ranking has to know of a memory's text: its terms and the signs of a
 * conversation, such as a speaker. It is made once and kept sealed beside the
 * vector.
 *
 * @module
 */

import type { Steps } from "../../concurrency/bounded_work.ts";
import { type Language, LANGUAGES } from "./languages.ts";
import { type Signs, signsOf } from "./signs.ts";
import { ROLES } from "./speakers.ts";
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

const MAX_HEAD_CHARS = 120;
/**
 * The colon that ends a speaker's name: a blank or the end of the line follows
 * it, unlike one within a time.
 */
const HEAD_END = /:(?:\*\*)?\s/;
const NAME =
  /^\p{L}[\p{L}\p{M}'’._-]{0,39}(?:(?<=\p{L})\p{N}{1,4})?(?: \p{L}[\p{L}\p{M}'’.-]{0,39}){0,2}$/u;
/** In chats of programs names are often in lower case, and marked. */
const MARKED_NAME = /^(?:@|<)([\p{L}\p{M}\p{N}_.-]{1,40})>?$/u;
const NICK_HEAD = /^<[\p{L}\p{M}\p{N}_.-]{1,40}>\s/u;
/** The time at the beginning of a message, as exports of chats have it. */
const STAMP =
  /^(?:\[[^[\]]{0,60}\]|\([^()]{0,60}\)|\d{1,4}[-./:]\d[\dT:.,/+Z -]{0,36}(?:[ap]\.?m\.?)?)[\s,|–-]*/iu;
const NOTE = / (?:\([^()]{0,80}\)|\[[^[\]]{0,80}\])$/;
/**
 * Words that begin notes as a name begins turns; names of people are not among
 * them.
 */
const LABELS = new Set(
  [
    "note notes todo to-do task tasks idea fact preference project reminder meeting",
    "decision question answer summary update warning tip topic subject title date time",
    "place address name email phone goal event rule result error info context background",
    "problem solution action work home family health food hobby travel recipe important",
    "notiz aufgabe idee frage antwort hinweis termin projekt thema ziel fehler erinnerung",
    "betreff rezept arbeit familie gesundheit reise wichtig vorliebe entscheidung problem",
    "tâche idée réponse rappel projet sujet but recette travail famille santé voyage",
    "nota tarea pregunta respuesta recordatorio proyecto tema objetivo receta trabajo",
    "familia salud viaje préférence preferencia décision decisión",
    "monday tuesday wednesday thursday friday saturday sunday weekend",
    "january february march july september october november december",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag wochenende",
    "januar februar märz juni juli september oktober november dezember",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "janvier février mars avril juin juillet août septembre octobre novembre décembre",
    "lunes martes miércoles jueves viernes sábado domingo",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre",
    "diciembre",
  ].join(" ").split(" "),
);
/** The steps to what ranking has to know of a text. */
export function* memoryWordsSteps(text: string): Steps<MemoryWords> {
  const { speaker, said } = partsOf(text);
  const { language, counts, length } = yield* termSteps(text);
  const head = text.slice(0, text.length - said.length);
  const headTerms = head === "" ? 0 : (yield* termSteps(head)).length;
  return {
    ...{ language, terms: new Map(keptTerms(counts)), speaker },
    ...signsOf(said),
    saidTerms: Math.max(0, length - headTerms),
  };
}

/**
 * The name before the colon that begins a text, and what is said after it;
 * without a name all of the text. A time may stand before the name or in
 * brackets after it, as in `[12/05/2031, 18:02] Ann: hello`, `8 May, Ann (by
 * phone): hello`, `<ann> hello` and `user: hello`.
 */
function partsOf(text: string): {
  readonly speaker: string | undefined;
  readonly said: string;
} {
  const begin = text.slice(0, MAX_HEAD_CHARS);
  const rest = begin.replace(STAMP, "");
  const nick = NICK_HEAD.exec(rest)?.[0];
  const end = HEAD_END.exec(rest);
  const head = nick ?? (end === null ? undefined : rest.slice(0, end.index));
  const speaker = head === undefined ? undefined : nameOf(head);
  if (head === undefined || speaker === undefined) {
    return { speaker: undefined, said: text };
  }
  const headChars = nick?.length ?? head.length + (end?.[0].length ?? 0);
  const stampChars = begin.length - rest.length;
  return { speaker, said: text.slice(stampChars + headChars) };
}

/** The name that a head ends in; undefined where that is no name. */
function nameOf(head: string): string | undefined {
  const bare = head.replace(NOTE, "");
  const name = bare.slice(bare.lastIndexOf(",") + 1).trim()
    .replace(/^\*\*/, "").replace(/\*\*$/, "");
  const marked = MARKED_NAME.exec(name)?.[1];
  const lower = name.toLowerCase();
  if (marked !== undefined) return marked;
  if (ROLES.has(lower)) return lower;
  return NAME.test(name) && !LABELS.has(lower) ? name : undefined;
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

/**
 * Decodes what {@linkcode encodeWords} gave; undefined when the bytes are
 * something else, or of a version with other terms: then words have to be made
 * of the text again.
 */
export function decodeWords(bytes: Uint8Array): MemoryWords | undefined {
  if (bytes.length < HEAD_BYTES || bytes[0] !== WORDS_VERSION) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint16(7, true);
  const [speaker, ...names] = new TextDecoder()
    .decode(bytes.subarray(HEAD_BYTES + count)).split(BREAK);
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
