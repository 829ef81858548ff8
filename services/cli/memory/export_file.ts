/**
 * The file of an export: lines of JSON, of which those with a cursor end a
 * page. After a stop, an export writes everything behind the last cursor again.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

/** A line with a cursor and nothing else, as this program writes it. */
const CURSOR_LINE = /^\{"cursor":"([A-Za-z0-9_-]{1,256})"\}$/;
/** Bytes that are read at once, from the end of the file. */
const CHUNK_BYTES = 65_536;

/** A file that an export appends to. */
export class ExportFile {
  readonly #file: Deno.FsFile;
  /** The cursor behind which the export goes on; undefined at the start. */
  readonly cursor: string | undefined;

  private constructor(file: Deno.FsFile, cursor: string | undefined) {
    this.#file = file;
    this.cursor = cursor;
  }

  /**
   * Opens or makes the file, and cuts off all that is behind its last cursor.
   *
   * @throws {Error} when it cannot be opened, or has lines and no cursor: then
   * it is no export, and stays as it is
   */
  static async open(path: string): Promise<ExportFile> {
    const shown = quote(path);
    let file: Deno.FsFile;
    try {
      file = await Deno.open(path, {
        ...{ read: true, write: true, create: true, mode: 0o600 },
      });
    } catch (error) {
      throw new Error(`Cannot open file ${shown}: ${describeError(error)}`);
    }
    try {
      const { size } = await file.stat();
      const last = size === 0 ? undefined : await findLastCursor(file, size);
      if (size > 0 && last === undefined) {
        throw new Error(
          `Cannot go on with file ${shown}: it has no line with a cursor, so ` +
            "it is no export; name another file",
        );
      }
      await file.truncate(last?.end ?? 0);
      await file.seek(0, Deno.SeekMode.End);
      return new ExportFile(file, last?.cursor);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Appends lines; they are on the disk when this resolves. */
  async write(lines: readonly string[]): Promise<void> {
    let rest = new TextEncoder().encode(`${lines.join("\n")}\n`);
    while (rest.length > 0) rest = rest.subarray(await this.#file.write(rest));
    await this.#file.syncData();
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }
}

/**
 * Finds the last whole line with a cursor, from the end of the file.
 *
 * @returns the cursor, and where its line ends; undefined without a cursor
 */
async function findLastCursor(
  file: Deno.FsFile,
  size: number,
): Promise<{ readonly cursor: string; readonly end: number } | undefined> {
  // A line of a cursor may lie across two chunks: the start of the chunk
  // behind is kept, as far as such a line is long.
  let behind: Uint8Array = new Uint8Array();
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - CHUNK_BYTES);
    const chunk = await readRange(file, start, end);
    const bytes = Buffer.concat([chunk, behind]);
    let lineEnd = bytes.lastIndexOf(0x0a);
    while (lineEnd >= 0) {
      const lineStart = lineEnd === 0
        ? 0
        : bytes.lastIndexOf(0x0a, lineEnd - 1) + 1;
      const isWhole = lineStart > 0 || start === 0;
      const line = bytes.subarray(lineStart, lineEnd).toString("latin1");
      const [, cursor] = isWhole ? CURSOR_LINE.exec(line) ?? [] : [];
      if (cursor !== undefined) return { cursor, end: start + lineEnd + 1 };
      lineEnd = lineStart === 0 ? -1 : lineStart - 1;
    }
    behind = bytes.subarray(0, 512);
    end = start;
  }
  return undefined;
}

async function readRange(
  file: Deno.FsFile,
  start: number,
  end: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  await file.seek(start, Deno.SeekMode.Start);
  let have = 0;
  while (have < bytes.length) {
    const count = await file.read(bytes.subarray(have));
    if (count === null) break;
    have += count;
  }
  return bytes.subarray(0, have);
}
