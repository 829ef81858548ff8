/**
 * Checks and writes UTF-8 within a larger array of bytes, without copies and
 * without an array for each text.
 *
 * @module
 */

/**
 * Tells whether the bytes from `start` to before `end` are well-formed UTF-8:
 * no stray or missing continuation, no overlong form, no surrogate, nothing
 * over U+10FFFF (The Unicode Standard, table 3-7). Plain numbers instead of a
 * range object, for it runs on every text of every request.
 */
export function isUtf8(
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  let at = start;
  while (at < end) {
    if (bytes[at]! < 0x80) {
      at++;
      continue;
    }
    const length = sequenceLength(bytes, at, end);
    if (length === 0) return false;
    at += length;
  }
  return true;
}

/**
 * Writes `text` as UTF-8 into `target` from index `at` on; half of a surrogate
 * pair becomes U+FFFD, as with `TextEncoder`. The caller leaves room for three
 * bytes for each unit of `text`.
 *
 * @returns One past the last byte written.
 */
export function writeUtf8(
  target: Uint8Array,
  text: string,
  at: number,
): number {
  for (let index = 0; index < text.length; index++) {
    let code = text.charCodeAt(index);
    if (code < 0x80) {
      target[at++] = code;
      continue;
    }
    if (code < 0x800) {
      target[at++] = 0xc0 | (code >> 6);
      target[at++] = 0x80 | (code & 0x3f);
      continue;
    }
    if ((code & 0xf800) === 0xd800) {
      code = text.codePointAt(index)!;
      if (code > 0xffff) {
        index++;
        target[at++] = 0xf0 | (code >> 18);
        target[at++] = 0x80 | ((code >> 12) & 0x3f);
        target[at++] = 0x80 | ((code >> 6) & 0x3f);
        target[at++] = 0x80 | (code & 0x3f);
        continue;
      }
      code = 0xfffd;
    }
    target[at++] = 0xe0 | (code >> 12);
    target[at++] = 0x80 | ((code >> 6) & 0x3f);
    target[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

/**
 * Returns the length of the sequence that begins at `at`, 0 when it is not well
 * formed.
 */
function sequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + length > end) return 0;
  // The second byte alone rules out overlong forms, surrogates and what lies
  // over U+10FFFF.
  const second = bytes[at + 1]!;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let next = at + 2; next < at + length; next++) {
    if ((bytes[next]! & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** The most bytes of UTF-8 that a UTF-16 code unit takes. */
const MAX_UNIT_BYTES = 3;

/** Writes one text at a time as UTF-8, always into the same memory. */
export class TextBytes {
  #bytes = new Uint8Array(256);

  /**
   * Buffer that begins with the text written last; valid until the next write.
   */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Writes a text; returns its length in bytes. */
  write(text: string): number {
    const needed = text.length * MAX_UNIT_BYTES;
    if (needed > this.#bytes.length) this.#bytes = new Uint8Array(2 * needed);
    return writeUtf8(this.#bytes, text, 0);
  }
}
