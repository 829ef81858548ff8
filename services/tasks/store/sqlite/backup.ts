/**
 * Copies of the database for safe keeping, and back.
 *
 * @module
 */

import { backup, DatabaseSync } from "node:sqlite";
import {
  databasePath,
  LOCK_FILE,
  openReading,
  openWriting,
} from "./database_file.ts";
import { lockFolder } from "../../../shared/sqlite/folder_lock.ts";
import { faultsOf, versionFaultOf } from "./integrity.ts";

/** Options of {@linkcode backupDatabase}. */
export interface BackupOptions {
  /** The folder of the database; a service may be using it. */
  readonly dataFolder: string;
  /** The file to make; there must be none. */
  readonly to: string;
}

/** Options of {@linkcode restoreDatabase}. */
export interface RestoreOptions {
  /** A file that {@linkcode backupDatabase} made. */
  readonly from: string;
  /** The folder to put the database in; made when there is none. */
  readonly dataFolder: string;
}

const ALL_PAGES = 2 ** 30;

/**
 * Writes everything that has been committed so far to one file, which is there
 * as a whole or not at all, and on the disk. Keeps the thread for as long as
 * copying takes, so a server does not call it; it may run beside one.
 *
 * @throws {Error} when there is no database, or the file is there already
 */
export async function backupDatabase(options: BackupOptions): Promise<void> {
  const { dataFolder, to } = options;
  const path = databasePath(dataFolder);
  if (!await isThere(path)) {
    throw new Error(`Cannot back up "${dataFolder}": it has no database`);
  }
  if (await isThere(to)) {
    throw new Error(`Cannot back up to "${to}": there is a file already`);
  }
  const part = `${to}.part`;
  await removeIfThere(part);
  try {
    await copyWhole(path, part);
    await syncFile(part);
    await Deno.rename(part, to);
    await syncFile(folderOf(to));
  } catch (error) {
    await removeIfThere(part);
    throw error;
  }
}

/**
 * Puts a backup in the place of a data folder's database, after having looked
 * whether it is whole. What was there is kept beside it as `tasks.db.replaced`.
 *
 * @throws {Error} when the folder is in use or the backup is not whole; the
 * database in the folder is as before
 */
export async function restoreDatabase(options: RestoreOptions): Promise<void> {
  const { from, dataFolder } = options;
  if (!await isThere(from)) {
    throw new Error(`Cannot restore "${from}": there is no such file`);
  }
  if (await hasContent(`${from}-wal`)) {
    throw new Error(
      `Cannot restore "${from}": a log stands beside it, so it is not a backup ` +
        "but a part of a database",
    );
  }
  await Deno.mkdir(dataFolder, { recursive: true });
  const lock = lockFolder(dataFolder, LOCK_FILE);
  const part = `${databasePath(dataFolder)}.restoring`;
  try {
    await Deno.copyFile(from, part);
    demandWhole(from, part);
    await syncFile(part);
    await keepReplaced(databasePath(dataFolder));
    await Deno.rename(part, databasePath(dataFolder));
    await syncFile(dataFolder);
  } finally {
    await removeIfThere(part);
    lock.release();
  }
}

async function copyWhole(path: string, to: string): Promise<void> {
  const db = openReading(path);
  try {
    // In one step it is one state; in several it would begin again with each
    // commit. `VACUUM INTO` attaches a database, which permissions forbid.
    await backup(db, to, { rate: ALL_PAGES });
  } finally {
    db.close();
  }
}

function demandWhole(from: string, path: string): void {
  // Opened to be written, so that closing leaves no log beside it.
  const db = new DatabaseSync(path);
  try {
    const fault = versionFaultOf(db) ?? faultsOf(db)[0];
    if (fault === undefined) return;
    throw new Error(`Cannot restore "${from}": ${fault}`);
  } finally {
    db.close();
  }
}

/** Leaves the database in its place too, until another one takes it. */
async function keepReplaced(path: string): Promise<void> {
  if (!await isThere(path)) return;
  emptyLog(path);
  await removeIfThere(`${path}.replaced`);
  await Deno.link(path, `${path}.replaced`);
  await removeIfThere(`${path}-wal`);
  await removeIfThere(`${path}-shm`);
}

/** Moves what is in the log to the file, which closing does. */
function emptyLog(path: string): void {
  try {
    openWriting(path, "full").close();
  } catch {
    // One that cannot be opened is why somebody restores; it is kept as it is.
  }
}

async function syncFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true });
  await file.sync();
}

async function isThere(path: string): Promise<boolean> {
  return await sizeOf(path) !== undefined;
}

async function hasContent(path: string): Promise<boolean> {
  return (await sizeOf(path) ?? 0) > 0;
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash + 1);
}
