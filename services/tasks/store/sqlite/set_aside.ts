/**
 * Keeping a database that another one is to take the place of.
 *
 * @module
 */

import { tighten } from "../../../shared/sqlite/private_file.ts";
import { describeError } from "../../../shared/settled.ts";
import { logPath, openWriting } from "./database_file.ts";
import { fileLength } from "./file_length.ts";
import { removeIfThere, syncPath } from "./files_on_disk.ts";

/** What was kept of a database. */
export interface SetAside {
  /** The files, the database's own first; none when there was none. */
  readonly files: readonly string[];
  /** Why its log had to be kept as a file, too; absent when there is none. */
  readonly logReason?: string;
}

/** Options of {@linkcode setAside}. */
export interface SetAsideOptions {
  /** The path of the database, which nobody writes to. */
  readonly path: string;
  /** The folder it is in. */
  readonly folder: string;
}

/**
 * Keeps a database beside its place, under a name that nothing has yet, and
 * takes its log away, which would spoil the one that comes. The database stays
 * in its place until then, unless its log holds something that could not be
 * moved into it: without that it is not whole.
 */
export async function setAside(options: SetAsideOptions): Promise<SetAside> {
  const { path, folder } = options;
  const log = logPath(path);
  const logReason = hasContent(log) ? emptyLog(path) : undefined;
  // What counts is what is left there, whatever SQLite said.
  const hasLog = hasContent(log);
  const hasDatabase = fileLength(path) !== undefined;
  const to = freeName(path);
  if (hasLog) {
    tighten(log);
    // It comes first: whatever ends this here, no database is without its log.
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
  return {
    files: [
      ...(hasDatabase ? [to] : []),
      ...(hasLog ? [logPath(to)] : []),
    ],
    ...(hasLog
      ? { logReason: logReason ?? "it was not empty afterwards" }
      : {}),
  };
}

/**
 * Moves what is in the log to the file; returns why it could not. One that
 * cannot be opened is why somebody restores, and a disk may be full.
 */
function emptyLog(path: string): string | undefined {
  if (fileLength(path) === undefined) return "there is no database to it";
  try {
    const db = openWriting(path, "full");
    try {
      // A command that reads it takes long; the log can be kept as well.
      db.exec("PRAGMA busy_timeout = 0");
      const row = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
      return row?.["busy"] === 0 ? undefined : "somebody is reading it";
    } finally {
      db.close();
    }
  } catch (error) {
    return describeError(error);
  }
}

/** A name that neither a database nor a log has. */
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
