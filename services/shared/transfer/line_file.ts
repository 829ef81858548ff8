/**
 * Files of lines of JSON: a first line that tells what follows, a line for each
 * row, and a last one by which a file that was cut or changed is noticed.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { quote } from "../quote.ts";
import { describeError } from "../settled.ts";
import { Fields, LineError } from "./line_fields.ts";
import type { WriteBytes } from "./output_file.ts";

/** How many characters are written together. */
const CHUNK_CHARS = 1_000_000;
/** The longest line, in bytes; a text in memory could not be much longer. */
const MAX_LINE_BYTES = 400_000_000;
const READ_BYTES = 1_048_576;
const LINE_FEED = 10;
/** What the last line begins with. */
const END = '{"kind":"end"';

/** Writes the lines of a file. */
export class LineWriter {
  readonly #write: WriteBytes;
  readonly #encoder = new TextEncoder();
  readonly #hash = createHash("sha256");
  #text = "";

  /** Takes what takes the bytes. */
  constructor(write: WriteBytes) {
    this.#write = write;
  }

  /** Writes the first line. */
  async begin(head: Readonly<Record<string, unknown>>): Promise<void> {
    const line = JSON.stringify({ kind: "head", ...head });
    await this.#write(this.#encoder.encode(`${line}\n`));
  }

  /** Takes the line of a row; returns whether lines were written now. */
  async add(line: string): Promise<boolean> {
    this.#text += `${line}\n`;
    if (this.#text.length < CHUNK_CHARS) return false;
    await this.#flush();
    return true;
  }

  /**
   * Writes the last line.
   *
   * @returns SHA-256 of all lines between the first and the last, in
   * hexadecimal
   */
  async end(
    { counts }: { readonly counts: Readonly<Record<string, number>> },
  ): Promise<string> {
    await this.#flush();
    const sha256 = this.#hash.digest("hex");
    const line = JSON.stringify({ kind: "end", counts, sha256 });
    await this.#write(this.#encoder.encode(`${line}\n`));
    return sha256;
  }

  async #flush(): Promise<void> {
    const bytes = this.#encoder.encode(this.#text);
    this.#text = "";
    this.#hash.update(bytes);
    await this.#write(bytes);
  }
}

/** A file to read. */
export interface LineSource {
  /** Its name, for errors. */
  readonly name: string;
  /** Its bytes. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A file at a path, from its beginning. */
export function fileSource(path: string): LineSource {
  return { name: path, chunks: chunksOf(path) };
}

/** Who hears of the first and the last line. */
interface LineListeners {
  /**
   * Called with the first line.
   *
   * @throws {LineError} when it is not that of the export that is read
   */
  readonly onHead: (fields: Fields) => void;
  /** Returns how many rows of each kind there were so far. */
  readonly counts: () => Readonly<Record<string, number>>;
}

/** The line of a row. */
export interface RowLine {
  /** Its number; 1 is the first line. */
  readonly number: number;
  /** The text. */
  readonly text: string;
}

/**
 * Yields the lines of rows.
 *
 * @throws {Error} when the file was cut or changed, which is known only at its
 * end
 */
export async function* readLines(
  source: LineSource,
  { onHead, counts }: LineListeners,
): AsyncGenerator<RowLine> {
  const hash = createHash("sha256");
  const { name } = source;
  let number = 0;
  let isEnded = false;
  for await (const line of linesOf(source)) {
    number++;
    if (isEnded) {
      throw new Error(`Cannot read ${quote(name)}: lines follow the last one`);
    }
    const text = new TextDecoder().decode(line);
    if (number === 1) {
      atLine(source, number, () => {
        const fields = new Fields(text);
        if (fields.text("kind") !== "head") {
          throw new LineError("it is not the first one of an export");
        }
        onHead(fields);
      });
    } else if (text.startsWith(END)) {
      isEnded = true;
      atLine(source, number, () => {
        const fields = new Fields(text);
        demandCounts(new Fields(fields.object("counts")), counts());
        if (fields.text("sha256") !== hash.digest("hex")) {
          throw new LineError("lines before it were changed");
        }
      });
    } else {
      hash.update(line);
      hash.update("\n");
      yield { number, text };
    }
  }
  if (isEnded) return;
  throw new Error(
    number === 0
      ? `Cannot read ${quote(name)}: it is empty`
      : `Cannot read ${quote(name)}: it was cut off after line ${number}`,
  );
}

function demandCounts(
  told: Fields,
  counts: Readonly<Record<string, number>>,
): void {
  for (const [kind, count] of Object.entries(counts)) {
    if (told.integer(kind) === count) continue;
    throw new LineError(
      `lines before it are missing: it tells ${told.integer(kind)} of the ` +
        `kind "${kind}", there are ${count}`,
    );
  }
}

/**
 * Reads a line, and names it in an error.
 *
 * @throws {Error} in place of a `LineError` that `read` throws
 */
export function atLine<Result>(
  { name }: Pick<LineSource, "name">,
  number: number,
  read: () => Result,
): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    throw new Error(
      `Cannot read line ${number} of ${quote(name)}: ${describeError(error)}`,
      { cause: error },
    );
  }
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  while (true) {
    const buffer = new Uint8Array(READ_BYTES);
    const length = await file.read(buffer);
    if (length === null) return;
    yield buffer.subarray(0, length);
  }
}

/** Yields the lines of a file; one that has no end of line is left out. */
async function* linesOf(
  { name, chunks }: LineSource,
): AsyncGenerator<Uint8Array> {
  // A line may lie in several pieces.
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    while (true) {
      const to = chunk.indexOf(LINE_FEED, from);
      const piece = chunk.subarray(from, to < 0 ? chunk.length : to);
      restBytes += piece.length;
      if (restBytes > MAX_LINE_BYTES) {
        throw new Error(`Cannot read ${quote(name)}: a line is too long`);
      }
      if (to < 0) {
        rest.push(piece);
        break;
      }
      yield rest.length === 0 ? piece : join([...rest, piece]);
      rest = [];
      restBytes = 0;
      from = to + 1;
    }
  }
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
