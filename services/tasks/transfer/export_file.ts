/**
 * Writes an export: a line that tells what follows, a line for each row, and a
 * line by which a file that was cut or changed is noticed.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { quote } from "../../shared/quote.ts";
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
  readonly write: (text: Uint8Array) => Promise<void>;
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

/** How many characters are written together. */
const CHUNK_CHARS = 1_000_000;

/**
 * Writes the rows of a store.
 *
 * @throws {Error} when the only tenant to write has no rows
 */
export async function writeExport(
  rows: StoredRows,
  { write, onProgress = () => {}, ...scope }: WriteExportOptions,
): Promise<Exported> {
  const encoder = new TextEncoder();
  const expected = await countRows(rows, scope);
  const { only } = scope;
  if (only !== undefined && Object.values(expected).every((of) => of === 0)) {
    throw new Error(`Cannot export: no tenant is ${quote(only)}`);
  }
  const head = {
    kind: "head",
    format: FORMAT,
    version: FORMAT_VERSION,
    program: VERSION,
    at: new Date(scope.nowMs).toISOString(),
    tenant: only,
    counts: expected,
  };
  await write(encoder.encode(`${JSON.stringify(head)}\n`));
  const hash = createHash("sha256");
  const tally = new RowTally();
  let text = "";
  const flush = async (): Promise<void> => {
    const bytes = encoder.encode(text);
    text = "";
    hash.update(bytes);
    await write(bytes);
    onProgress(tally.tasks, expected.tasks);
  };
  for await (const row of readRows(rows, scope)) {
    tally.note(row);
    text += `${encodeRow(row)}\n`;
    if (text.length >= CHUNK_CHARS) await flush();
  }
  await flush();
  const exported = { counts: tally.counts, sha256: hash.digest("hex") };
  const end = { kind: "end", ...exported };
  const waiting = await rows.waiting?.(only) ?? 0;
  await write(encoder.encode(`${JSON.stringify(end)}\n`));
  return { ...exported, waiting };
}
