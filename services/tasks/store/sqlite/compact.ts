/**
 * Copies a database row by row, so that its file is as short as what it
 * holds. `VACUUM` attaches a database, which permissions forbid.
 *
 * @module
 */

import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { removeIfThere } from "../../../shared/missing_file.ts";
import { describeError } from "../../../shared/settled.ts";
import { lockFolder } from "../../../shared/sqlite/folder_lock.ts";
import { openDatabase } from "../../../shared/sqlite/open_database.ts";
import {
  databasePath,
  fileLength,
  findFaults,
  findVersionFault,
  LOCK_FILE,
  logPath,
  openWriting,
  syncPath,
} from "./database_file.ts";
import { readNumber, readText } from "./reader.ts";

/** How far a copy is. */
export interface CopiedRows {
  /** The rows that were copied. */
  readonly rows: number;
  /** All rows. */
  readonly of: number;
}

/** Options of {@linkcode compactDatabase}. */
interface CompactOptions {
  /** The folder of the database, which no service uses. */
  readonly dataFolder: string;
  /**
   * Called now and then while rows are copied.
   *
   * @default nothing is called
   */
  readonly onProgress?: ((copied: CopiedRows) => void) | undefined;
}

/** What became of the file. */
export interface Compacted {
  /** Its length in bytes before. */
  readonly bytesBefore: number;
  /** Its length in bytes after. */
  readonly bytesAfter: number;
}

/**
 * Replaces a data folder's database by a copy without free pages, of which a
 * running service can give free pages back. The copy is checked and on disk
 * before it takes the place of the file; until then nothing changes.
 *
 * @throws {Error} when there is no database, it is in use or damaged, or the
 * disk has no room for the copy
 */
export async function compactDatabase(
  { dataFolder, onProgress }: CompactOptions,
): Promise<Compacted> {
  const path = databasePath(dataFolder);
  if (fileLength(path) === undefined) {
    throw new Error(`Cannot compact "${dataFolder}": it has no database`);
  }
  const lock = lockFolder(dataFolder, LOCK_FILE);
  const copy = `${path}.compacting`;
  try {
    await removeCopy(copy);
    const bytesBefore = rewriteWhole(path, copy, onProgress);
    // The log belongs to the file that is replaced; its last connection has
    // emptied it, unless another program reads.
    if ((fileLength(logPath(path)) ?? 0) > 0) {
      throw new Error("another program is reading it; end that one first");
    }
    await syncPath(copy);
    await Deno.rename(copy, path);
    await syncPath(dataFolder);
    return { bytesBefore, bytesAfter: fileLength(path) ?? 0 };
  } catch (error) {
    throw new Error(
      `Cannot compact "${dataFolder}": ${describeError(error)}`,
      { cause: error },
    );
  } finally {
    await removeCopy(copy);
    lock.release();
  }
}

/** Returns the length of the file before, with its log moved to it. */
function rewriteWhole(
  path: string,
  copy: string,
  onProgress: CompactOptions["onProgress"],
): number {
  const db = openWriting(path, "full");
  try {
    const fault = findVersionFault(db) ?? findFaults(db)[0];
    if (fault !== undefined) {
      throw new Error(`it is not whole: ${fault}; restore a backup`);
    }
    // Readers of the file may take long; then the log stays, too.
    db.exec("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)");
    const bytesBefore = fileLength(path) ?? 0;
    rewrite(db, copy, { onProgress });
    const { mode } = Deno.statSync(path);
    if (mode !== null) Deno.chmodSync(copy, mode & 0o777);
    return bytesBefore;
  } finally {
    db.close();
  }
}

async function removeCopy(copy: string): Promise<void> {
  await removeIfThere(copy);
  await removeIfThere(`${copy}-journal`);
}

/** How many rows are copied between two calls about the progress. */
const TOLD_ROWS = 10_000;

/**
 * Copies what a database holds at this moment to a new file, and checks the
 * copy, which is whole then but not yet synced to disk. The thread is blocked
 * meanwhile.
 *
 * @throws {Error} when the copy is not whole
 */
export function rewrite(
  from: DatabaseSync,
  to: string,
  { onProgress = () => {} }: Pick<CompactOptions, "onProgress"> = {},
): void {
  const db = openDatabase(to, { checkpointPages: 0, isShrinkable: true });
  try {
    // An unfinished copy is thrown away, so nothing needs to be undone.
    db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    from.exec("BEGIN");
    try {
      copyAll(from, db, onProgress);
    } finally {
      from.exec("ROLLBACK");
    }
    const [fault] = findFaults(db);
    if (fault !== undefined) throw new Error(`the copy is not whole: ${fault}`);
  } finally {
    db.close();
  }
}

function copyAll(
  from: DatabaseSync,
  to: DatabaseSync,
  onProgress: (copied: CopiedRows) => void,
): void {
  const schema = from.prepare(
    "SELECT type, name, sql FROM sqlite_schema " +
      "WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
  ).all();
  const tables = schema.filter((row) => row["type"] === "table");
  const others = schema.filter((row) => row["type"] !== "table");
  const counts = tables.map((row) => countRows(from, readText(row, "name")));
  const of = counts.reduce((sum, count) => sum + count, 0);
  let rows = 0;
  to.exec("BEGIN");
  for (const [index, table] of tables.entries()) {
    const name = readText(table, "name");
    to.exec(readText(table, "sql"));
    for (const copied of copyTable(name, { from, to })) {
      onProgress({ rows: rows + copied, of });
    }
    const count = countRows(to, name);
    if (count !== counts[index]) {
      throw new Error(
        `the copy has ${count} rows of ${name}, not ${counts[index]}`,
      );
    }
    rows += count;
  }
  // Numbers that are never used again are not in the rows. Early versions had
  // none.
  const hasNumbers = from.prepare(
    "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'",
  ).get() !== undefined;
  if (hasNumbers) {
    to.exec("DELETE FROM sqlite_sequence");
    for (const _ of copyTable("sqlite_sequence", { from, to }));
  }
  // An index is made faster, and packed tighter, of all rows at once.
  for (const other of others) to.exec(readText(other, "sql"));
  to.exec("COMMIT");
}

/** Yields now and then how many rows of a table were copied. */
function* copyTable(
  name: string,
  { from, to }: { readonly from: DatabaseSync; readonly to: DatabaseSync },
): Generator<number> {
  const rows = from.prepare(`SELECT * FROM "${name}"`);
  const marks = rows.columns().map(() => "?").join(", ");
  const insert = to.prepare(`INSERT INTO "${name}" VALUES(${marks})`);
  rows.setReturnArrays(true);
  let copied = 0;
  for (const row of rows.iterate()) {
    // In this mode rows are arrays, unlike what the type says.
    insert.run(...row as unknown as SQLInputValue[]);
    if (++copied % TOLD_ROWS === 0) yield copied;
  }
}

function countRows(db: DatabaseSync, table: string): number {
  const row = db.prepare(`SELECT count(*) AS count FROM "${table}"`).get();
  return row === undefined ? 0 : readNumber(row, "count");
}
