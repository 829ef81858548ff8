/**
 * Undoing the encodings in which a secret shows up in texts: the escapes of JSON,
 * percent-encoding, base64. Each takes whatever spelling there is (upper or lower
 * case, more escaped than needed), so that no list of spellings is complete or not.
 *
 * @module
 */

import { type ByteView, ByteViewBuilder } from "./byte_view.ts";

/** Options of {@linkcode unescapePercent}. */
export interface UnescapePercentOptions {
  /**
   * Whether "+" is a space, as in forms.
   *
   * @default {false}
   */
  readonly plusIsSpace?: boolean;
}

/** Options of {@linkcode decodeBase64}. */
export interface DecodeBase64Options {
  /** Shorter pieces than what encodes so many bytes are left out. */
  readonly minBytes: number;
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;
const LOWER_U = 0x75;
const EQUALS = 0x3d;

/** No byte of UTF-8, so nothing is found across it. */
const GAP = 0xff;

/** The letter after a backslash and what both stand for (RFC 8259, section 7). */
const JSON_ESCAPES: Readonly<Record<number, number>> = {
  0x22: 0x22,
  0x2f: 0x2f,
  0x5c: 0x5c,
  0x62: 0x08,
  0x66: 0x0c,
  0x6e: 0x0a,
  0x72: 0x0d,
  0x74: 0x09,
};

/**
 * The bytes with the escapes of JSON strings undone (RFC 8259, section 7);
 * `undefined` when there are none.
 */
export function unescapeJson(view: ByteView): ByteView | undefined {
  const { bytes } = view;
  if (!bytes.includes(BACKSLASH)) return undefined;
  const builder = new ByteViewBuilder(view, bytes.length);
  for (let from = 0; from < bytes.length;) {
    const byte = bytes[from]!;
    const next = byte === BACKSLASH ? bytes[from + 1] : undefined;
    const simple = next === undefined ? undefined : JSON_ESCAPES[next];
    const unit = next === LOWER_U ? readUnit(bytes, from) : undefined;
    if (simple !== undefined) {
      builder.add(simple, { from, to: from + 2 });
      from += 2;
    } else if (unit !== undefined) {
      const low = readLowSurrogate(bytes, { from: from + 6, high: unit });
      const to = from + (low === undefined ? 6 : 12);
      const codePoint = low === undefined
        ? unit
        : 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      builder.addCodePoint(codePoint, { from, to });
      from = to;
    } else {
      builder.add(byte, { from, to: from + 1 });
      from++;
    }
  }
  return builder.build();
}

/**
 * The bytes with percent-encoding undone (RFC 3986, section 2.1); `undefined`
 * when there is none.
 */
export function unescapePercent(
  view: ByteView,
  options: UnescapePercentOptions = {},
): ByteView | undefined {
  const { bytes } = view;
  const plusIsSpace = options.plusIsSpace ?? false;
  if (!bytes.includes(PERCENT) && !(plusIsSpace && bytes.includes(PLUS))) {
    return undefined;
  }
  const builder = new ByteViewBuilder(view, bytes.length);
  for (let from = 0; from < bytes.length;) {
    const byte = bytes[from]!;
    const decoded = byte === PERCENT
      ? readHex(bytes, { from: from + 1, digits: 2 })
      : undefined;
    const to = from + (decoded === undefined ? 1 : 3);
    const plain = plusIsSpace && byte === PLUS ? SPACE : byte;
    builder.add(decoded ?? plain, { from, to });
    from = to;
  }
  return builder.build();
}

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
  const runs = findRuns(view.bytes, Math.ceil(options.minBytes * 8 / 6));
  if (runs.length === 0) return undefined;
  const letters = runs.reduce((sum, run) => sum + run.letters, 0);
  const builder = new ByteViewBuilder(view, 3 * letters + 4 * runs.length);
  for (const run of runs) {
    for (let skipped = 0; skipped < 4; skipped++) {
      decodeRun(view.bytes, { run, skipped, builder });
    }
  }
  return builder.build();
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
  builder.add(GAP, { from: run.from, to: run.from + 1 });
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

/** The code unit of an escape `\uXXXX` at `from`. */
function readUnit(bytes: Uint8Array, from: number): number | undefined {
  if (bytes[from] !== BACKSLASH || bytes[from + 1] !== LOWER_U) {
    return undefined;
  }
  return readHex(bytes, { from: from + 2, digits: 4 });
}

/** The second half of a surrogate pair whose first is `high`. */
function readLowSurrogate(
  bytes: Uint8Array,
  { from, high }: { readonly from: number; readonly high: number },
): number | undefined {
  if (high < 0xd800 || high > 0xdbff) return undefined;
  const low = readUnit(bytes, from);
  return low !== undefined && low >= 0xdc00 && low <= 0xdfff ? low : undefined;
}

function readHex(
  bytes: Uint8Array,
  { from, digits }: { readonly from: number; readonly digits: number },
): number | undefined {
  let value = 0;
  for (let position = from; position < from + digits; position++) {
    const digit = hexDigit(bytes[position] ?? 0);
    if (digit === undefined) return undefined;
    value = value << 4 | digit;
  }
  return value;
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : undefined;
}
