/**
 * Reads the file of an export, line by line, and notices when it was cut or
 * changed.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { FORMAT, FORMAT_VERSION } from "./export_file.ts";
import { Fields, LineError, parseRow } from "./row_text.ts";
import { RowTally, type TransferRow } from "./transfer_rows.ts";

/** What the first line of an export tells. */
export interface ExportHead {
  /** When it was made, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The only tenant in it; undefined when it has all. */
  readonly tenantId: string | undefined;
  /** How many tasks are in it. */
  readonly tasks: number;
}

/** The longest line, in bytes; a text in memory could not be much longer. */
const MAX_LINE_BYTES = 400_000_000;
const READ_BYTES = 1_048_576;
const LINE_FEED = 10;

/**
 * Reads the first line of a file.
 *
 * @throws {Error} when the file is not an export, or one of another version
 */
export async function readExportHead(path: string): Promise<ExportHead> {
  for await (const line of linesOf(path)) {
    return wrapped(path, 1, () => {
      const fields = new Fields(decode(line));
      const isHead = fields.text("kind") === "head" &&
        fields.text("format") === FORMAT;
      if (!isHead) throw new LineError("it is not that of an export of tasks");
      const version = fields.integer("version");
      if (version !== FORMAT_VERSION) {
        throw new LineError(
          `the export is of version ${version}, this program reads ` +
            `${FORMAT_VERSION}; it was made by version ` +
            `${fields.text("program")} of the program`,
        );
      }
      const atMs = Date.parse(fields.text("at"));
      if (Number.isNaN(atMs)) throw new LineError('"at" is not an instant');
      return {
        atMs,
        tenantId: fields.textIfAny("tenant"),
        tasks: new Fields(fields.object("counts")).integer("tasks"),
      };
    });
  }
  throw new Error(`Cannot read ${quote(path)}: it is empty`);
}

/**
 * Yields the rows of a file.
 *
 * @throws {Error} when a line is none of an export, or the file was cut or
 * changed, which is known only at its end
 */
export async function* readExport(path: string): AsyncGenerator<TransferRow> {
  const hash = createHash("sha256");
  const tally = new RowTally();
  let number = 0;
  let tenantId: string | undefined;
  let isEnded = false;
  for await (const line of linesOf(path)) {
    number++;
    if (number === 1) continue;
    if (isEnded) {
      throw new Error(`Cannot read ${quote(path)}: lines follow the last one`);
    }
    const text = decode(line);
    if (text.startsWith('{"kind":"end"')) {
      isEnded = true;
      wrapped(path, number, () => {
        const fields = new Fields(text);
        demandCounts(new Fields(fields.object("counts")), tally);
        if (fields.text("sha256") !== hash.digest("hex")) {
          throw new LineError("lines before it were changed");
        }
      });
      continue;
    }
    hash.update(line);
    hash.update("\n");
    const row = wrapped(path, number, () => {
      const row = parseRow(text, tenantId ?? "");
      if (row.kind !== "tenant" && tenantId === undefined) {
        throw new LineError("no line of a tenant is before it");
      }
      return row;
    });
    tenantId = row.tenantId;
    tally.note(row);
    yield row;
  }
  if (isEnded) return;
  throw new Error(
    `Cannot read ${quote(path)}: it was cut off after line ${number}`,
  );
}

function demandCounts(told: Fields, tally: RowTally): void {
  for (const [kind, count] of Object.entries(tally.counts)) {
    if (told.integer(kind) === count) continue;
    throw new LineError(
      `lines before it are missing: it tells ${told.integer(kind)} of the ` +
        `kind "${kind}", there are ${count}`,
    );
  }
}

/** Names the line in an error. */
function wrapped<Result>(
  path: string,
  line: number,
  read: () => Result,
): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    throw new Error(
      `Cannot read line ${line} of ${quote(path)}: ${describeError(error)}`,
      { cause: error },
    );
  }
}

function decode(line: Uint8Array): string {
  return new TextDecoder().decode(line);
}

/** Yields the lines of a file; one that has no end of line is left out. */
async function* linesOf(path: string): AsyncGenerator<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  // A line may lie in several pieces.
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  while (true) {
    const buffer = new Uint8Array(READ_BYTES);
    const length = await file.read(buffer);
    if (length === null) return;
    let from = 0;
    while (true) {
      const to = buffer.subarray(0, length).indexOf(LINE_FEED, from);
      const piece = buffer.subarray(from, to < 0 ? length : to);
      restBytes += piece.length;
      if (restBytes > MAX_LINE_BYTES) {
        throw new Error(`Cannot read ${quote(path)}: a line is too long`);
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
