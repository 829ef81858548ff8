/**
 * Undoing base64 and hexadecimal, in which a secret shows up in headers, dumps
 * and encoded bodies.
 *
 * @module
 */

import { type ByteView, ByteViewBuilder } from "./byte_view.ts";
import { hexDigit } from "./decoded_views.ts";

/** An encoding that turns a few bits into a letter each. */
export interface Alphabet {
  /** How many bits a letter stands for: more than half of a byte's, or half. */
  readonly bits: 4 | 6;
  /** From how many letters on a byte may begin. */
  readonly phases: number;
  /** The bits of a letter; undefined for other characters. */
  valueOf(byte: number): number | undefined;
  /** Whether it may stand between letters. */
  isFiller(byte: number): boolean;
  /** The byte that may follow the last letter, twice at most. */
  readonly padding?: number;
}

const PLUS = 0x2b;
const EQUALS = 0x3d;

/** Base64 in either alphabet (RFC 4648), line ends within it left out. */
export const BASE64: Alphabet = {
  bits: 6,
  phases: 4,
  valueOf: sextet,
  isFiller: isLineEnd,
  padding: EQUALS,
};

/**
 * Hexadecimal in upper, lower and mixed case, also with what dumps put between
 * the bytes: spaces, line ends, ":", "-" and ",".
 */
export const HEX: Alphabet = {
  bits: 4,
  phases: 2,
  valueOf: hexDigit,
  isFiller: (byte) =>
    byte === 0x20 || byte === 0x3a || byte === 0x2d || byte === 0x2c ||
    isLineEnd(byte),
};

/** Options of {@linkcode decodeRuns}. */
export interface DecodeRunsOptions {
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
  // A byte takes more than one letter in every phase.
  const builder = new ByteViewBuilder(
    view,
    Math.ceil(letters * phases * alphabet.bits / 8) + phases * runs.length,
  );
  for (const run of runs) {
    for (let skipped = 0; skipped < phases; skipped++) {
      decodeRun(view.bytes, { run, skipped, builder, alphabet });
      builder.add(GAP, { from: run.from, to: run.from + 1 });
    }
  }
  return builder.build();
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
  return Array.from({ length: alphabet.phases }, (_, skipped) => {
    const builder = new ByteViewBuilder(view, run.letters);
    decodeRun(bytes, { run, skipped, builder, alphabet });
    return builder.build();
  });
}

/** Bytes from `from` to before `to`, of which so many are letters. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly letters: number;
}

function findRuns(
  bytes: Uint8Array,
  { alphabet, minBytes }: DecodeRunsOptions,
): Run[] {
  const minLetters = Math.ceil(minBytes * 8 / alphabet.bits);
  const runs: Run[] = [];
  let from = 0;
  let letters = 0;
  for (let position = 0; position <= bytes.length; position++) {
    const byte = bytes[position];
    if (byte !== undefined && alphabet.valueOf(byte) !== undefined) {
      if (letters++ === 0) from = position;
    } else if (
      letters > 0 && (byte === undefined || !alphabet.isFiller(byte))
    ) {
      if (letters >= minLetters) runs.push({ from, to: position, letters });
      letters = 0;
    }
  }
  return runs;
}

interface DecodeRunOptions {
  readonly run: Run;
  readonly skipped: number;
  readonly builder: ByteViewBuilder;
  readonly alphabet: Alphabet;
}

function decodeRun(bytes: Uint8Array, options: DecodeRunOptions): void {
  const { run, skipped, builder, alphabet } = options;
  let letters = 0;
  let bits = 0;
  let value = 0;
  let before = run.from;
  for (let position = run.from; position < run.to; position++) {
    const part = alphabet.valueOf(bytes[position]!);
    if (part === undefined || letters++ < skipped) continue;
    value = (value << alphabet.bits | part) & 0xfff;
    bits += alphabet.bits;
    if (bits >= 8) {
      bits -= 8;
      // Eight bits come from two letters always: this one and the one before.
      const to = position + 1 === run.to
        ? afterPadding(bytes, { from: run.to, padding: alphabet.padding })
        : position + 1;
      builder.add(value >> bits & 0xff, { from: before, to });
    }
    before = position;
  }
}

function afterPadding(
  bytes: Uint8Array,
  { from, padding }: {
    readonly from: number;
    readonly padding: number | undefined;
  },
): number {
  let end = from;
  while (padding !== undefined && end < from + 2 && bytes[end] === padding) {
    end++;
  }
  return end;
}

/** The six bits of a letter, in the usual alphabet or that of URLs. */
function sextet(byte: number): number | undefined {
  if (byte >= 0x41 && byte <= 0x5a) return byte - 0x41;
  if (byte >= 0x61 && byte <= 0x7a) return byte - 0x61 + 26;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30 + 52;
  if (byte === PLUS || byte === 0x2d) return 62;
  if (byte === 0x2f || byte === 0x5f) return 63;
  return undefined;
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}
