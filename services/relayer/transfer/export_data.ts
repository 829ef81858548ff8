/**
 * Writes an export of all that a relayer keeps: rows as they are stored, with
 * everything sealed that is sealed there, wrapped keys, and blobs.
 *
 * @module
 */

import { LineWriter } from "../../shared/transfer/line_file.ts";
import type { WriteBytes } from "../../shared/transfer/output_file.ts";
import { VERSION } from "../../shared/version.ts";
import { type MovedBlobs, readBlobs } from "./moved_blobs.ts";
import { followingEntries, type MovedLedger } from "./moved_entries.ts";
import type { MovedRows } from "./moved_rows.ts";
import {
  BLOBS,
  LEDGER_ENTRIES,
  MOVED_TABLES,
  type MovedRow,
} from "./moved_tables.ts";
import { encodeRow, encodeTable } from "./row_lines.ts";

/** Names the format in the first line. */
export const FORMAT = "tercet-relayer";
/** The version of the format; another one is refused. */
export const FORMAT_VERSION = 1;

/** How many rows each table has. */
export type MovedCounts = Readonly<Record<string, number>>;

/** What is exported or imported. */
export interface MovedData {
  /** The rows. */
  readonly rows: MovedRows;
  /** The blobs; undefined where they are elsewhere and stay there. */
  readonly blobs: MovedBlobs | undefined;
  /** The embedded ledger; undefined where the ledger is remote. */
  readonly ledger: MovedLedger | undefined;
}

/** How far an export or an import is. */
export interface MoveProgress {
  /** What is done. */
  readonly step: "exporting" | "importing" | "comparing";
  /** The table, or `blobs`. */
  readonly table: string;
  /** How many of its rows were done. */
  readonly done: number;
  /** All of them, if that is known. */
  readonly of: number | undefined;
}

/** Options of {@linkcode exportData}. */
interface ExportDataOptions {
  /** Takes some lines; resolves when it can take more. */
  readonly write: WriteBytes;
  /** The instant by which rows have expired. */
  readonly nowMs: number;
  /** Called now and then. */
  readonly onProgress: (progress: MoveProgress) => void;
}

/** What an export holds. */
export interface Exported {
  /** How many rows of each table, and blobs. */
  readonly counts: MovedCounts;
  /** SHA-256 of all lines between the first and the last, in hexadecimal. */
  readonly sha256: string;
  /** Ids of blobs that were changed in their place, and are left out. */
  readonly damagedBlobs: readonly string[];
}

/**
 * Writes all rows and blobs.
 *
 * @throws {Error} when an import to the data has not ended, or the log of the
 * embedded ledger is not to be trusted
 */
export async function exportData(
  data: MovedData,
  options: ExportDataOptions,
): Promise<Exported> {
  const doing = {
    action: "export",
    advice:
      "restore the ledger from a backup, or set LEDGER_PACKAGE_ID to the " +
      "package that it was made with",
  };
  return await followingEntries(
    data.ledger,
    doing,
    (checkEntries) => exportChecked(data, { ...options, checkEntries }),
  );
}

async function exportChecked(
  { rows, blobs, ledger }: MovedData,
  { write, nowMs, onProgress, checkEntries }: ExportDataOptions & {
    readonly checkEntries: (rows: readonly MovedRow[]) => void;
  },
): Promise<Exported> {
  const tables = MOVED_TABLES.filter((table) =>
    ledger !== undefined || table !== LEDGER_ENTRIES
  );
  if (await rows.isImporting()) {
    throw new Error(
      `Cannot export ${rows.place}: an import to it has not ended`,
    );
  }
  return await rows.reading(async (reader) => {
    const lines = new LineWriter(write);
    const expected: Record<string, number> = {};
    for (const table of tables) {
      expected[table.name] = await reader.count(table, nowMs);
    }
    await lines.begin({
      format: FORMAT,
      version: FORMAT_VERSION,
      program: VERSION,
      at: new Date(nowMs).toISOString(),
      counts: expected,
    });
    const counts: Record<string, number> = {};
    const add = async (name: string, row: MovedRow): Promise<void> => {
      const done = (counts[name] ?? 0) + 1;
      counts[name] = done;
      if (!await lines.add(encodeRow(row))) return;
      const of = expected[name];
      onProgress({ step: "exporting", table: name, done, of });
    };
    for (const table of tables) {
      counts[table.name] = 0;
      await lines.add(encodeTable(table));
      for await (const page of reader.pages(table, nowMs)) {
        if (table === LEDGER_ENTRIES) checkEntries(page);
        for (const row of page) await add(table.name, row);
      }
    }
    counts[BLOBS.name] = 0;
    await lines.add(encodeTable(BLOBS));
    const damagedBlobs: string[] = [];
    for await (const { id, bytes } of blobs ? readBlobs(blobs) : []) {
      if (bytes === undefined) damagedBlobs.push(id);
      else await add(BLOBS.name, [id, bytes]);
    }
    const sha256 = await lines.end({ counts });
    return { counts, sha256, damagedBlobs };
  });
}
