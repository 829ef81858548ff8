/**
 * Measures the work of SQL statements in steps of SQLite's virtual machine. A
 * query plan does not show it: a plan that says SEARCH may walk over all rows
 * with the same prefix.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import {
  DatabaseSync,
  type SQLInputValue,
  type StatementSync,
} from "node:sqlite";

/** A statement that was run, with its values. */
export interface RunStatement {
  /** The SQL text. */
  readonly sql: string;
  /** The values of its parameters. */
  readonly values: readonly SQLInputValue[];
}

const RUNNERS = ["all", "get", "run"] as const;
/**
 * Statements that begin and end transactions; they are not recorded, since the
 * replay has a transaction of its own.
 */
const BRACKETS = /^(BEGIN|COMMIT|SAVEPOINT|RELEASE)/;

/** A connection that records the statements run on it. */
export class RecordingDatabase extends DatabaseSync {
  #statements: RunStatement[] = [];

  /** Returns the statements that were run since the last call. */
  take(): readonly RunStatement[] {
    const statements = this.#statements;
    this.#statements = [];
    return statements;
  }

  /** Prepares a statement that is recorded each time it is run. */
  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql);
    if (BRACKETS.test(sql)) return statement;
    for (const name of RUNNERS) {
      const run = statement[name].bind(statement);
      Object.defineProperty(statement, name, {
        value: (...values: SQLInputValue[]) => {
          this.#statements.push({ sql, values });
          return run(...values);
        },
      });
    }
    return statement;
  }
}

/**
 * Runs statements again with the `sqlite3` program, in a transaction that is
 * rolled back, and returns the number of steps of each.
 */
export async function countSteps(
  path: string,
  statements: readonly RunStatement[],
): Promise<readonly number[]> {
  const lines = [
    ".stats vmstep",
    "BEGIN;",
    ...statements.map((statement) => `${literal(statement)};`),
    "ROLLBACK;",
  ];
  const child = new Deno.Command("sqlite3", {
    args: ["-batch", "-bail", path],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(lines.join("\n") + "\n"));
  await writer.close();
  const { code, stdout, stderr } = await output;
  const decoder = new TextDecoder();
  assertEquals([code, decoder.decode(stderr)], [0, ""]);
  const steps = [...decoder.decode(stdout).matchAll(/^VM-steps: (\d+)$/gm)]
    .map(([, count]) => Number(count));
  // The statements that begin and end the transaction are counted as well.
  assertEquals(steps.length, statements.length + 2);
  return steps.slice(1, -1);
}

/** Returns a statement with its values inserted as literals. */
function literal({ sql, values }: RunStatement): string {
  let last = 0;
  return sql.replaceAll(/\?(\d*)/g, (_, number: string) => {
    const index = number === "" ? last++ : Number(number) - 1;
    return literalValue(values[index]);
  });
}

function literalValue(value: SQLInputValue | undefined): string {
  if (typeof value === "number" || typeof value === "bigint") {
    return String(value);
  }
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `X'${value.toHex()}'`;
  throw new TypeError("Cannot write the value of a statement: it has none");
}
