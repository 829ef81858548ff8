/**
 * Reads protobuf's wire format: one pass over the bytes, no object for a field,
 * no exception. The rules are those of
 * https://protobuf.dev/programming-guides/encoding. A fault is returned as a
 * value.
 *
 * @module
 */

import { isUtf8 } from "./utf8.ts";

/** The bytes are not a message of the expected type. */
export interface MalformedFault {
  /** Tells the faults apart. */
  readonly kind: "malformed";
  /**
   * What is wrong and where, such as `Cannot decode request: truncated field 2
   * at byte 17`.
   */
  readonly reason: string;
}

/** The message is well formed, but holds more descriptors than the caller takes. */
interface TooManyDescriptorsFault {
  /** Tells the faults apart. */
  readonly kind: "too_many_descriptors";
  /** How many descriptors are allowed, and how many the message has. */
  readonly reason: string;
  /** Number of descriptors in the message. */
  readonly count: number;
}

/**
 * Why a message could not be decoded. No message type has a field `kind`, so
 * `"kind" in result` tells a fault from a decoded message.
 */
export type DecodeFault = MalformedFault | TooManyDescriptorsFault;

/** Wire types by name. */
export const WIRE_TYPE = {
  VARINT: 0,
  FIXED64: 1,
  LENGTH_DELIMITED: 2,
  START_GROUP: 3,
  END_GROUP: 4,
  FIXED32: 5,
} as const;

/** Depth to which unknown groups may be nested, protobuf's own default. */
const MAX_GROUP_DEPTH = 100;

const TWO_32 = 4_294_967_296;

/**
 * Reads the fields of a message and of the messages nested in it, and skips
 * fields that the caller does not know. The first fault is kept and moves the
 * reader to its end: reads after it return zeros and empty ranges, every loop
 * over {@linkcode WireReader.hasMore} ends, and {@linkcode WireReader.fault}
 * returns the fault. So a decoder needs one check, at its end.
 */
export class WireReader {
  readonly #bytes: Uint8Array;
  #position = 0;
  #limit: number;
  #field = 0;
  #low = 0;
  #high = 0;
  #reason: string | undefined;

  /** Makes a reader of one message that fills `bytes`. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#limit = bytes.length;
  }

  /** Index of the next byte. */
  get position(): number {
    return this.#position;
  }

  /** True while the message being read has further fields. */
  hasMore(): boolean {
    return this.#position < this.#limit;
  }

  /** Reads a tag: field number times eight plus wire type; 0 after a fault. */
  tag(): number {
    const at = this.#position;
    this.#field = 0;
    this.#varint();
    const tag = this.#low;
    this.#field = tag >>> 3;
    if (this.#high !== 0 || this.#field === 0) {
      if (this.#reason === undefined) {
        this.fail(`field number out of range at byte ${at}`);
      }
      return 0;
    }
    return tag;
  }

  /** Reads an unsigned integer of 64 bits; over 2^53 it is rounded. */
  uint64(): number {
    this.#varint();
    return this.#high * TWO_32 + this.#low;
  }

