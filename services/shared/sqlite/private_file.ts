/**
 * Files that their owner alone may read.
 *
 * @module
 */

const OWNER_ONLY = 0o600;
const OWNER_FOLDER = 0o700;
const OTHERS = 0o007;

/**
 * Creates an empty file for its owner alone, unless it exists; SQLite takes it for a
 * new database and gives its mode to the files beside it. An existing one is treated
 * as by {@linkcode tighten}.
 *
 * @throws {Error} when it cannot be created, as where there is no folder
 */
export function makePrivate(path: string): void {
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: OWNER_ONLY })
      .close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    tighten(path);
  }
}

/**
 * Does the same for a database, and for files of it that a process left which ended
 * early.
 *
 * @throws {Error} when it cannot be created, as where there is no folder
 */
export function makePrivateDatabase(path: string): void {
  makePrivate(path);
  for (const suffix of ["-wal", "-shm", "-journal"]) tighten(path + suffix);
}

/**
 * Restricts a file or folder that everybody on the machine may read to its owner.
 * One that only a group may read stays as it is, as that was intended; a missing one
 * is ignored. Does nothing on Windows, which has no modes.
 */
export function tighten(path: string): void {
  try {
    const { mode, isDirectory } = Deno.statSync(path);
    if (mode === null || (mode & OTHERS) === 0) return;
    Deno.chmodSync(path, isDirectory ? OWNER_FOLDER : OWNER_ONLY);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    // It belongs to another user, who let this process use it and set its mode.
    if (error instanceof Deno.errors.PermissionDenied) return;
    throw error;
  }
}
