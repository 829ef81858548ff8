/**
 * Undoing base64 and hexadecimal, in which a secret shows up in headers, dumps
 * and encoded bodies.
 *
 * @module
 */

import { ByteView, type ByteWriter } from "./byte_view.ts";

/** An encoding that turns a few bits into a letter each. */
interface Alphabet {
  /** How many bits a letter stands for: more than half of a byte's, or half. */
  readonly bits: 4 | 6;
  /** From how many letters on a byte may begin. */
  readonly phases: number;
  /** For each byte the bits it stands for, {@linkcode FILLER} or {@linkcode OTHER}. */
  readonly values: Int8Array;
  /** The byte that may follow the last letter, twice at most. */
  readonly padding?: number;
}

/** May stand between letters. */
const FILLER = -1;
/** Ends a run of letters. */
const OTHER = -2;

/** Base64 in either alphabet (RFC 4648), line ends within it left out. */
export const BASE64: Alphabet = {
  bits: 6,
  phases: 4,
  values: valuesOf(
    [
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ],
    "\r\n",
  ),
  padding: "=".charCodeAt(0),
};

/**
 * Hexadecimal in upper, lower and mixed case, also with what dumps put between
 * the bytes: spaces, line ends, ":", "-" and ",".
 */
export const HEX: Alphabet = {
  bits: 4,
  phases: 2,
  values: valuesOf(
    ["0123456789abcdef", "0123456789ABCDEF"],
    " :-,\r\n",
  ),
};

function valuesOf(
  letters: readonly string[],
  fillers: string,
): Int8Array {
  const values = new Int8Array(256).fill(OTHER);
  for (const filler of fillers) values[filler.charCodeAt(0)] = FILLER;
  for (const alphabet of letters) {
    for (let value = 0; value < alphabet.length; value++) {
      values[alphabet.charCodeAt(value)] = value;
    }
  }
  return values;
}

/** Options of {@linkcode decodeRuns}. */
interface DecodeRunsOptions {
  /** How it is encoded. */
  readonly alphabet: Alphabet;
  /** Shorter pieces than what encodes so many bytes are left out. */
  readonly minBytes: number;
}

/** No byte of UTF-8, so nothing is found across it. */
const GAP = 0xff;

/**
 * What runs of letters decode to; `undefined` when there are none of that length.
 * Each run is decoded from each of its first letters on, because what is encoded
 * may begin anywhere in it.
 */
export function decodeRuns(
  view: ByteView,
  { alphabet, minBytes }: DecodeRunsOptions,
): ByteView | undefined {
  const { phases } = alphabet;
  const runs = findRuns(view.bytes, { alphabet, minBytes });
  if (runs.length === 0) return undefined;
  const letters = runs.reduce((sum, run) => sum + run.letters, 0);
  return ByteView.derive({
    base: view,
    // A byte takes more than one letter in every phase.
    capacity: Math.ceil(letters * phases * alphabet.bits / 8) +
      phases * runs.length,
    write(writer) {
      for (const run of runs) {
        for (let skipped = 0; skipped < phases; skipped++) {
          decodeRun(view.bytes, { run, skipped, writer, alphabet });
          writer.add(GAP, run.from, run.from + 1);
        }
      }
    },
  });
}

/**
 * What the letters that the bytes end in decode to, from each of the first of
 * them on: a view for each, so that each ends where the letters do. None when
 * there are fewer than what encodes `minBytes`.
 */
export function decodeTail(
  view: ByteView,
  { alphabet, minBytes }: DecodeRunsOptions,
): readonly ByteView[] {
  const { bytes } = view;
  const run = findRuns(bytes, { alphabet, minBytes }).at(-1);
  if (run === undefined || run.to < bytes.length) return [];
  return Array.from(
    { length: alphabet.phases },
    (_, skipped) =>
      ByteView.derive({
        base: view,
        capacity: run.letters,
        write: (writer) => decodeRun(bytes, { run, skipped, writer, alphabet }),
      }),
  );
}

/** Bytes from `from` to before `to`, of which so many are letters. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly letters: number;
  /** Where the padding behind it ends. */
  readonly paddedTo: number;
}

function findRuns(
  bytes: Uint8Array,
  { alphabet, minBytes }: DecodeRunsOptions,
): Run[] {
  const minLetters = Math.ceil(minBytes * 8 / alphabet.bits);
  const runs: Run[] = [];
  let from = 0;
  let letters = 0;
  const { values } = alphabet;
  for (let position = 0; position <= bytes.length; position++) {
    const value = position < bytes.length ? values[bytes[position]!]! : OTHER;
    if (value >= 0) {
      if (letters++ === 0) from = position;
    } else if (value === OTHER && letters > 0) {
      if (letters >= minLetters) {
        let paddedTo = position;
        while (
          paddedTo < position + 2 && alphabet.padding !== undefined &&
          bytes[paddedTo] === alphabet.padding
        ) paddedTo++;
        runs.push({ from, to: position, letters, paddedTo });
      }
      letters = 0;
    }
  }
  return runs;
}

interface DecodeRunOptions {
  readonly run: Run;
  readonly skipped: number;
  readonly writer: ByteWriter;
  readonly alphabet: Alphabet;
}

function decodeRun(bytes: Uint8Array, options: DecodeRunOptions): void {
  const { run, skipped, writer, alphabet } = options;
  let letters = 0;
  let bits = 0;
  let value = 0;
  let before = run.from;
  for (let position = run.from; position < run.to; position++) {
    const part = alphabet.values[bytes[position]!]!;
    if (part < 0 || letters++ < skipped) continue;
    value = (value << alphabet.bits | part) & 0xfff;
    bits += alphabet.bits;
    if (bits >= 8) {
      bits -= 8;
      // Eight bits come from two letters always: this one and the one before.
      writer.add(
        value >> bits & 0xff,
        before,
        position + 1 === run.to ? run.paddedTo : position + 1,
      );
    }
    before = position;
  }
}
