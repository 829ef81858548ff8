/**
 * Undoing base64, in which a secret shows up in headers and encoded bodies.
 *
 * @module
 */

import { type ByteView, ByteViewBuilder } from "./byte_view.ts";

/** Options of {@linkcode decodeBase64}. */
export interface DecodeBase64Options {
  /** Shorter pieces than what encodes so many bytes are left out. */
  readonly minBytes: number;
}

const PLUS = 0x2b;
const EQUALS = 0x3d;

/** No byte of UTF-8, so nothing is found across it. */
const GAP = 0xff;

/**
 * What runs of base64 letters decode to, in either alphabet (RFC 4648), line
 * ends within them left out; `undefined` when there are none of that length.
 * Each run is decoded from its first, second, third and fourth letter on, because
 * what is encoded may begin anywhere in it.
 */
export function decodeBase64(
  view: ByteView,
  options: DecodeBase64Options,
): ByteView | undefined {
  const runs = findRuns(view.bytes, lettersOf(options.minBytes));
  if (runs.length === 0) return undefined;
  const letters = runs.reduce((sum, run) => sum + run.letters, 0);
  const builder = new ByteViewBuilder(view, 3 * letters + 4 * runs.length);
  for (const run of runs) {
    for (let skipped = 0; skipped < 4; skipped++) {
      decodeRun(view.bytes, { run, skipped, builder });
      builder.add(GAP, { from: run.from, to: run.from + 1 });
    }
  }
  return builder.build();
}

/**
 * What the letters that the bytes end in decode to, from the first, second, third
 * and fourth of them on: a view for each, so that each ends where the letters do.
 * None when there are fewer than what encodes `minBytes`.
 */
export function decodeBase64Tail(
  view: ByteView,
  options: DecodeBase64Options,
): readonly ByteView[] {
  const { bytes } = view;
  const run = findRuns(bytes, lettersOf(options.minBytes)).at(-1);
  if (run === undefined || run.to < bytes.length) return [];
  return [0, 1, 2, 3].map((skipped) => {
    const builder = new ByteViewBuilder(view, run.letters);
    decodeRun(bytes, { run, skipped, builder });
    return builder.build();
  });
}

/** Bytes from `from` to before `to`, of which so many are letters of base64. */
interface Run {
  readonly from: number;
  readonly to: number;
  readonly letters: number;
}

function findRuns(bytes: Uint8Array, minLetters: number): Run[] {
  const runs: Run[] = [];
  let from = 0;
  let letters = 0;
  for (let position = 0; position <= bytes.length; position++) {
    const byte = bytes[position];
    if (byte !== undefined && sextet(byte) !== undefined) {
      if (letters++ === 0) from = position;
    } else if (letters === 0 || !isLineEnd(byte)) {
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
}

function decodeRun(bytes: Uint8Array, options: DecodeRunOptions): void {
  const { run, skipped, builder } = options;
  let letters = 0;
  let bits = 0;
  let value = 0;
  let before = run.from;
  for (let position = run.from; position < run.to; position++) {
    const six = sextet(bytes[position]!);
    if (six === undefined || letters++ < skipped) continue;
    value = (value << 6 | six) & 0xfff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      // Eight bits come from two letters always: this one and the one before.
      const to = position + 1 === run.to
        ? afterPadding(bytes, run.to)
        : position + 1;
      builder.add(value >> bits & 0xff, { from: before, to });
    }
    before = position;
  }
}

/** How many letters encode so many bytes. */
function lettersOf(bytes: number): number {
  return Math.ceil(bytes * 8 / 6);
}

function afterPadding(bytes: Uint8Array, position: number): number {
  let end = position;
  while (end < position + 2 && bytes[end] === EQUALS) end++;
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

function isLineEnd(byte: number | undefined): boolean {
  return byte === 0x0a || byte === 0x0d;
}
