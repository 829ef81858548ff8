/**
 * Imports the file of an export to a store, and compares both afterwards.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { sha256 } from "../store/digest.ts";
import type { Store } from "../store/store.ts";
import { checkHistories } from "./check_histories.ts";
import { compareRows } from "./compare_rows.ts";
import { type ExportHead, readExport, readExportHead } from "./import_file.ts";
import { RowCopier } from "./row_copier.ts";
import { demandAlone } from "../../shared/transfer/demand_alone.ts";
import { beginTransfer, endTransfer, findTransfer } from "./transfer_mark.ts";
import {
  countRows,
  readRows,
  RowTally,
  scopeOfTenant,
  type TransferCounts,
  type TransferScope,
} from "./transfer_rows.ts";

/** How far an import is. */
export interface ImportProgress {
  /** What is done. */
  readonly step: "importing" | "comparing";
  /** The tasks so far. */
  readonly tasks: number;
  /** All tasks. */
  readonly of: number;
}

/** Options of {@linkcode importFile}. */
interface ImportFileOptions {
  /** The file. */
  readonly path: string;
  /** Whether an import of the file that was cut short goes on. */
  readonly resumes: boolean;
  /** Called with each row. */
  readonly onProgress: (progress: ImportProgress) => void;
}

/** The outcome of an import. */
export interface Imported {
  /** How many rows of each kind the file has. */
  readonly counts: TransferCounts;
  /** How many rows were written; the others were there. */
  readonly written: number;
  /** What differs from the file, a sentence each; empty when nothing does. */
  readonly differences: readonly string[];
}

/**
 * Imports a file. The store must not have the tenants that are in the file,
 * unless it has them from an import of the same file that was cut short. Until
 * it has all rows, and they are those of the file, no service starts on it.
 *
 * @throws {Error} when the file is no export, was cut or was changed, or the
 * store has the tenants or is in use
 */
export async function importFile(
  store: Store,
  { path, resumes, onProgress }: ImportFileOptions,
): Promise<Imported> {
  const head = await readExportHead(path);
  const scope = scopeOf(head);
  await demandAlone(store);
  await begin(store, { path, head, scope, resumes });
  const tell = (step: ImportProgress["step"], tasks: number): void =>
    onProgress({ step, tasks, of: head.tasks });
  const copier = new RowCopier(store);
  const tally = new RowTally();
  for await (const row of checkHistories(readExport(path), sha256)) {
    await copier.put(row);
    tally.note(row);
    tell("importing", tally.tasks);
  }
  await copier.end();
  const { differences } = await store.snapshot((rows) => {
    const compared = new RowTally();
    return compareRows(
      readExport(path),
      readRows(rows, scope),
      {
        onRow: (row) => {
          compared.note(row);
          tell("comparing", compared.tasks);
        },
      },
    );
  });
  if (differences.length === 0) await endTransfer(store);
  return { counts: tally.counts, written: copier.written, differences };
}

function scopeOf({ tenantId, atMs }: ExportHead): TransferScope {
  return tenantId === undefined
    ? { nowMs: atMs }
    : scopeOfTenant(tenantId, atMs);
}

async function begin(
  store: Store,
  { path, head, scope, resumes }: {
    readonly path: string;
    readonly head: ExportHead;
    readonly scope: TransferScope;
    readonly resumes: boolean;
  },
): Promise<void> {
  // Another file with the same instant is not the same, but its comparison
  // would tell.
  const from = `an export of ${new Date(head.atMs).toISOString()}`;
  const underWay = await findTransfer(store);
  if (underWay !== undefined) {
    if (resumes && underWay === from) return;
    throw new Error(
      `Cannot import ${quote(path)}: a copy of ${underWay} to this store has ` +
        "not ended" + (underWay === from ? "; go on with --resume" : ""),
    );
  }
  const there = await store.snapshot((rows) => countRows(rows, scope));
  const found = Object.entries(there).find(([, count]) => count > 0);
  if (found !== undefined) {
    throw new Error(
      `Cannot import ${quote(path)}: the store has ` +
        (head.tenantId === undefined
          ? "tenants already; import to an empty one"
          : `tenant ${quote(head.tenantId)} already`),
    );
  }
  await beginTransfer(store, from);
}
