/**
 * Reads the items of a large JSON file one by one: the values of its list, of
 * the lists in its object, or of its lines. The file may be larger than the
 * memory; an item may not.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** Most bytes of an item. */
export const MAX_ITEM_BYTES = 67_108_864;

const MAX_DEPTH = 256;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Where the items of a JSON text are: in the list that it is, in lists of the
 * object that it is, or one after the other, as in JSON lines.
 */
export type JsonShape = "list" | "lines" | "wrapped";

const DEPTHS: Readonly<Record<JsonShape, number>> = {
  lines: 0,
  list: 1,
  wrapped: 2,
};

/**
 * Returns where the items of a text are, by its beginning; undefined when it
 * cannot be JSON with objects.
 *
 * @param isRecord Whether an object is an item itself.
 */
export function detectShape(
  head: string,
  isRecord: (value: unknown) => boolean,
): JsonShape | undefined {
  const text = head.replace(/^\ufeff?\s*/, "");
  if (text.startsWith("[")) return "list";
  if (!text.startsWith("{")) return undefined;
  const [line = ""] = text.split("\n", 1);
  try {
    return isRecord(JSON.parse(line)) ? "lines" : "wrapped";
  } catch {
    // The first line is a part of an object: of a conversation, if such a
    // member comes before any list, or of what lists conversations.
    const before = text.slice(0, text.indexOf("[") + 1);
    return /"chat_messages"\s*:\s*\[$|"mapping"\s*:\s*\{/.test(before)
      ? "lines"
      : "wrapped";
  }
}

/** Options of {@linkcode readJsonItems}. */
interface JsonItemsOptions {
  /** Where the items are. */
  readonly shape: JsonShape;
  /**
   * Most bytes of an item.
   *
   * @default {@linkcode MAX_ITEM_BYTES}
   */
  readonly maxItemBytes?: number | undefined;
}

/**
 * Yields the objects that are items. Values of other kinds are left out.
 *
 * @throws {SyntaxError} when an item is no JSON or too long, or the text ends
 * within one; the message shows nothing of the text
 */
export async function* readJsonItems(
  chunks: AsyncIterable<Uint8Array>,
  options: JsonItemsOptions,
): AsyncGenerator<unknown> {
  const cutter = new ItemCutter(options);
  for await (const chunk of chunks) yield* cutter.take(chunk);
  cutter.end();
}

/** Finds where items begin and end, chunk after chunk. */
class ItemCutter {
  readonly #depth: number;
  readonly #maxItemBytes: number;
  /** The open brackets: `[` and `{`. */
  readonly #open: number[] = [];
  #isInString = false;
  #isEscaped = false;
  /** The pieces of the item that is open; undefined outside of items. */
  #pieces: Uint8Array[] | undefined;
  #bytes = 0;
  #count = 0;

  constructor({ shape, maxItemBytes = MAX_ITEM_BYTES }: JsonItemsOptions) {
    this.#depth = DEPTHS[shape];
    this.#maxItemBytes = maxItemBytes;
  }

  /** Yields the items that end in a chunk. */
  *take(chunk: Uint8Array): Generator<unknown> {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isInString = false;
      } else if (byte === QUOTE) {
        this.#isInString = true;
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        if (this.#beginsItem(byte)) {
          this.#pieces = [];
          from = at;
        }
        this.#push(byte);
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        this.#close(byte);
        if (this.#pieces === undefined) continue;
        if (this.#open.length !== this.#depth) continue;
        this.#keep(chunk.subarray(from, at + 1));
        yield this.#finish();
      }
    }
    if (this.#pieces !== undefined) this.#keep(chunk.subarray(from));
  }

  /** Throws when the text has ended within something. */
  end(): void {
    if (this.#open.length === 0 && !this.#isInString) return;
    throw this.#fault("the file ends within it, so it was cut off");
  }

  #beginsItem(byte: number): boolean {
    const { length: depth } = this.#open;
    return byte === OPEN_OBJECT && depth === this.#depth &&
      (depth === 0 || this.#open[depth - 1] === OPEN_LIST);
  }

  #push(byte: number): void {
    if (this.#open.length >= MAX_DEPTH) {
      throw this.#fault(`it is nested more than ${MAX_DEPTH} deep`);
    }
    this.#open.push(byte);
  }

  #close(byte: number): void {
    const fits = byte === CLOSE_LIST ? OPEN_LIST : OPEN_OBJECT;
    if (this.#open.pop() !== fits) throw this.#fault("its brackets do not fit");
  }

  #keep(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxItemBytes) {
      throw this.#fault(`it has more than ${this.#maxItemBytes} bytes`);
    }
    // A copy, since the chunk may be used again.
    this.#pieces?.push(Uint8Array.from(piece));
  }

  #finish(): unknown {
    const bytes = Buffer.concat(this.#pieces ?? []);
    this.#pieces = undefined;
    this.#bytes = 0;
    try {
      const value: unknown = JSON.parse(bytes.toString("utf8"));
      this.#count++;
      return value;
    } catch {
      // The parser's own message would repeat parts of the file.
      throw this.#fault("it is not JSON");
    }
  }

  #fault(state: string): SyntaxError {
    return new SyntaxError(`Cannot read item ${this.#count + 1}: ${state}`);
  }
}
