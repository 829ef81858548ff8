/**
 * The database as commands read it, beside a service or without one.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { describeError } from "../../../shared/settled.ts";
import { databasePath, logPath, openReading } from "./database_file.ts";
import { fileLength } from "./file_length.ts";
import { isCannotOpenError } from "../../../shared/sqlite/sqlite_error.ts";

/** What opening a stored database comes to. */
export type StoredDatabase =
  | { readonly kind: "open"; readonly db: DatabaseSync }
  | {
    /**
     * Reading needs a file beside the database, which cannot be made there, as in
     * a snapshot. So nobody writes to it either: a copy of its file is whole.
     */
    readonly kind: "sealed";
    /** The database's path. */
    readonly path: string;
  };

/**
 * Opens the database in a data folder to read it.
 *
 * @throws {Error} when there is none or it cannot be opened: names it and says
 * what to do about a log in a folder that cannot be written to
 */
export function lookAtStored(dataFolder: string): StoredDatabase {
  const path = databasePath(dataFolder);
  if (fileLength(path) === undefined) {
    throw new Error(`Cannot open "${path}": there is no such database`);
  }
  try {
    return { kind: "open", db: openReading(path) };
  } catch (error) {
    const log = logPath(path);
    const isSealed = isCannotOpenError(error);
    if (isSealed && (fileLength(log) ?? 0) === 0) {
      return { kind: "sealed", path };
    }
    const reason = isSealed
      ? `its folder cannot be written to; copy it together with "${log}" to ` +
        "another one"
      : describeError(error);
    throw new Error(`Cannot open "${path}": ${reason}`, { cause: error });
  }
}

/**
 * Opens the database in a data folder that can be written to.
 *
 * @throws {Error} when there is none or it cannot be opened: names it and says
 * what to do about a folder that cannot be written to
 */
export function openStored(dataFolder: string): DatabaseSync {
  const stored = lookAtStored(dataFolder);
  if (stored.kind === "open") return stored.db;
  throw new Error(
    `Cannot open "${stored.path}": its folder cannot be written to, which is ` +
      "needed to read it; copy it to another one",
  );
}
