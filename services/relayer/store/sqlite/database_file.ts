/**
 * Opens the relayer's database files, all in one way: a commit waits for the
 * disk, and nobody else's statement keeps it.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { makePrivateDatabase } from "../../../shared/sqlite/private_file.ts";
import {
  isDamagedError,
  isFullError,
  isStorageError,
} from "../../../shared/sqlite/sqlite_error.ts";
import { StoreFailedError } from "../../../shared/store_failed_error.ts";

/** Options of {@linkcode openDatabase}. */
export interface OpenDatabaseOptions {
  /**
   * Pages in the log of commits from which on they are moved to the file, by the
   * commit that comes to it: fewer make that commit wait for less, more of them
   * make it seldom.
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

const PAGE_BYTES = 4_096;
const CACHE_KIB = 65_536;
/** How long a statement waits for another process, such as the command line. */
const BUSY_TIMEOUT_MS = 5_000;
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
  makePrivateDatabase(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    db.exec("PRAGMA journal_mode = WAL");
    // In this mode only FULL waits for the disk with each commit.
    db.exec("PRAGMA synchronous = FULL");
    db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    db.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    db.exec(`PRAGMA secure_delete = ${isErasing ? "ON" : "OFF"}`);
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.exec("PRAGMA temp_store = MEMORY");
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
