/**
 * What SQLite's errors mean.
 *
 * @module
 */

import { StoreFailedError } from "../store_failed_error.ts";

/** Primary result codes, https://sqlite.org/rescode.html. */
const CODES = {
  error: 1,
  busy: 5,
  readOnly: 8,
  failing: 10,
  damaged: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  mismatch: 20,
  misuse: 21,
  range: 25,
  noDatabase: 26,
} as const;

/**
 * What SQLite says of a code where it knows nothing more. Errors of opening a
 * file and of `DatabaseSync.exec()` carry no code in this runtime, only these
 * words.
 */
const CODES_BY_TEXT: ReadonlyMap<string, number> = new Map([
  ["database is locked", CODES.busy],
  ["attempt to write a readonly database", CODES.readOnly],
  ["disk I/O error", CODES.failing],
  ["database disk image is malformed", CODES.damaged],
  ["database or disk is full", CODES.full],
  ["unable to open database file", CODES.cannotOpen],
  ["file is not a database", CODES.noDatabase],
]);

/** Faults of the program, which the disk has nothing to do with. */
const OF_THE_PROGRAM: readonly number[] = [
  CODES.error,
  CODES.constraint,
  CODES.mismatch,
  CODES.misuse,
  CODES.range,
];

/** Tells whether an error says that a constraint is violated. */
export function isConstraintError(error: unknown): boolean {
  return codeOf(error) === CODES.constraint;
}

/** Tells whether an error says that a file cannot be opened, or not be made. */
export function isCannotOpenError(error: unknown): boolean {
  return codeOf(error) === CODES.cannotOpen;
}

/**
 * Tells whether an error may come of a full disk, which shows in two ways: no
 * room for what is written, and a file beside the database that cannot be made.
 */
export function isFullError(error: unknown): boolean {
  const code = codeOf(error);
  return code === CODES.full || code === CODES.failing;
}

/** Tells whether an error says that a file is damaged, or no database at all. */
export function isDamagedError(error: unknown): boolean {
  const code = codeOf(error);
  return code === CODES.damaged || code === CODES.noDatabase;
}

/**
 * Tells whether an error is one of a file or its disk, which may be full, broken
 * or read-only; a statement that is wrong is not.
 */
export function isStorageError(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && !OF_THE_PROGRAM.includes(code);
}

/** Turns an error of SQLite into one of the store; others stay as they are. */
export function storeErrorOf(error: unknown): unknown {
  if (!(error instanceof Error) || codeOf(error) === undefined) return error;
  return new StoreFailedError(`Cannot read: ${error.message}`, {
    cause: error,
  });
}

/** The primary code of an error of SQLite; undefined for any other. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") {
    // The low byte is the primary code, the rest says more precisely what it is.
    return error.errcode & 0xff;
  }
  const isOfSqlite = "code" in error && error.code === "ERR_SQLITE_ERROR";
  if (!isOfSqlite) return undefined;
  // A path may stand behind it.
  const [text = ""] = error.message.split(":", 1);
  return CODES_BY_TEXT.get(text);
}
