/**
 * Backs up the database to a file, and restores it from one.
 *
 * @module
 */

import { openDataFolder } from "../../../shared/data_folder.ts";
import { backup, DatabaseSync } from "node:sqlite";
import { removeIfThere } from "../../../shared/missing_file.ts";
import { describeError } from "../../../shared/settled.ts";
import { lockFolder } from "../../../shared/sqlite/folder_lock.ts";
import { makePrivate, tighten } from "../../../shared/data_file.ts";
import { rewrite } from "./compact.ts";
import {
  copyPrivately,
  databasePath,
  fileLength,
  findFaults,
  findVersionFault,
  INCREMENTAL,
  LOCK_FILE,
  logPath,
  lookAtStored,
  openWriting,
  restoringPath,
  type StoredDatabase,
  syncPath,
} from "./database_file.ts";

/** Options of {@linkcode backupDatabase}. */
interface BackupOptions {
  /** The folder of the database; a service may be using it. */
  readonly dataFolder: string;
  /** The file to create; it must not exist. */
  readonly to: string;
}

/** Options of {@linkcode restoreDatabase}. */
interface RestoreOptions {
  /** A file that {@linkcode backupDatabase} made. */
  readonly from: string;
  /** The folder of the database; it is created if it does not exist. */
  readonly dataFolder: string;
}

const ALL_PAGES = 2 ** 30;

/**
 * Writes all that has been committed so far to a single file, which is either
 * complete or not there, synced to disk, and readable only by its owner. The
 * thread is blocked while the database is copied and checked, so a server does
 * not call this; it may run in another process beside a server.
 *
 * @throws {Error} when there is no database, it is damaged, or the file exists
 * already
 */
export async function backupDatabase(options: BackupOptions): Promise<void> {
  const { dataFolder, to } = options;
  if (fileLength(databasePath(dataFolder)) === undefined) {
    throw new Error(`Cannot back up "${dataFolder}": it has no database`);
  }
  if (fileLength(to) !== undefined) {
    throw new Error(`Cannot back up to "${to}": there is a file already`);
  }
  const stored = lookAtStored(dataFolder);
  const part = `${to}.part`;
  try {
    await removeIfThere(part);
    await copyStored(stored, part);
    demandWhole(part);
    await leaveOutFreePages(part);
    await syncPath(part);
    await Deno.rename(part, to);
    await syncPath(toFolder(to));
  } catch (error) {
    await removeIfThere(part);
    await removeIfThere(`${part}.short`);
    const reason = error instanceof Deno.errors.NotFound
      ? "the folder of the file is not there"
      : describeError(error);
    throw new Error(`Cannot back up "${dataFolder}" to "${to}": ${reason}`, {
      cause: error,
    });
  } finally {
    if (stored.kind === "open") stored.db.close();
  }
}

/**
 * Replaces a data folder's database by a backup, after checking that the backup
 * is intact. The previous database is kept beside it as `tasks.db.replaced`,
 * with a number when that name is taken, together with its log, unless the log
 * could be moved into the file.
 *
 * @returns what was kept
 * @throws {Error} when the folder is in use or the backup is damaged; the
 * folder's content is then unchanged
 */
export async function restoreDatabase(
  options: RestoreOptions,
): Promise<Quarantined> {
  const { from, dataFolder } = options;
  if (fileLength(from) === undefined) {
    throw new Error(`Cannot restore "${from}": there is no such file`);
  }
  if ((fileLength(logPath(from)) ?? 0) > 0) {
    throw new Error(
      `Cannot restore "${from}": a log stands beside it, so it is not a backup ` +
        "but a part of a database",
    );
  }
  await openDataFolder(dataFolder, { service: "tasks" });
  const lock = lockFolder(dataFolder, LOCK_FILE);
  const path = databasePath(dataFolder);
  const part = restoringPath(path);
  const copy = `${part}.part`;
  const isNew = fileLength(path) === undefined &&
    fileLength(part) === undefined;
  try {
    await removeIfThere(copy);
    await copyPrivately(from, copy);
    demandWhole(copy);
    beginNewLogs(copy);
    await syncPath(copy);
    // A file that an earlier restore left keeps the service from creating a new
    // database, so it is only removed once another file replaces it.
    await Deno.rename(copy, part);
    await syncPath(dataFolder);
    const kept = await quarantine(path, dataFolder);
    await Deno.rename(part, path);
    await syncPath(dataFolder);
    return kept;
  } catch (error) {
    throw new Error(
      `Cannot restore "${from}" to "${dataFolder}": ${describeError(error)}`,
      { cause: error },
    );
  } finally {
    // If the old database was moved away and not replaced, the remaining file
    // keeps the service from creating a new one.
    await removeIfThere(copy);
    const isCutShort = !isNew && fileLength(path) === undefined;
    if (!isCutShort) await removeIfThere(part);
    lock.release();
  }
}

