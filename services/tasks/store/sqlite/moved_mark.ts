/**
 * The mark of a database whose rows have moved to another store. It refuses
 * every later write, also those of a service that runs, whatever its version:
 * it is made in the same transaction that ends the copy.
 *
 * @module
 */

import type { DatabaseSync } from "node:sqlite";
import { readText, type Row } from "./reader.ts";

/** Where the rows of a database are now. */
export interface Moved {
  /** The other store, for people; it has no password. */
  readonly to: string;
}

/** The writes that are refused, by table. */
const REFUSED = {
  tenants: ["INSERT"],
  lanes: ["INSERT"],
  tasks: ["INSERT", "UPDATE", "DELETE"],
  history: ["INSERT", "DELETE"],
  records: ["INSERT", "UPDATE", "DELETE"],
  idempotency: ["INSERT", "UPDATE", "DELETE"],
  usage: ["INSERT", "UPDATE"],
  starts: ["INSERT", "DELETE"],
  audit: ["INSERT", "DELETE"],
  task_counts: ["INSERT", "UPDATE", "DELETE"],
  job_counts: ["INSERT", "UPDATE", "DELETE"],
  activity: ["INSERT", "UPDATE", "DELETE"],
  probe: ["UPDATE"],
} as const;

const FIND_TABLE = "SELECT name FROM sqlite_schema " +
  "WHERE type = 'table' AND name = 'moved'";
const READ_MARK = "SELECT place FROM moved";

/** Finds the mark; `row` runs a query and returns its first row. */
export function findMoved(
  row: (sql: string) => Row | undefined,
): Moved | undefined {
  if (row(FIND_TABLE) === undefined) return undefined;
  const mark = row(READ_MARK);
  return mark && { to: readText(mark, "place") };
}

/** Marks a database, in a transaction that the caller has begun. */
export function markMoved(db: DatabaseSync, { to }: Moved): void {
  db.exec("CREATE TABLE moved(place TEXT NOT NULL) STRICT");
  db.prepare("INSERT INTO moved VALUES(?)").run(to);
  const message = `the data has moved to ${to}`.replaceAll("'", "''");
  for (const [table, writes] of Object.entries(REFUSED)) {
    for (const write of writes) {
      db.exec(
        `CREATE TRIGGER moved_${table}_${write.toLowerCase()} ` +
          `BEFORE ${write} ON ${table} BEGIN ` +
          `SELECT RAISE(ABORT, '${message}'); END`,
      );
    }
  }
}
