/**
 * A text as bytes, and the same text with an encoding undone, in which each byte
 * still knows where it comes from.
 *
 * @module
 */

/** Bytes that stand for a part of a source each. */
export interface ByteView {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** Where in the source each begins; when absent, a byte is its own source. */
  readonly starts?: Uint32Array;
  /** Where in the source each ends; present when `starts` is. */
  readonly ends?: Uint32Array;
}

/** A text as it is: its UTF-8. */
export function viewOf(text: string): ByteView {
  return { bytes: new TextEncoder().encode(text) };
}

/** Where in the source the byte at `index` begins. */
export function startOf(view: ByteView, index: number): number {
  return view.starts === undefined ? index : view.starts[index]!;
}

/** Where in the source the byte at `index` ends. */
export function endOf(view: ByteView, index: number): number {
  return view.ends === undefined ? index + 1 : view.ends[index]!;
}

/** Bytes of one view that a byte of another comes from. */
export interface ByteSpan {
  /** The first of them. */
  readonly from: number;
  /** The one after the last of them. */
  readonly to: number;
}

/** Builds a view from bytes that come from another view. */
export class ByteViewBuilder {
  readonly #base: ByteView;
  readonly #bytes: Uint8Array;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;
  #length = 0;

  /** A view of at most `capacity` bytes that come from `base`. */
  constructor(base: ByteView, capacity: number) {
    this.#base = base;
    this.#bytes = new Uint8Array(capacity);
    this.#starts = new Uint32Array(capacity);
    this.#ends = new Uint32Array(capacity);
  }

  /** Adds a byte. */
  add(byte: number, span: ByteSpan): void {
    this.#starts[this.#length] = startOf(this.#base, span.from);
    this.#ends[this.#length] = endOf(this.#base, span.to - 1);
    this.#bytes[this.#length++] = byte;
  }

  /**
   * Adds a character in UTF-8 (RFC 3629, section 3), all of whose bytes come from
   * the same place. Half a surrogate pair becomes U+FFFD, as everywhere.
   */
  addCodePoint(codePoint: number, span: ByteSpan): void {
    const isHalf = codePoint >= 0xd800 && codePoint <= 0xdfff;
    const code = isHalf ? 0xfffd : codePoint;
    if (code < 0x80) {
      this.add(code, span);
    } else if (code < 0x800) {
      this.add(0xc0 | code >> 6, span);
      this.add(0x80 | code & 0x3f, span);
    } else if (code < 0x10000) {
      this.add(0xe0 | code >> 12, span);
      this.add(0x80 | code >> 6 & 0x3f, span);
      this.add(0x80 | code & 0x3f, span);
    } else {
      this.add(0xf0 | code >> 18, span);
      this.add(0x80 | code >> 12 & 0x3f, span);
      this.add(0x80 | code >> 6 & 0x3f, span);
      this.add(0x80 | code & 0x3f, span);
    }
  }

  /** The view of all that was added. */
  build(): ByteView {
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      starts: this.#starts.subarray(0, this.#length),
      ends: this.#ends.subarray(0, this.#length),
    };
  }
}
