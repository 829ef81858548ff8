/**
 * Encodes bytes as text: hexadecimal digits, Base64 (RFC 4648, section 4), and
 * Bech32 (BIP 173), which has a prefix that says what the text is and a
 * checksum that detects typing errors.
 *
 * @module
 */

/** Returns the bytes of chunks that have `length` bytes together. */
export function joinBytes(
  chunks: readonly Uint8Array[],
  length: number,
): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Writes bytes as lower-case hexadecimal digits, two for each. */
export function encodeHex(bytes: Uint8Array): string {
  let digits = "";
  for (const byte of bytes) digits += byte.toString(16).padStart(2, "0");
  return digits;
}

/**
 * Reads hexadecimal digits of either case, without a prefix. Undefined when the
 * text is anything else.
 */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  }
  return bytes;
}

/**
 * The number of bytes that are made into a string at a time: a call can have
 * only so many arguments.
 */
const BASE64_CHUNK = 8_192;

/** Writes bytes as Base64. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += BASE64_CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + BASE64_CHUNK));
  }
  return btoa(binary);
}

/** Reads Base64; undefined when it is not valid or holds too many bytes. */
export function decodeBase64(
  text: string,
  { maxBytes }: { readonly maxBytes: number },
): Uint8Array<ArrayBuffer> | undefined {
  if (text.length > 4 * Math.ceil(maxBytes / 3) || text.length % 4 !== 0) {
    return undefined;
  }
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

/**
 * Reads UTF-8 as a `TextDecoder` does, also in runtimes without one, such as
 * React Native; undefined when the bytes are not UTF-8.
 */
export function decodeUtf8(
  bytes: Uint8Array,
  { ignoreBOM = false }: Pick<TextDecoderOptions, "ignoreBOM"> = {},
): string | undefined {
  try {
    if (typeof TextDecoder === "function") {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM }).decode(bytes);
    }
    const text = decodeURIComponent(encodeHex(bytes).replace(/../g, "%$&"));
    return ignoreBOM ? text : text.replace(/^\ufeff/, "");
  } catch {
    return undefined;
  }
}

/**
 * Reads UTF-8 for people to read: what is no UTF-8 becomes replacement
 * characters.
 */
export function readableUtf8(bytes: Uint8Array): string {
  if (typeof TextDecoder === "function") return new TextDecoder().decode(bytes);
  return decodeUtf8(bytes) ?? Array.from(
    bytes,
    (byte) => byte < 0x80 ? String.fromCharCode(byte) : "\ufffd",
  ).join("");
}

/** The decoded content of a Bech32 text. */
interface Bech32Content {
  /** The prefix, in lower case. */
  readonly prefix: string;
  /** The bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const BECH32_ALPHABET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const GENERATOR: readonly number[] = [
  0x3b6a57b2,
  0x26508e6d,
  0x1ea119fa,
  0x3d4233dd,
  0x2a1462b3,
];
const CHECKSUM_LENGTH = 6;
const MAX_BECH32_LENGTH = 90;

/**
 * Reads a Bech32 text. Returns undefined when it is not valid: mixed case,
 * other characters than the alphabet's, a wrong checksum, or bits that make no
 * whole bytes.
 */
export function decodeBech32(text: string): Bech32Content | undefined {
  const lower = text.toLowerCase();
  if (text.length > MAX_BECH32_LENGTH) return undefined;
  if (text !== lower && text !== text.toUpperCase()) return undefined;
  const separator = lower.lastIndexOf("1");
  if (separator < 1 || lower.length - separator - 1 < CHECKSUM_LENGTH) {
    return undefined;
  }
  const prefix = lower.slice(0, separator);
  if (!/^[\x21-\x7e]+$/.test(prefix)) return undefined;
  const groups = decodeGroups(lower.slice(separator + 1));
  if (groups === undefined) return undefined;
  if (checksum([...expand(prefix), ...groups]) !== 1) return undefined;
  const bytes = joinGroups(groups.subarray(0, groups.length - CHECKSUM_LENGTH));
  groups.fill(0);
  return bytes === undefined ? undefined : { prefix, bytes };
}

/** Writes bytes as Bech32 in lower case. */
export function encodeBech32(prefix: string, bytes: Uint8Array): string {
  const groups: number[] = [];
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) {
      groups.push((held >>> (bits - 5)) & 31);
    }
    held &= (1 << bits) - 1;
  }
  if (bits > 0) groups.push((held << (5 - bits)) & 31);
  const padding = Array<number>(CHECKSUM_LENGTH).fill(0);
  const sum = checksum([...expand(prefix), ...groups, ...padding]) ^ 1;
  for (let at = 0; at < CHECKSUM_LENGTH; at++) {
    groups.push((sum >>> (5 * (CHECKSUM_LENGTH - 1 - at))) & 31);
  }
  return `${prefix}1${groups.map((group) => BECH32_ALPHABET[group]).join("")}`;
}

function decodeGroups(letters: string): Uint8Array | undefined {
  const groups = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) {
    const group = BECH32_ALPHABET.indexOf(letters.charAt(at));
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

/**
 * Joins groups of five bits to bytes; returns undefined unless the rest is
 * fewer than five bits, all zero.
 */
function joinGroups(groups: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
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
