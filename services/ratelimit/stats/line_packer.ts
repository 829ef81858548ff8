/**
 * Packs lines into payloads of a bounded size.
 *
 * @module
 */

/** Joins lines, each with a line end, until a payload is full. */
export class LinePacker {
  readonly #encoder = new TextEncoder();
  readonly #buffer: Uint8Array;
  #length = 0;

  /** Payloads hold at most `maxBytes`. */
  constructor(maxBytes: number) {
    this.#buffer = new Uint8Array(maxBytes);
  }

  /** Adds a line; false, and nothing changes, when it does not fit. */
  add(line: string): boolean {
    const text = `${line}\n`;
    const free = this.#buffer.subarray(this.#length);
    const { read, written } = this.#encoder.encodeInto(text, free);
    if (read < text.length) return false;
    this.#length += written;
    return true;
  }

  /** Hands out what is packed so far and empties it; undefined when empty. */
  take(): Uint8Array | undefined {
    if (this.#length === 0) return undefined;
    const payload = this.#buffer.slice(0, this.#length);
    this.#length = 0;
    return payload;
  }
}
