/**
 * Decodes bodies that come in chunks (RFC 9112, 7.1).
 *
 * @module
 */

/** The progress of a body. */
type ChunkedState =
  /** More is to come. */
  | "open"
  /** All is there, the trailer included. */
  | "done"
  /** The coding is broken; nothing after it means anything. */
  | "malformed"
  /** The reader refused more data. */
  | "stopped";

/** Most bytes of a line with a size: the size and its extensions. */
const MAX_SIZE_LINE_BYTES = 256;
/** Sizes up to 2^32 - 1; no body is near that. */
const MAX_SIZE_DIGITS = 8;
const MAX_TRAILER_BYTES = 8192;
/** Allowed bytes around the data: per byte of data, and in addition. */
const OVERHEAD_PER_BYTE = 8;
const OVERHEAD_ALLOWANCE = 65_536;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

type Part = "size" | "extension" | "data" | "data_end" | "trailer";

/** Decodes one chunked body. */
export class ChunkedDecoder {
  #state: ChunkedState = "open";
  #part: Part = "size";
  #digits = 0;
  /** Bytes of the chunk that are still to come. */
  #leftBytes = 0;
  #dataBytes = 0;
  #overheadBytes = 0;
  /** Bytes of the line in hand, its end not counted. */
  #lineBytes = 0;
  #trailerBytes = 0;
  #sawReturn = false;

  /** The progress of the body. */
  get state(): ChunkedState {
    return this.#state;
  }

  /**
   * Takes bytes until they or the body end, and hands the data in them to
   * `take`, which stops all by returning false.
   *
   * @returns How many bytes belong to the body.
   */
  push(bytes: Uint8Array, take: (data: Uint8Array) => boolean): number {
    let index = 0;
    while (index < bytes.length && this.#state === "open") {
      if (this.#part === "data") {
        const end = Math.min(bytes.length, index + this.#leftBytes);
        this.#leftBytes -= end - index;
        this.#dataBytes += end - index;
        if (!take(bytes.subarray(index, end))) this.#state = "stopped";
        if (this.#leftBytes === 0) this.#part = "data_end";
        index = end;
      } else {
        this.#pushByte(bytes[index]!);
        index++;
      }
    }
    return index;
  }

  #pushByte(byte: number): void {
    this.#overheadBytes++;
    // Refuse many tiny chunks, or long extensions: they only cost time.
    const allowed = OVERHEAD_ALLOWANCE + OVERHEAD_PER_BYTE * this.#dataBytes;
    if (this.#overheadBytes > allowed) return this.#fail();
    if (this.#sawReturn) {
      this.#sawReturn = false;
      return byte === LINE_FEED ? this.#endLine() : this.#fail();
    }
    if (byte === CARRIAGE_RETURN) {
      this.#sawReturn = true;
      return;
    }
    if ((byte < 0x20 && byte !== 0x09) || byte === 0x7f) return this.#fail();
    this.#lineBytes++;
    switch (this.#part) {
      case "size":
        return this.#pushSize(byte);
      case "extension":
        if (this.#lineBytes > MAX_SIZE_LINE_BYTES) this.#fail();
        return;
      case "trailer":
        this.#trailerBytes++;
        if (this.#trailerBytes > MAX_TRAILER_BYTES) this.#fail();
        return;
      default:
        // After the data of a chunk comes the end of its line at once.
        return this.#fail();
    }
  }

  #pushSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== -1 && this.#digits < MAX_SIZE_DIGITS) {
      this.#digits++;
      this.#leftBytes = this.#leftBytes * 16 + digit;
      return;
    }
    const isExtension = byte === 0x3b && this.#digits > 0;
    if (!isExtension) return this.#fail();
    this.#part = "extension";
  }

  #endLine(): void {
    const lineBytes = this.#lineBytes;
    this.#lineBytes = 0;
    if (this.#part === "data_end") {
      this.#part = "size";
      this.#digits = 0;
    } else if (this.#part === "trailer") {
      // The trailer is nothing we need; the empty line ends it.
      if (lineBytes === 0) this.#state = "done";
    } else if (this.#digits === 0) {
      this.#fail();
    } else {
      this.#part = this.#leftBytes === 0 ? "trailer" : "data";
    }
  }

  #fail(): void {
    this.#state = "malformed";
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
