/**
 * Writes protobuf's wire format.
 *
 * @module
 */

import { writeUtf8 } from "./utf8.ts";
import { WIRE_TYPE } from "./wire.ts";

const TWO_32 = 4_294_967_296;
const TAG_AND_VARINT = 15;

/**
 * Writes the fields of a message, and of those nested in it, into a buffer that
 * grows. Every method writes its field even when the value is the default: the
 * caller leaves out what proto3 leaves out.
 */
export class WireWriter {
  readonly #capacity: number;
  #bytes: Uint8Array<ArrayBuffer>;
  #start = 0;
  #length = 0;

  /**
   * Makes a writer with room for `capacity` bytes before it needs a new buffer.
   */
  constructor(capacity: number = 256) {
    this.#capacity = capacity;
    this.#bytes = new Uint8Array(capacity);
  }

  /** Writes an unsigned integer, whole and at most 2^53. */
  uint(field: number, value: number): void {
    this.#reserve(TAG_AND_VARINT);
    this.#varint(field << 3 | WIRE_TYPE.VARINT);
    this.#varint(value);
  }

  /** Writes a signed integer or an enum, whole and within ±2^53. */
  int(field: number, value: number): void {
    if (value >= 0) return this.uint(field, value);
    this.#reserve(TAG_AND_VARINT);
    this.#varint(field << 3 | WIRE_TYPE.VARINT);
    this.#negative(value);
  }

  /** Writes a boolean. */
  bool(field: number, value: boolean): void {
    this.uint(field, value ? 1 : 0);
  }

  /** Writes a double. */
  double(field: number, value: number): void {
    this.#reserve(TAG_AND_VARINT);
    this.#varint(field << 3 | WIRE_TYPE.FIXED64);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** Writes text; half of a surrogate pair becomes U+FFFD. */
  text(field: number, value: string): void {
    const mark = this.open(field);
    this.#reserve(value.length * 3);
    this.#length = writeUtf8(this.#bytes, value, this.#length);
    this.close(mark);
  }

  /** Writes bytes, or a message that is encoded already. */
  bytes(field: number, value: Uint8Array): void {
    this.#reserve(TAG_AND_VARINT + value.length);
    this.#varint(field << 3 | WIRE_TYPE.LENGTH_DELIMITED);
    this.#varint(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /**
   * Begins a message: what is written until {@linkcode WireWriter.close} is its
   * content.
   *
   * @returns The mark to pass to `close`.
   */
  open(field: number): number {
    this.#reserve(TAG_AND_VARINT);
    this.#varint(field << 3 | WIRE_TYPE.LENGTH_DELIMITED);
    return ++this.#length - this.#start;
  }

  /** Ends the message that `mark` began. */
  close(mark: number): void {
    const length = this.#length - this.#start - mark;
    if (length < 0x80) {
      this.#bytes[this.#start + mark - 1] = length;
      return;
    }
    // One byte was reserved for the length; a longer length moves the content
    // along.
    const extra = varintLength(length) - 1;
    this.#reserve(extra);
    const from = this.#start + mark;
    this.#bytes.copyWithin(from + extra, from, this.#length);
    this.#length = from - 1;
    this.#varint(length);
    this.#length += length;
  }

  /** Returns the message in a buffer of its own, and starts the next one. */
  finish(): Uint8Array<ArrayBuffer> {
    const message = this.#bytes.slice(this.#start, this.#length);
    this.reset();
    return message;
  }

  /**
   * Returns the message in place, and starts the next one behind it. Messages
   * share a buffer, which spares each an allocation that costs more than its
   * bytes do; a message is never overwritten.
   */
  take(): Uint8Array<ArrayBuffer> {
    const message = this.#bytes.subarray(this.#start, this.#length);
    this.#start = this.#length;
    // A buffer that grew for one large message is left to that message alone.
    if (this.#bytes.length > this.#capacity) {
      this.#bytes = new Uint8Array(0);
      this.#start = 0;
      this.#length = 0;
    }
    return message;
  }

  /** Drops what was written since the last `take`. */
  reset(): void {
    this.#length = this.#start;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const used = this.#length - this.#start;
    const grown = new Uint8Array(
      Math.max(this.#capacity, 2 * (used + size)),
    );
    grown.set(this.#bytes.subarray(this.#start, this.#length));
    this.#bytes = grown;
    this.#start = 0;
    this.#length = used;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x8000_0000) {
      this.#bytes[this.#length++] = rest % 128 | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = rest & 0x7f | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /**
   * Writes a negative number as the two's complement of 64 bits, in ten bytes.
   */
  #negative(value: number): void {
    let low = value >>> 0;
    let high = Math.floor(value / TWO_32) >>> 0;
    for (let index = 0; index < 9; index++) {
      this.#bytes[this.#length++] = low & 0x7f | 0x80;
      low = (low >>> 7 | high << 25) >>> 0;
      high >>>= 7;
    }
    this.#bytes[this.#length++] = low;
  }
}

function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) length++;
  return length;
}
