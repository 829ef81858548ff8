/**
 * Decodes base64 and hexadecimal inside a text, since secrets may be encoded so
 * in headers, dumps and bodies.
 *
 * @module
 */

import { ByteView, type ByteWriter } from "./byte_view.ts";

/** An encoding in which each letter stands for a few bits. */
interface Alphabet {
  /**
   * How many bits a letter stands for: at least half a byte, so that every byte
   * spans two letters.
   */
  readonly bits: 4 | 6;
  /**
   * How many first letters a run is decoded from, since a byte may begin at
   * each of them.
   */
  readonly phases: number;
  /**
   * For each byte the bits it stands for, {@linkcode FILLER} or
   * {@linkcode OTHER}.
   */
  readonly values: Int8Array;
  /** The byte that may follow the last letter, at most twice. */
  readonly padding?: number;
}

/** Marks a byte that may stand between letters and is skipped. */
const FILLER = -1;
/** Ends a run of letters. */
const OTHER = -2;

/** Base64 in either alphabet (RFC 4648); line ends within it are skipped. */
export const BASE64: Alphabet = {
  bits: 6,
  phases: 4,
  values: buildValues(
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
  values: buildValues(
    ["0123456789abcdef", "0123456789ABCDEF"],
    " :-,\r\n",
  ),
};

function buildValues(
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
  /** The encoding. */
  readonly alphabet: Alphabet;
  /** Runs that are too short to encode so many bytes are left out. */
  readonly minBytes: number;
}

/**
 * Stands between decoded runs. The byte is never part of UTF-8, so no pattern
 * is found across it.
 */
const GAP = 0xff;

/**
 * Decodes all runs of letters; `undefined` when no run is long enough. Each run
 * is decoded once for each letter where a byte may begin, since the encoded
 * secret may begin anywhere in the run.
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
    // In every phase a byte takes more than one letter.
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
 * Decodes the letters at the end of the bytes, once for each letter where a
 * byte may begin: each decoding is a view of its own that ends where the
 * letters end. Empty when the letters are too few to encode `minBytes`.
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

/**
 * A run of letters, from `from` to before `to`; `letters` does not count
 * fillers.
 */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly letters: number;
  /** The end of the padding after the run. */
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
      // Eight bits always come from two letters: this one and the one before.
      writer.add(
        value >> bits & 0xff,
        before,
        position + 1 === run.to ? run.paddedTo : position + 1,
      );
    }
    before = position;
  }
}
