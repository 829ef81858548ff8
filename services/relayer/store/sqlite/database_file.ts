/**
 * Opens the relayer's database files, all in one way: a commit waits for the
 * disk. Errors name the file and what can be done.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { openDatabase as openWalDatabase } from "../../../shared/sqlite/open_database.ts";
import {
  isDamagedError,
  isFullError,
  isStorageError,
} from "../../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../../shared/store_failed_error.ts";

/** Options of {@linkcode openDatabase}. */
interface OpenDatabaseOptions {
  /**
   * Pages in the log of commits from which on they are moved to the file.
   *
   * @default {1000}
   */
  readonly checkpointPages?: number;
  /**
   * Whether what is deleted is overwritten with zeros.
   *
   * @default {false}
   */
  readonly isErasing?: boolean;
}

/** What the log keeps of its length once it was longer. */
const KEPT_LOG_BYTES = 16 * 1_048_576;

/**
 * Opens a database file for reading and writing; makes it, for its owner alone,
 * when there is none.
 *
 * @throws {Error} when the file is no database
 */
export function openDatabase(
  path: string,
  options: OpenDatabaseOptions = {},
): DatabaseSync {
  const { checkpointPages = 1_000, isErasing = false } = options;
  const db = openWalDatabase(path, { checkpointPages });
  try {
    db.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    db.exec(`PRAGMA secure_delete = ${isErasing ? "ON" : "OFF"}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** What a database file is called, and what it means when it is damaged. */
interface FileErrorsOptions {
  /** The path of the file. */
  readonly path: string;
  /** What can be done when it is damaged: how to go on, and what is lost then. */
  readonly whenDamaged: string;
}

/** Turns SQLite's errors, which name no file, into such as people can act on. */
export class FileErrors {
  readonly #options: FileErrorsOptions;

  /** The errors of one file. */
  constructor(options: FileErrorsOptions) {
    this.#options = options;
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

  /** An error of the file as a {@linkcode StoreFailedError}; others stay as they are. */
  named(error: unknown): unknown {
    if (!(error instanceof Error) || !isStorageError(error)) return error;
    const { path } = this.#options;
    return new StoreFailedError(
      `Cannot use "${path}": ${error.message}${this.#advice(error)}`,
      { cause: error },
    );
  }

  #advice(error: Error): string {
    if (isDamagedError(error)) return `; ${this.#options.whenDamaged}`;
    return isFullError(error) ? "; its disk may be full: make room on it" : "";
  }
}
