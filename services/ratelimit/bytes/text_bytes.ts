/**
 * Texts as bytes, without an array for each.
 *
 * @module
 */

import { writeUtf8 } from "../../../proto/utf8.ts";

/** The most bytes of UTF-8 that a unit of UTF-16 takes. */
const MAX_UNIT_BYTES = 3;

/** Writes one text after the other into the same memory, as UTF-8. */
export class TextBytes {
  #bytes = new Uint8Array(256);

  /** The text written last, from the beginning; valid until the next one. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Writes a text; gives how many bytes it has. */
  write(text: string): number {
    const needed = text.length * MAX_UNIT_BYTES;
    if (needed > this.#bytes.length) this.#bytes = new Uint8Array(2 * needed);
    return writeUtf8(this.#bytes, text, 0);
  }
}
