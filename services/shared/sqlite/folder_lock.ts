/**
 * Locks a data folder, so that only one process uses it at a time.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { makePrivate } from "../data_file.ts";
import { isBusyError } from "./sqlite_error.ts";

/** A data folder that is locked. */
export interface FolderLock {
  /** Unlocks the folder, so that another process can use it. */
  release(): void;
}

/**
 * Locks a data folder. The lock is the operating system's lock of a file, so it
 * ends with the process, however that ends.
 *
 * @param lockName The name of that file.
 * @throws when another process, or another store of this one, holds it
 */
export function lockFolder(dataFolder: string, lockName: string): FolderLock {
  const outcome = open(dataFolder, lockName);
  if (outcome.kind === "locked") return outcome.lock;
  throw new Error(
    `Cannot use the data folder "${dataFolder}": another process has it; ` +
      "stop that one first, or name another folder",
    { cause: outcome.error },
  );
}

/**
 * Locks a data folder unless it is locked; undefined when another process holds
 * the lock.
 *
 * @param lockName The name of the lock's file.
 * @throws when the file cannot be locked for another reason
 */
export function tryLockFolder(
  dataFolder: string,
  lockName: string,
): FolderLock | undefined {
  const outcome = open(dataFolder, lockName);
  if (outcome.kind === "locked") return outcome.lock;
  if (isBusyError(outcome.error)) return undefined;
  throw outcome.error;
}

function open(
  dataFolder: string,
  lockName: string,
):
  | { readonly kind: "locked"; readonly lock: FolderLock }
  | { readonly kind: "failed"; readonly error: unknown } {
  const path = `${dataFolder}/${lockName}`;
  // For the owner alone: every process that may read a file may lock it.
  makePrivate(path);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // A transaction that is never committed: nothing is written to the file.
    db.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    return { kind: "failed", error };
  }
  const release = (): void => {
    if (db.isOpen) db.close();
  };
  return { kind: "locked", lock: { release } };
}
