/**
 * Says what an error of PostgreSQL means: a refusal, after which nothing was
 * written, or a failure of the store, after which the outcome is unknown.
 *
 * @module
 */

import postgres from "postgres";
import { describeError } from "../settled.ts";
import { StoreFailedError } from "../store_failed.ts";

/**
 * Codes, or their first two characters, of a store that fails; see "PostgreSQL
 * Error Codes". The connection is given up after most of them, so that the next
 * one finds the server that takes writes now.
 */
const FAILURES: ReadonlyMap<string, "close" | "keep"> = new Map([
  // The connection, its login, its server; a server that only reads.
  ...["08", "28", "3D", "57", "58", "XX", "25006", "25P03"]
    .map((code) => [code, "close"] as const),
  // A plan that the connection no longer has: a pooler gave it another server.
  ["26000", "close"],
  ["42P05", "close"],
  // No room on the disk, in memory, or for connections.
  ["53", "keep"],
  // A statement that was canceled.
  ["57014", "keep"],
]);

/** The code of an error of the server (`SQLSTATE`); undefined for others. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

/** The name of the constraint that was violated, if one was. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof postgres.PostgresError)) return undefined;
  return error.code.startsWith("23") ? error.constraint_name ?? "" : undefined;
}

/**
 * Whether a transaction was undone for the sake of another one, so that it may
 * be run again: serialization, a deadlock, a lock that was not waited for.
 */
export function mayRunAgain(error: unknown): boolean {
  return ["40001", "40P01", "55P03"].includes(sqlState(error) ?? "");
}

/**
 * What to do after an error: nothing, as the server only refused a statement,
 * or to report that the store failed, with or without its connection.
 */
export function judgeFailure(error: unknown): "refused" | "keep" | "close" {
  if (!(error instanceof postgres.PostgresError)) {
    // A fault of the program, such as a number that is too large to read; all
    // else is of the connection.
    const isFault = error instanceof TypeError || error instanceof RangeError;
    return isFault ? "refused" : "close";
  }
  // A migration changed what a prepared statement returns.
  if (error.routine === "RevalidateCachedQuery") return "close";
  return FAILURES.get(error.code) ?? FAILURES.get(error.code.slice(0, 2)) ??
    "refused";
}

/** The error of a store for a failure of PostgreSQL. */
export function storeFailure(error: unknown): StoreFailedError {
  const advice = sqlState(error) === "26000" || sqlState(error) === "42P05"
    ? "; behind PgBouncer in transaction mode, set DATABASE_PREPARE=false"
    : "";
  return new StoreFailedError(
    `Cannot use the database: ${describeError(error)}${advice}`,
    { cause: error },
  );
}

/**
 * Runs what uses the database; all that it throws is an error of the store, but
 * for faults of the program.
 *
 * @throws {StoreFailedError} when the database fails or refuses a statement
 */
export async function asStore<Answer>(
  use: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await use();
  } catch (error) {
    throw sqlState(error) === undefined ? error : storeFailure(error);
  }
}

/**
 * Whether a notice says that a commit may not be on the standby: its wait was
 * canceled, or the server stopped meanwhile. The notice is the only sign, as
 * the answer to the commit is that of a success.
 */
export function isUncertainCommit(
  notice: Readonly<Record<string, string>>,
): boolean {
  const { routine, code = "" } = notice;
  // Servers that are only like PostgreSQL may name no routine.
  return routine === "SyncRepWaitForLSN" ||
    (routine === undefined && (code === "01000" || code.startsWith("57P0")));
}