  /** Reads a signed integer of 64 bits; beyond 2^53 it is rounded. */
  int64(): number {
    this.#varint();
    return (this.#high | 0) * TWO_32 + this.#low;
  }

  /** Reads an unsigned integer: the low 32 bits, as protobuf has it. */
  uint32(): number {
    this.#varint();
    return this.#low;
  }

  /** Reads a signed integer or an enum: the low 32 bits, as protobuf has it. */
  int32(): number {
    this.#varint();
    return this.#low | 0;
  }

  /** Reads a boolean: true for anything but 0. */
  bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** Reads a double. */
  double(): number {
    const at = this.#position;
    this.#advance(8);
    if (this.#reason !== undefined) return 0;
    const { buffer, byteOffset } = this.#bytes;
    return new DataView(buffer, byteOffset + at, 8).getFloat64(0, true);
  }

  /**
   * Steps over text and checks that it is UTF-8.
   *
   * @returns Index of its first byte; `position` is one past its last.
   */
  textStart(): number {
    const length = this.#length();
    const start = this.#position;
    const end = start + length;
    if (!isUtf8(this.#bytes, start, end)) {
      this.fail(`field ${this.#field} at byte ${start} is not UTF-8 text`);
      return this.#position;
    }
    this.#position = end;
    return start;
  }

  /** Reads text; empty after a fault. */
  text(): string {
    const start = this.textStart();
    if (start === this.#position) return "";
    // Without `ignoreBOM` a leading U+FEFF would be lost.
    return new TextDecoder("utf-8", { ignoreBOM: true })
      .decode(this.#bytes.subarray(start, this.#position));
  }

  /** Reads bytes, as a view of them; empty after a fault. */
  bytes(): Uint8Array {
    const length = this.#length();
    const start = this.#position;
    this.#position = start + length;
    return this.#bytes.subarray(start, this.#position);
  }

  /**
   * Enters the message in the current field: until {@linkcode
   * WireReader.close}, `hasMore` is about that message.
   *
   * @returns The value to pass to `close`.
   */
  open(): number {
    const outer = this.#limit;
    const length = this.#length();
    this.#limit = this.#position + length;
    return outer;
  }

  /** Leaves a message, once all its fields are read. */
  close(outer: number): void {
    this.#limit = outer;
  }

  /** Steps over the value of a field the caller does not know. */
  skip(tag: number): void {
    this.#skip(tag, 0);
  }

  /** Keeps a fault, unless there was one before, and moves to the end. */
  fail(reason: string): void {
    this.#reason ??= reason;
    this.#position = this.#bytes.length;
    this.#limit = this.#position;
    this.#low = 0;
    this.#high = 0;
  }

  /**
   * Returns the fault of the message, which the text calls `what`; undefined
   * without a fault.
   */
  fault(what: string): MalformedFault | undefined {
    if (this.#reason === undefined) return undefined;
    const reason = `Cannot decode ${what}: ${this.#reason}`;
    return { kind: "malformed", reason };
  }

  #skip(tag: number, depth: number): void {
    switch (tag & 7) {
      case WIRE_TYPE.VARINT:
        return this.#varint();
      case WIRE_TYPE.FIXED64:
        return this.#advance(8);
      case WIRE_TYPE.LENGTH_DELIMITED:
        return this.#advance(this.#length());
      case WIRE_TYPE.START_GROUP:
        return this.#skipGroup(tag >>> 3, depth + 1);
      case WIRE_TYPE.FIXED32:
        return this.#advance(4);
      case WIRE_TYPE.END_GROUP:
        return this.fail(
          `group of field ${tag >>> 3} ends unopened at byte ${this.#position}`,
        );
      default:
        return this.fail(
          `wire type ${tag & 7} of field ${tag >>> 3} ` +
            `at byte ${this.#position} is unknown`,
        );
    }
  }

  #skipGroup(field: number, depth: number): void {
    if (depth > MAX_GROUP_DEPTH) {
      return this.fail(
        `groups are nested over ${MAX_GROUP_DEPTH} deep ` +
          `at byte ${this.#position}`,
      );
    }
    while (this.hasMore()) {
      const tag = this.tag();
      if (tag === (field << 3 | WIRE_TYPE.END_GROUP) >>> 0) return;
      this.#skip(tag, depth);
    }
    this.fail(`group of field ${field} is not closed`);
  }

  #length(): number {
    const length = this.uint64();
    if (length > this.#limit - this.#position) {
      this.#truncated();
      return 0;
    }
    return length;
  }

  #advance(length: number): void {
    if (length > this.#limit - this.#position) this.#truncated();
    else this.#position += length;
  }

  #varint(): void {
    const at = this.#position;
    if (at < this.#limit) {
      const byte = this.#bytes[at]!;
      if (byte < 0x80) {
        this.#low = byte;
        this.#high = 0;
        this.#position = at + 1;
        return;
      }
    }
    this.#longVarint();
  }

  #longVarint(): void {
    const bytes = this.#bytes;
    const start = this.#position;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const at = start + shift / 7;
      if (at >= this.#limit) return this.#truncated();
      const byte = bytes[at]!;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else if (byte > 1) break;
      else high |= bits << 31;
      if (byte < 0x80) {
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        this.#position = at + 1;
        return;
      }
    }
    this.fail(`integer over 64 bits at byte ${start}`);
  }

  #truncated(): void {
    const what = this.#field === 0 ? "tag" : `field ${this.#field}`;
    this.fail(`truncated ${what} at byte ${this.#position}`);
  }
}
