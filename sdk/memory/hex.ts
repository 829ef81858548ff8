/**
 * Bytes as hexadecimal digits.
 *
 * @module
 */

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
