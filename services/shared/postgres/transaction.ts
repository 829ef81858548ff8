/**
 * A transaction on one connection, in as few round trips as it has decisions to
 * make: statements are sent before earlier ones are answered.
 *
 * @module
 */

import type { QueryOptions, Rows, Runner, Session } from "./session.ts";
import { encodeParameters, type SqlParameter } from "./values.ts";

/** A statement and its parameters. */
export interface Statement extends QueryOptions {
  /** The text, with `$1` for the first parameter. */
  readonly sql: string;
  /** The values of `$1` and the next ones. @default none */
  readonly parameters?: readonly SqlParameter[];
}

/** A transaction that is open. */
export interface Transaction extends Runner {
  /**
   * Runs the last statements and commits, all in one round trip. The first that
   * fails undoes the whole transaction.
   *
   * @throws {StoreFailedError} when it is unknown whether it was committed
   * @throws {Error} when it was not, as a statement was refused
   */
  commit(statements?: readonly Statement[]): Promise<readonly Rows[]>;
}

/** Options of a transaction. */
export interface TransactionOptions {
  /** What it sees of others. @default {"read committed"} */
  readonly isolation?: "read committed" | "repeatable read" | "serializable";
  /**
   * For how many milliseconds it may leave the server waiting: an instance that
   * hangs must not keep others from its rows.
   *
   * @default {10000}
   */
  readonly idleMs?: number;
}

/**
 * Runs a transaction on a connection that nothing else uses meanwhile. It is
 * committed when `run` returns, unless `run` did that, and undone when `run`
 * throws.
 */
export async function runTransaction<T>(
  session: Session,
  run: (transaction: Transaction) => Promise<T>,
  { isolation = "read committed", idleMs = 10_000, first }:
    & TransactionOptions
    & {
      /** A statement without parameters to begin with. @default none */
      readonly first?: string | undefined;
    },
): Promise<T> {
  // Not waited for: the first statement follows it at once, and fails with it.
  const begun = session.query(
    `BEGIN ISOLATION LEVEL ${isolation}; ` +
      `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}` +
      (first === undefined ? "" : `; ${first}`),
  );
  begun.catch(() => {});
  let isOver = false;
  const refuse = (): void => {
    if (isOver) throw new TypeError("Cannot query: the transaction is over");
  };
  const commit = async (
    statements: readonly Statement[] = [],
  ): Promise<readonly Rows[]> => {
    refuse();
    // All before the first is sent: a COMMIT must not follow a part of them.
    const encoded = statements.map(({ parameters = [] }) =>
      encodeParameters(parameters)
    );
    isOver = true;
    const sent = statements.map(({ sql, parameters: _, ...options }, at) =>
      session.send(sql, encoded[at], options)
    );
    const outcomes = await Promise.allSettled([
      begun,
      ...sent,
      session.send("COMMIT"),
    ]);
    const rows = outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
    // The server's answer to COMMIT after a statement that failed.
    if (rows.at(-1)?.command !== "COMMIT") {
      throw new Error("Cannot commit: a statement of the transaction failed");
    }
    return rows.slice(1, -1);
  };
  try {
    const result = await run({
      query: (sql, parameters, options) => {
        refuse();
        return session.query(sql, parameters, options);
      },
      commit,
    });
    if (!isOver) await commit();
    return result;
  } catch (error) {
    if (!isOver) {
      isOver = true;
      await session.send("ROLLBACK").catch(() =>
        session.destroy("a transaction could not be undone")
      );
    }
    throw error;
  }
}
