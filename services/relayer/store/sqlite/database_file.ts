/**
 * Opens the relayer's SQLite files, all with the same settings: a commit waits
 * for the disk. Errors name the file and what can be done.
 *
 * @module
 */

import { describeError } from "../../../shared/settled.ts";
import type { DatabaseSync } from "node:sqlite";
import { openDatabase as openWalDatabase } from "../../../shared/sqlite/open_database.ts";
import {
  isDamagedError,
  isFullError,
  isStorageError,
} from "../../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../../shared/store_failed.ts";

/** The length in bytes to which a longer write-ahead log is cut. */
const KEPT_LOG_BYTES = 16 * 1_048_576;

/**
 * The size of the page cache of each file, in KiB. It may be small: an owner's
 * rows are read once, their index is kept in memory elsewhere, and the
 * operating system caches the file as well.
 */
const CACHE_KIB = 16_384;

/**
 * Opens a database file for reading and writing; creates a missing one, which
 * only the user of the process can read. With `isErasing`, deleted rows are
 * overwritten with zeros.
 *
 * @throws {Error} when the file is no database
 */
export function openDatabase(
  path: string,
  { isErasing = false }: { readonly isErasing?: boolean } = {},
): DatabaseSync {
  const db = openWalDatabase(path, { checkpointPages: 1_000 });
  try {
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    db.exec(`PRAGMA secure_delete = ${isErasing ? "ON" : "OFF"}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Turns SQLite's errors, which name no file, into errors that operators can act
 * on.
 */
export class FileErrors {
  readonly #path: string;
  readonly #whenDamaged: string;

  /**
   * Handles the errors of one file.
   *
   * @param whenDamaged The advice for a damaged file: how to go on, and what is
   * lost then.
   */
  constructor(path: string, whenDamaged: string) {
    this.#path = path;
    this.#whenDamaged = whenDamaged;
  }

  /**
   * Runs what reads or writes the file.
   *
   * @throws {StoreFailedError} when the file or its disk failed
   * @throws what `work` throws otherwise
   */
  run<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw this.named(error);
    }
  }

  /**
   * Returns an error of the file or its disk as a {@linkcode StoreFailedError},
   * and any other error as it is.
   */
  named(error: unknown): unknown {
    if (!(error instanceof Error) || !isStorageError(error)) return error;
    return new StoreFailedError(
      `Cannot use "${this.#path}": ${describeError(error)}${
        this.#advice(error)
      }`,
      { cause: error },
    );
  }

  #advice(error: Error): string {
    if (isDamagedError(error)) return `; ${this.#whenDamaged}`;
    return isFullError(error) ? "; its disk may be full: make room on it" : "";
  }
}
