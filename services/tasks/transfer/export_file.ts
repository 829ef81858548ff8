/**
 * Writes an export: a line that tells what follows, a line for each row, and a
 * line by which a file that was cut or changed is noticed.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { LineWriter } from "../../shared/transfer/line_file.ts";
import type { WriteBytes } from "../../shared/transfer/output_file.ts";
import { VERSION } from "../../shared/version.ts";
import type { StoredRows } from "../store/rows.ts";
import { encodeRow } from "./row_text.ts";
import {
  countRows,
  readRows,
  RowTally,
  type TransferCounts,
  type TransferScope,
} from "./transfer_rows.ts";

/** Names the format in the first line. */
export const FORMAT = "tercet-tasks";
/** The version of the format; another one is refused. */
export const FORMAT_VERSION = 1;

/** Options of {@linkcode writeExport}. */
interface WriteExportOptions extends TransferScope {
  /** Takes some lines; resolves when it can take more. */
  readonly write: WriteBytes;
  /**
   * Called now and then with the tasks that were written, and all.
   *
   * @default nothing is called
   */
  readonly onProgress?:
    | ((tasks: number, of: number) => void)
    | undefined;
}

/** What an export holds. */
export interface Exported {
  /** How many rows of each kind. */
  readonly counts: TransferCounts;
  /** SHA-256 of all lines between the first and the last, in hexadecimal. */
  readonly sha256: string;
  /** How many requests of the inbox wait, which the file does not hold. */
  readonly waiting: number;
}

/**
 * Writes the rows of a store.
 *
 * @throws {Error} when the only tenant to write has no rows
 */
export async function writeExport(
  rows: StoredRows,
  { write, onProgress = () => {}, ...scope }: WriteExportOptions,
): Promise<Exported> {
  const expected = await countRows(rows, scope);
  const { only } = scope;
  if (only !== undefined && Object.values(expected).every((of) => of === 0)) {
    throw new Error(`Cannot export: no tenant is ${quote(only)}`);
  }
  const lines = new LineWriter(write);
  await lines.begin({
    format: FORMAT,
    version: FORMAT_VERSION,
    program: VERSION,
    at: new Date(scope.nowMs).toISOString(),
    tenant: only,
    counts: expected,
  });
  const tally = new RowTally();
  for await (const row of readRows(rows, scope)) {
    tally.note(row);
    if (await lines.add(encodeRow(row))) {
      onProgress(tally.tasks, expected.tasks);
    }
  }
  const { counts } = tally;
  const sha256 = await lines.end({ counts });
  const waiting = await rows.waiting?.(only) ?? 0;
  return { counts, sha256, waiting };
}
