/**
 * Errors of a database file that name it and say what can be done.
 *
 * @module
 */

import { StoreFailedError } from "../../../shared/store_failed_error.ts";
import {
  isDamagedError,
  isFullError,
  isStorageError,
} from "../../../shared/sqlite/sqlite_error.ts";

/** What a database file is called, and what it means when it is damaged. */
export interface FileErrorsOptions {
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