async function copyStored(stored: StoredDatabase, to: string): Promise<void> {
  if (stored.kind === "sealed") return await copyPrivately(stored.path, to);
  makePrivate(to);
  // A copy in one step is of one state; in several steps it would start over
  // with each commit. `VACUUM INTO` attaches a database, which permissions
  // forbid.
  await backup(stored.db, to, { rate: ALL_PAGES });
}

/** Makes a copy as short as what it holds. */
async function leaveOutFreePages(path: string): Promise<void> {
  const short = `${path}.short`;
  // The connection can write, so that closing it leaves no log beside the file.
  const db = new DatabaseSync(path);
  try {
    const pragma = (name: string) => db.prepare(`PRAGMA ${name}`).get()?.[name];
    if (pragma("freelist_count") === 0) return;
    if (pragma("auto_vacuum") === INCREMENTAL) {
      // There is a row for each page.
      for (const _ of db.prepare("PRAGMA incremental_vacuum").iterate());
      return;
    }
    await removeIfThere(short);
    rewrite(db, short);
  } finally {
    db.close();
  }
  await Deno.rename(short, path);
}

function demandWhole(path: string): void {
  // The connection can write, so that closing it leaves no log beside the file.
  const db = new DatabaseSync(path);
  try {
    const fault = findVersionFault(db) ??
      findFaults(db).map((text) => `it is not whole: ${text}`)[0];
    if (fault !== undefined) throw new Error(fault);
  } finally {
    db.close();
  }
}

/**
 * Gives the logs of events new names: events that were told after the backup are
 * not in it, so that their numbers come again, for others.
 */
function beginNewLogs(path: string): void {
  const db = new DatabaseSync(path);
  try {
    const isThere = db.prepare(
      "SELECT 1 FROM sqlite_schema WHERE name = 'listeners'",
    ).get() !== undefined;
    if (isThere) {
      db.exec("UPDATE listeners SET log = lower(hex(randomblob(8)))");
    }
  } finally {
    db.close();
  }
}

function toFolder(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash + 1);
}

/** What was kept of a database that a backup replaced. */
export interface Quarantined {
  /** The files, the database's own first; empty when there was no database. */
  readonly files: readonly string[];
  /** Why the log had to be kept as a separate file; absent when it was not. */
  readonly logReason?: string | undefined;
}

/**
 * Keeps a database beside its place, under a free name, and removes its log,
 * which would corrupt the database that replaces it. The database also stays in
 * its place until then, unless its log holds something that could not be moved
 * into it: without the log it is incomplete. No other program may write to it.
 */
async function quarantine(path: string, folder: string): Promise<Quarantined> {
  const log = logPath(path);
  const logReason = hasContent(log) ? emptyLog(path) : undefined;
  // The file's state decides, not the result that SQLite returned.
  const hasLog = hasContent(log);
  const hasDatabase = fileLength(path) !== undefined;
  const to = freeName(path);
  if (hasLog) {
    tighten(log);
    // The log is linked first: wherever this is interrupted, no database is
    // without its log.
    await Deno.link(log, logPath(to));
    await syncPath(folder);
  }
  if (hasDatabase) {
    tighten(path);
    await (hasLog ? Deno.rename(path, to) : Deno.link(path, to));
    await syncPath(folder);
  }
  await removeIfThere(log);
  await removeIfThere(`${path}-shm`);
  await syncPath(folder);
  if (!hasLog) return { files: hasDatabase ? [to] : [] };
  return {
    files: hasDatabase ? [to, logPath(to)] : [logPath(to)],
    logReason: logReason ?? "it was not empty afterwards",
  };
}

/**
 * Moves the content of the log into the database; returns the reason if it
 * could not. A database that cannot be opened is a reason to restore, and the
 * disk may be full.
 */
function emptyLog(path: string): string | undefined {
  if (fileLength(path) === undefined) return "there is no database to it";
  try {
    const db = openWriting(path, "full");
    try {
      // A command that reads the database takes long; keeping the log works as
      // well.
      db.exec("PRAGMA busy_timeout = 0");
      const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      return row?.["busy"] === 0 ? undefined : "another program is reading it";
    } finally {
      db.close();
    }
  } catch (error) {
    return describeError(error);
  }
}

/** A name that is free for both a database and its log. */
function freeName(path: string): string {
  for (let count = 1;; count++) {
    const name = `${path}.replaced${count === 1 ? "" : `.${count}`}`;
    const isFree = fileLength(name) === undefined &&
      fileLength(logPath(name)) === undefined;
    if (isFree) return name;
  }
}

function hasContent(path: string): boolean {
  return (fileLength(path) ?? 0) > 0;
}
