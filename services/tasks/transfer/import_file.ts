/**
 * Reads the file of an export, line by line, and notices when it was cut or
 * changed.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { Fields, LineError } from "../../shared/transfer/line_fields.ts";
import {
  atLine,
  fileSource,
  readLines,
} from "../../shared/transfer/line_file.ts";
import { FORMAT, FORMAT_VERSION } from "./export_file.ts";
import { parseRow } from "./row_text.ts";
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

/**
 * Reads the first line of a file.
 *
 * @throws {Error} when the file is not an export, or one of another version
 */
export async function readExportHead(path: string): Promise<ExportHead> {
  let head: ExportHead | undefined;
  const lines = readLines(fileSource(path), {
    onHead: (fields) => head = parseHead(fields),
    counts: () => ({}),
  });
  // The first line is read before the line after it is returned.
  await lines.next();
  await lines.return(undefined);
  if (head !== undefined) return head;
  throw new Error(`Cannot read ${quote(path)}: it has no first line`);
}

function parseHead(fields: Fields): ExportHead {
  if (fields.text("format") !== FORMAT) {
    throw new LineError("it is not that of an export of tasks");
  }
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
}

/**
 * Yields the rows of a file.
 *
 * @throws {Error} when a line is none of an export, or the file was cut or
 * changed, which is known only at its end
 */
export async function* readExport(path: string): AsyncGenerator<TransferRow> {
  const tally = new RowTally();
  const source = fileSource(path);
  let tenantId: string | undefined;
  const lines = readLines(source, {
    onHead: () => {},
    counts: () => tally.counts,
  });
  for await (const { number, text } of lines) {
    const row = atLine(source, number, () => {
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
}
