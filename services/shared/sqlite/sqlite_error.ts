/**
 * Classifies errors of SQLite: a full disk, damage, a lock, a constraint.
 *
 * @module
 */

import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";

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

/** The extended result code of a constraint that a trigger is. */
const REFUSED_BY_TRIGGER = CODES.constraint | (7 << 8);

/**
 * SQLite's text for a code about which it knows nothing more. In this runtime
 * errors of opening a file and of `DatabaseSync.exec()` have no code, only this
 * text.
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

/** Faults of the program, not of the disk. */
const OF_THE_PROGRAM: readonly number[] = [
  CODES.error,
  CODES.constraint,
  CODES.mismatch,
  CODES.misuse,
  CODES.range,
];

/** Whether an error is a violated constraint. */
export function isConstraintError(error: unknown): boolean {
  return findErrorCode(error) === CODES.constraint;
}

/** Whether a trigger refused a write, by RAISE(). */
export function isTriggerError(error: unknown): boolean {
  return error instanceof Error && "errcode" in error &&
    error.errcode === REFUSED_BY_TRIGGER;
}

/** Whether an error says that a file cannot be opened or created. */
export function isCannotOpenError(error: unknown): boolean {
  return findErrorCode(error) === CODES.cannotOpen;
}

/** Whether an error says that another connection holds a lock of the file. */
export function isBusyError(error: unknown): boolean {
  return findErrorCode(error) === CODES.busy;
}

/**
 * Whether the cause of an error may be a full disk, which shows in two ways: no
 * room for a write, and a file beside the database that cannot be created.
 */
export function isFullError(error: unknown): boolean {
  const code = findErrorCode(error);
  return code === CODES.full || code === CODES.failing;
}

/** Whether an error says that a file is damaged, or no database at all. */
export function isDamagedError(error: unknown): boolean {
  const code = findErrorCode(error);
  return code === CODES.damaged || code === CODES.noDatabase;
}

/**
 * Whether an error is about a file or its disk, which may be full, broken or
 * read-only; an error in a statement is not.
 */
export function isStorageError(error: unknown): boolean {
  const code = findErrorCode(error);
  return code !== undefined && !OF_THE_PROGRAM.includes(code);
}

/** Turns an error of SQLite into one of the store; others stay as they are. */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || findErrorCode(error) === undefined) {
    return error;
  }
  return new StoreFailedError(`Cannot read: ${describeError(error)}`, {
    cause: error,
  });
}

/** The primary code of an error of SQLite; undefined for any other. */
function findErrorCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") {
    // The low byte is the primary code, the rest says more precisely what it
    // is.
    return error.errcode & 0xff;
  }
  const isOfSqlite = "code" in error && error.code === "ERR_SQLITE_ERROR";
  if (!isOfSqlite) return undefined;
  // A path may follow it.
  const [text = ""] = error.message.split(":", 1);
  return CODES_BY_TEXT.get(text);
}
