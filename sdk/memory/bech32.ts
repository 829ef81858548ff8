/**
 * Bech32 (BIP 173): text with a prefix that says what it is and a checksum that
 * finds slips of the pen.
 *
 * @module
 */

/** What a Bech32 text holds. */
export interface Bech32Content {
  /** The prefix, in lower case. */
  readonly prefix: string;
  /** The bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR: readonly number[] = [
  0x3b6a57b2,
  0x26508e6d,
  0x1ea119fa,
  0x3d4233dd,
  0x2a1462b3,
];
const CHECKSUM_LENGTH = 6;
const MAX_LENGTH = 90;

/**
 * Reads a Bech32 text. Undefined when it is not valid: mixed case, foreign
 * characters, a wrong checksum, or bits that make no whole bytes.
 */
export function decodeBech32(text: string): Bech32Content | undefined {
  const lower = text.toLowerCase();
  if (text.length > MAX_LENGTH) return undefined;
  if (text !== lower && text !== text.toUpperCase()) return undefined;
  const separator = lower.lastIndexOf("1");
  if (separator < 1 || lower.length - separator - 1 < CHECKSUM_LENGTH) {
    return undefined;
  }
  const prefix = lower.slice(0, separator);
  if (!/^[\x21-\x7e]+$/.test(prefix)) return undefined;
  const groups = groupsOf(lower.slice(separator + 1));
  if (groups === undefined) return undefined;
  if (checksum([...expand(prefix), ...groups]) !== 1) return undefined;
  const bytes = bytesOf(groups.subarray(0, groups.length - CHECKSUM_LENGTH));
  groups.fill(0);
  return bytes === undefined ? undefined : { prefix, bytes };
}

function groupsOf(letters: string): Uint8Array | undefined {
  const groups = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) {
    const group = ALPHABET.indexOf(letters.charAt(at));
    if (group < 0) return undefined;
    groups[at] = group;
  }
  return groups;
}

function expand(prefix: string): readonly number[] {
  const codes = [...prefix].map((letter) => letter.charCodeAt(0));
  return [...codes.map((code) => code >> 5), 0, ...codes.map((c) => c & 31)];
}

function checksum(groups: readonly number[]): number {
  let sum = 1;
  for (const group of groups) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ group;
    GENERATOR.forEach((term, bit) => {
      if ((top >>> bit) & 1) sum ^= term;
    });
  }
  return sum >>> 0;
}

/** Eight bits from five; what is left over must be fewer than five, all zero. */
function bytesOf(groups: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(Math.floor(groups.length * 5 / 8));
  let held = 0;
  let bits = 0;
  let at = 0;
  for (const group of groups) {
    held = (held << 5) | group;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = held >>> bits;
    held &= (1 << bits) - 1;
  }
  return bits >= 5 || held !== 0 ? undefined : bytes;
}
