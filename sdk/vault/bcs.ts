/**
 * Reads and writes Binary Canonical Serialization, the format of values on
 * ledgers of the Move family (the public specification is at
 * github.com/diem/bcs): integers are in little endian, and sequences and
 * enumerations begin with their length or variant as ULEB128. A value has
 * exactly one encoding, so bytes that are not canonical are refused.
 *
 * @module
 */

import { decodeHex, decodeUtf8, encodeHex } from "../memory/encodings.ts";

/** The bytes are not the canonical form of a value. */
export class BcsError extends Error {
  /** Creates the error; `state` says what is wrong with the bytes. */
  constructor(state: string) {
    super(`Cannot read BCS: ${state}`);
    this.name = "BcsError";
  }
}

/** The number of bytes of an address. */
export const ADDRESS_BYTES = 32;
/** The most elements of a sequence (BCS, "Length of sequences"). */
const MAX_LENGTH = 0x7fff_ffff;

/** Reads values from bytes, one after the other. */
export class BcsReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  /** Creates a reader that starts at the first byte. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(
      bytes.buffer,
      bytes.byteOffset,
      bytes.byteLength,
    );
  }

  /** The number of bytes that were read. */
  get position(): number {
    return this.#at;
  }

  /** The number of bytes that are left. */
  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** Reads an integer of 8 bits. */
  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  /** Reads an integer of 16 bits. */
  u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  /** Reads an integer of 32 bits. */
  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** Reads an integer of 64 bits. */
  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8), true);
  }

  /** Reads a boolean; only the bytes 0 and 1 are valid. */
  bool(): boolean {
    const value = this.u8();
    if (value > 1) throw new BcsError(`${value} is not a truth value`);
    return value === 1;
  }

  /** Reads `length` bytes; returns a view of them, not a copy. */
  bytes(length: number): Uint8Array {
    const from = this.#take(length);
    return this.#bytes.subarray(from, from + length);
  }

  /**
   * Reads the length of a sequence, or the variant of an enumeration.
   *
   * @param options.max The largest value that is accepted.
   */
  length({ max }: { readonly max: number }): number {
    let value = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.u8();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte >= 0x80) continue;
      if (byte === 0 && shift > 0) {
        throw new BcsError("a length is not written in its shortest form");
      }
      if (value > Math.min(max, MAX_LENGTH)) {
        throw new BcsError(`a length is ${value}, ${max} is the most`);
      }
      return value;
    }
    throw new BcsError("a length has more than 32 bits");
  }

  /**
   * Reads a sequence of bytes; returns a view of them, not a copy.
   *
   * @param options.maxBytes The largest length that is accepted.
   * @param options.maxBytes.default all bytes that are left
   */
  byteVector(options: { readonly maxBytes?: number } = {}): Uint8Array {
    const { maxBytes = this.remaining } = options;
    return this.bytes(this.length({ max: maxBytes }));
  }

  /** Reads a sequence of at most `max` elements; `read` is called for each. */
  vector<T>(max: number, read: (reader: this) => T): T[] {
    const length = this.length({ max });
    const values: T[] = [];
    for (let index = 0; index < length; index++) values.push(read(this));
    return values;
  }

  /** Reads a value that may be missing. */
  option<T>(read: (reader: this) => T): T | undefined {
    return this.bool() ? read(this) : undefined;
  }

  /** Reads a text in UTF-8. */
  string(options: { readonly maxBytes?: number } = {}): string {
    const bytes = this.byteVector(options);
    const text = decodeUtf8(bytes, { ignoreBOM: true });
    if (text === undefined) throw new BcsError("a text is not UTF-8");
    return text;
  }

  /** Reads an address or an object's id: `0x` and 64 hexadecimal digits. */
  address(): string {
    return `0x${encodeHex(this.bytes(ADDRESS_BYTES))}`;
  }

  /** Throws when bytes are left. */
  end(): void {
    if (this.remaining === 0) return;
    throw new BcsError(`${this.remaining} bytes are left over`);
  }

  #take(length: number): number {
    const from = this.#at;
    if (length > this.remaining) throw new BcsError("it ends too early");
    this.#at += length;
    return from;
  }
}

/** Writes values one after the other. Each method returns the writer. */
export class BcsWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  /** Returns a copy of the bytes that were written. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  /** Writes an integer of 8 bits. */
  u8(value: number): this {
    return this.#integer(BigInt(value), 1);
  }

  /** Writes an integer of 16 bits. */
  u16(value: number): this {
    return this.#integer(BigInt(value), 2);
  }

  /** Writes an integer of 32 bits. */
  u32(value: number): this {
    return this.#integer(BigInt(value), 4);
  }

  /** Writes an integer of 64 bits. */
  u64(value: bigint): this {
    return this.#integer(value, 8);
  }

  /** Writes a boolean. */
  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }

  /** Writes bytes as they are, without a length. */
  bytes(bytes: Uint8Array): this {
    const from = this.#reserve(bytes.length);
    this.#bytes.set(bytes, from);
    return this;
  }

  /** Writes the length of a sequence, or the variant of an enumeration. */
  length(value: number): this {
    if (!Number.isInteger(value) || value < 0 || value > MAX_LENGTH) {
      throw new RangeError(`Cannot write BCS: ${value} is no length`);
    }
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
      this.u8((rest % 0x80) | 0x80);
    }
    return this.u8(rest);
  }

  /** Writes a sequence of bytes. */
  byteVector(bytes: Uint8Array): this {
    return this.length(bytes.length).bytes(bytes);
  }

  /** Writes a sequence; `write` is called for each element. */
  vector<T>(
    values: readonly T[],
    write: (writer: this, value: T) => unknown,
  ): this {
    this.length(values.length);
    for (const value of values) write(this, value);
    return this;
  }

  /** Writes a value that may be missing. */
  option<T>(
    value: T | undefined,
    write: (writer: this, value: T) => unknown,
  ): this {
    this.bool(value !== undefined);
    if (value !== undefined) write(this, value);
    return this;
  }

  /** Writes a text in UTF-8. */
  string(text: string): this {
    return this.byteVector(new TextEncoder().encode(text));
  }

  /** Writes an address or an object's id: `0x` and 64 hexadecimal digits. */
  address(address: string): this {
    return this.bytes(addressBytes(address));
  }

  #integer(value: bigint, length: number): this {
    if (value < 0n || value >= 1n << BigInt(8 * length)) {
      throw new RangeError(
        `Cannot write BCS: ${value} does not fit into ${8 * length} bits`,
      );
    }
    const from = this.#reserve(length);
    for (let at = 0; at < length; at++) {
      this.#bytes[from + at] = Number((value >> BigInt(8 * at)) & 0xffn);
    }
    return this;
  }

  #reserve(length: number): number {
    const from = this.#length;
    const end = from + length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#length = end;
    return from;
  }
}

/**
 * Returns the bytes of an address or an object's id.
 *
 * @throws {RangeError} When the text is not `0x` and 64 hexadecimal digits.
 */
export function addressBytes(address: string): Uint8Array<ArrayBuffer> {
  const bytes = address.startsWith("0x")
    ? decodeHex(address.slice(2))
    : undefined;
  if (bytes?.length === ADDRESS_BYTES) return bytes;
  throw new RangeError(
    "Cannot use address: it is not 0x and 64 hexadecimal digits",
  );
}
