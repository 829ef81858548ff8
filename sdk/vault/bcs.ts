/**
 * Binary Canonical Serialization, as ledgers of the Move family write their values
 * (the public specification at github.com/diem/bcs): integers in little endian,
 * sequences and enumerations with their length or variant in front as ULEB128.
 * A value has one encoding only, so what is not canonical is refused.
 *
 * @module
 */

import { decodeHex, encodeHex } from "../memory/encodings.ts";

/** The bytes are not the canonical form of a value. */
export class BcsError extends Error {
  /** The error of a reader or a writer; the message says what is wrong. */
  constructor(state: string) {
    super(`Cannot read BCS: ${state}`);
    this.name = "BcsError";
  }
}

/** Bytes of an address. */
export const ADDRESS_BYTES = 32;
/** Most elements of a sequence (BCS, "Length of sequences"). */
const MAX_LENGTH = 0x7fff_ffff;

/** Reads values one after the other. */
export class BcsReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  /** A reader at the first byte. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(
      bytes.buffer,
      bytes.byteOffset,
      bytes.byteLength,
    );
  }

  /** How many bytes were read. */
  get position(): number {
    return this.#at;
  }

  /** How many bytes are left. */
  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  /** An integer of 8 bits. */
  u8(): number {
    return this.#view.getUint8(this.#take(1));
  }

  /** An integer of 16 bits. */
  u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  /** An integer of 32 bits. */
  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** An integer of 64 bits. */
  u64(): bigint {
    return this.#view.getBigUint64(this.#take(8), true);
  }

  /** A truth value; only 0 and 1 are any. */
  bool(): boolean {
    const value = this.u8();
    if (value > 1) throw new BcsError(`${value} is no truth value`);
    return value === 1;
  }

  /** So many bytes, a view of those that are read. */
  bytes(length: number): Uint8Array {
    const from = this.#take(length);
    return this.#bytes.subarray(from, from + length);
  }

  /**
   * How many elements a sequence has, or which variant an enumeration has.
   *
   * @param options.max The greatest that is taken.
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
   * A sequence of bytes, a view of those that are read.
   *
   * @param options.maxBytes The longest that is taken.
   * @param options.maxBytes.default all that is left
   */
  byteVector(options: { readonly maxBytes?: number } = {}): Uint8Array {
    const { maxBytes = this.remaining } = options;
    return this.bytes(this.length({ max: maxBytes }));
  }

  /** A sequence; `read` is called for each element. */
  vector<T>(max: number, read: (reader: this) => T): T[] {
    const length = this.length({ max });
    const values: T[] = [];
    for (let index = 0; index < length; index++) values.push(read(this));
    return values;
  }

  /** A value that may be missing. */
  option<T>(read: (reader: this) => T): T | undefined {
    return this.bool() ? read(this) : undefined;
  }

  /** A text in UTF-8. */
  string(options: { readonly maxBytes?: number } = {}): string {
    const bytes = this.byteVector(options);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
        .decode(bytes);
    } catch {
      throw new BcsError("a text is not UTF-8");
    }
  }

  /** An address or an object's id: `0x` and 64 hexadecimal digits. */
  address(): string {
    return `0x${encodeHex(this.bytes(ADDRESS_BYTES))}`;
  }

  /** Makes sure that nothing is left. */
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

  /** What was written, in bytes of their own. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  /** An integer of 8 bits. */
  u8(value: number): this {
    return this.#integer(BigInt(value), 1);
  }

  /** An integer of 16 bits. */
  u16(value: number): this {
    return this.#integer(BigInt(value), 2);
  }

  /** An integer of 32 bits. */
  u32(value: number): this {
    return this.#integer(BigInt(value), 4);
  }

  /** An integer of 64 bits. */
  u64(value: bigint): this {
    return this.#integer(value, 8);
  }

  /** A truth value. */
  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }

  /** Bytes as they are. */
  bytes(bytes: Uint8Array): this {
    const from = this.#reserve(bytes.length);
    this.#bytes.set(bytes, from);
    return this;
  }

  /** The length of a sequence, or the variant of an enumeration. */
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

  /** A sequence of bytes. */
  byteVector(bytes: Uint8Array): this {
    return this.length(bytes.length).bytes(bytes);
  }

  /** A sequence; `write` is called for each element. */
  vector<T>(
    values: readonly T[],
    write: (writer: this, value: T) => unknown,
  ): this {
    this.length(values.length);
    for (const value of values) write(this, value);
    return this;
  }

  /** A value that may be missing. */
  option<T>(
    value: T | undefined,
    write: (writer: this, value: T) => unknown,
  ): this {
    this.bool(value !== undefined);
    if (value !== undefined) write(this, value);
    return this;
  }

  /** A text in UTF-8. */
  string(text: string): this {
    return this.byteVector(new TextEncoder().encode(text));
  }

  /** An address or an object's id: `0x` and 64 hexadecimal digits. */
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
 * The bytes of an address or an object's id.
 *
 * @throws {RangeError} When it is not `0x` and 64 hexadecimal digits.
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
