/**
 * Columns of numbers and texts, one after the other in bytes: how the index of
 * an owner is written down.
 *
 * A column of numbers is a byte that names its type, three bytes of 0, its
 * length (32 bits) and its numbers, all little endian as in memory. A column of
 * texts is two of those: the lengths of the texts in UTF-16 units, and the
 * UTF-8 of all of them.
 *
 * @module
 */

/** A column of numbers. */
type Numbers =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

const HEAD_BYTES = 8;
/** Most bytes of a column, so that a wrong length takes no memory. */
const MAX_COLUMN_BYTES = 1_073_741_824;
const TYPES = [
  Uint8Array,
  Uint16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
] as const;

/**
 * The bytes of a column, as views of its memory: to be used before it changes.
 */
export function* numberPieces(column: Numbers): Generator<Uint8Array> {
  yield encodeHead(column, column.length);
  yield toBytes(column);
}

/**
 * The bytes of a column whose numbers stand in several arrays, `length` in all.
 */
export function* joinedPieces(
  parts: Iterable<Uint32Array>,
  length: number,
): Generator<Uint8Array> {
  yield encodeHead(new Uint32Array(), length);
  for (const part of parts) yield toBytes(part);
}

/** The bytes of a column of texts. */
export function* textPieces(texts: readonly string[]): Generator<Uint8Array> {
  yield* numberPieces(Uint32Array.from(texts, (text) => text.length));
  yield* numberPieces(new TextEncoder().encode(texts.join("")));
}

function encodeHead(column: Numbers, length: number): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES);
  head[0] = TYPES.findIndex((type) => column instanceof type);
  new DataView(head.buffer).setUint32(4, length, true);
  return head;
}

function toBytes(column: Numbers): Uint8Array {
  const { buffer, byteOffset, byteLength } = column;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Reads columns in the order in which they were written. */
export class ColumnReader {
  readonly #next: () => Promise<Uint8Array | undefined>;
  #bytes: Uint8Array = new Uint8Array();
  #at = 0;

  /** A reader of bytes that `next` gives in parts, undefined at the end. */
  constructor(next: () => Promise<Uint8Array | undefined>) {
    this.#next = next;
  }

  /**
   * The next column.
   *
   * @throws {RangeError} when it is of another type or does not end
   */
  async numbers<Column extends Numbers>(
    type: new (length: number) => Column,
  ): Promise<Column> {
    const head = new Uint8Array(HEAD_BYTES);
    await this.#fill(head);
    const length = new DataView(head.buffer).getUint32(4, true);
    const named = TYPES[head[0] ?? TYPES.length];
    if (named?.name !== type.name) {
      throw new RangeError("Cannot read column: it is of another type");
    }
    if (length * named.BYTES_PER_ELEMENT > MAX_COLUMN_BYTES) {
      throw new RangeError("Cannot read column: it is too long");
    }
    const column = new type(length);
    await this.#fill(toBytes(column));
    return column;
  }

  /**
   * The next column of texts; throws as {@linkcode ColumnReader.numbers} does.
   */
  async texts(): Promise<readonly string[]> {
    const lengths = await this.numbers(Uint32Array);
    const all = new TextDecoder().decode(await this.numbers(Uint8Array));
    const texts = new Array<string>(lengths.length);
    let from = 0;
    for (let index = 0; index < lengths.length; index++) {
      texts[index] = all.slice(from, from += lengths[index]!);
    }
    if (from === all.length) return texts;
    throw new RangeError(
      "Cannot read texts: they do not end where they should",
    );
  }

  /**
   * Checks that nothing follows the last column.
   *
   * @throws {RangeError} when something does
   */
  async end(): Promise<void> {
    if (this.#at === this.#bytes.length && await this.#next() === undefined) {
      return;
    }
    throw new RangeError("Cannot read columns: something follows the last one");
  }

  async #fill(room: Uint8Array): Promise<void> {
    let filled = 0;
    while (filled < room.length) {
      if (this.#at === this.#bytes.length) {
        const bytes = await this.#next();
        if (bytes === undefined) {
          throw new RangeError("Cannot read column: it does not end");
        }
        this.#bytes = bytes;
        this.#at = 0;
        continue;
      }
      const end = Math.min(
        this.#bytes.length,
        this.#at + room.length - filled,
      );
      room.set(this.#bytes.subarray(this.#at, end), filled);
      filled += end - this.#at;
      this.#at = end;
    }
  }
}
