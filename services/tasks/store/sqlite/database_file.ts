/**
 * The database's file: its paths, how connections to it are opened, and how it
 * is checked.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import { databaseVersion } from "../../../shared/sqlite/migrations.ts";
import {
  BUSY_TIMEOUT_MS,
  CACHE_KIB,
  openDatabase,
} from "../../../shared/sqlite/open_database.ts";
import { isCannotOpenError } from "../../../shared/sqlite/sqlite_error.ts";
import { MAX_FAULTS } from "../task_check.ts";
import { MIGRATIONS } from "./migrations.ts";

/**
 * What a commit waits for: the disk ("full"), or only the operating system
 * ("relaxed").
 */
export type Durability = "full" | "relaxed";

/** The file whose lock keeps other processes out of a data folder. */
export const LOCK_FILE = "tasks.lock";

/**
 * SQLite's number of the mode of files whose free pages can be given back one by
 * one.
 */
export const INCREMENTAL = 2;

/** The path of the database in a data folder. */
export function databasePath(dataFolder: string): string {
  return `${dataFolder}/tasks.db`;
}

/** The path of a database's log of commits. */
export function logPath(path: string): string {
  return `${path}-wal`;
}

/** The path at which a backup is checked before it replaces the database. */
export function restoringPath(path: string): string {
  return `${path}.restoring`;
}

/**
 * Opens the connection that writes. A missing file is created, readable only by
 * its owner.
 *
 * @throws {Error} when the file cannot be opened, or a restore was interrupted
 */
export function openWriting(
  path: string,
  durability: Durability,
): DatabaseSync {
  if (
    fileLength(path) === undefined &&
    fileLength(restoringPath(path)) !== undefined
  ) {
    throw new Error(
      `Cannot open "${path}": a restore was cut short; run it again`,
    );
  }
  // The log is moved to the file between commits, not during one.
  return openDatabase(path, {
    checkpointPages: 0,
    isDurable: durability === "full",
    isShrinkable: true,
  });
}

/** Opens a connection that only reads. */
export function openReading(path: string | URL): DatabaseSync {
  const db = new DatabaseSync(path, {
    timeout: BUSY_TIMEOUT_MS,
    readOnly: true,
  });
  try {
    // This is the first statement that reads the file; with exec(), an error
    // would have no code.
    db.prepare(`PRAGMA cache_size = -${CACHE_KIB}`).run();
    db.exec("PRAGMA temp_store = MEMORY");
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The outcome of opening a stored database. */
export type StoredDatabase =
  | { readonly kind: "open"; readonly db: DatabaseSync }
  | {
    /**
     * Reading needs a file beside the database, which cannot be created there,
     * as in a snapshot. So no process can write there either, and a copy of the
     * file is complete.
     */
    readonly kind: "sealed";
    /** The database's path. */
    readonly path: string;
  };

/**
 * Opens the database in a data folder for reading.
 *
 * @throws {Error} when there is no database or it cannot be opened: the message
 * names it and says what to do about a log in a read-only folder
 */
export function lookAtStored(dataFolder: string): StoredDatabase {
  const path = databasePath(dataFolder);
  if (fileLength(path) === undefined) {
    throw new Error(`Cannot open "${path}": there is no such database`);
  }
  try {
    return { kind: "open", db: openReading(path) };
  } catch (error) {
    const log = logPath(path);
    const isSealed = isCannotOpenError(error);
    if (isSealed && (fileLength(log) ?? 0) === 0) {
      return { kind: "sealed", path };
    }
    const reason = isSealed
      ? `its folder cannot be written to; copy it together with "${log}" to ` +
        "another one"
      : describeError(error);
    throw new Error(`Cannot open "${path}": ${reason}`, { cause: error });
  }
}

/**
 * Opens the database in a data folder that must be writable.
 *
 * @throws {Error} when there is no database or it cannot be opened: the message
 * names it and says what to do about a read-only folder
 */
export function openStored(dataFolder: string): DatabaseSync {
  const stored = lookAtStored(dataFolder);
  if (stored.kind === "open") return stored.db;
  throw new Error(
    `Cannot open "${stored.path}": its folder cannot be written to, which is ` +
      "needed to read it; copy it to another one",
  );
}

/** The size of a file in bytes; undefined when it does not exist. */
export function fileLength(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Waits until a file, or the names in a folder, are on disk. */
export async function syncPath(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true });
  await file.sync();
}

/**
 * Copies a file to a new one that only its owner may read.
 *
 * @throws {Error} when the new file exists already
 */
export async function copyPrivately(from: string, to: string): Promise<void> {
  using source = await Deno.open(from, { read: true });
  // Deno.copyFile() would give the copy the mode of the original.
  using target = await Deno.open(to, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  await source.readable.pipeTo(target.writable);
}

/**
 * Checks every page of the database in a data folder and returns its faults, in
 * SQLite's words; an empty list when it is intact. This takes as long as
 * reading the file and blocks the thread, so a server does not call it; it may
 * run in another process beside a server.
 *
 * @throws {Error} when there is no database, or it cannot be opened
 */
export function integrityCheck(dataFolder: string): readonly string[] {
  const db = openStored(dataFolder);
  try {
    return findFaults(db);
  } finally {
    db.close();
  }
}

/** The faults of a database, in SQLite's words. */
export function findFaults(db: DatabaseSync): readonly string[] {
  try {
    const rows = db.prepare(`PRAGMA integrity_check(${MAX_FAULTS})`).all();
    const faults = rows.map((row) => String(row["integrity_check"]));
    return faults.length === 1 && faults[0] === "ok" ? [] : faults;
  } catch (error) {
    return [describeError(error)];
  }
}

/** Why this program cannot use a database; undefined when it can. */
export function findVersionFault(db: DatabaseSync): string | undefined {
  const latest = MIGRATIONS.at(-1)?.version ?? 0;
  try {
    const version = databaseVersion(db);
    return version >= 1 && version <= latest
      ? undefined
      : `it is of version ${version}, this program knows up to ${latest}`;
  } catch {
    return "it is not a database of the tasks service";
  }
}
