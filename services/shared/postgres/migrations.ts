/**
 * Migrations of the tables in a schema: numbered steps, each applied once,
 * while programs of the version before and of the next one may run.
 *
 * @module
 */

import { quote } from "../quote.ts";
import { sqlState } from "./failure.ts";
import type { Pool } from "./pool.ts";
import type { Runner } from "./session.ts";

/** One step from a version of the tables to the next. */
export interface Migration {
  /** The version it leads to; the first is 1. */
  readonly version: number;
  /** What it does, in a word or two. */
  readonly name: string;
  /**
   * The oldest version whose programs work with the tables after this step. A
   * step that only adds keeps the number of the step before, so that instances
   * of both versions run together.
   */
  readonly compatibleSince: number;
  /**
   * The statements. Names need no schema: it is the search path. A function
   * keeps it by `SET search_path FROM CURRENT`.
   */
  readonly sql: string;
}

/** What is migrated. */
export interface MigrationPlan {
  /** The schema of the tables; a plain name of a-z, 0-9 and _. */
  readonly schema: string;
  /** All steps in their order; what was released never changes. */
  readonly migrations: readonly Migration[];
  /** The command that prints the steps, such as `tasks migrate --print`. */
  readonly command: string;
}

/** The state of a schema. */
export interface SchemaVersion {
  /** The last step that was applied; 0 for none. */
  readonly version: number;
  /** The oldest version whose programs work with it. */
  readonly compatibleSince: number;
}

const NO_RIGHTS = "42501";
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Applies the steps that a schema lacks, all of them or none. Instances that
 * start at once take turns. Where there is nothing to do, nothing is written.
 *
 * @param pool one whose statements may take long: a step may have to read a
 * table, and a second instance waits for the first one
 * @throws {Error} when the schema is of a version that this program cannot work
 * with, or the role may not make the tables; the message says what to do
 */
export async function migrate(pool: Pool, plan: MigrationPlan): Promise<void> {
  const { schema, command } = plan;
  try {
    if (refuseLater(await readVersion(pool, schema), plan)) return;
    await pool.transaction(async (transaction) => {
      await transaction.query(lockSql(schema));
      const there = await readVersion(transaction, schema);
      if (refuseLater(there, plan)) return;
      await transaction.query(stepsSql(plan, there.version));
    });
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE) {
      throw new Error(
        `Cannot migrate the schema ${quote(schema)}: a transaction uses its ` +
          "tables; end it, or start again later",
        { cause: error },
      );
    }
    if (sqlState(error) !== NO_RIGHTS) throw error;
    throw new Error(
      `Cannot migrate the schema ${quote(schema)}: the role may not; let its ` +
        `owner run what \`${command}\` prints`,
      { cause: error },
    );
  }
}

/** The version of a schema; 0 when it is not there. */
export async function readVersion(
  runner: Runner,
  schema: string,
): Promise<SchemaVersion> {
  // Not to_regclass(): after a wait for the lock it may answer from a cache.
  const [found] = await runner.query(
    "SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON " +
      "pg_namespace.oid = relnamespace WHERE relname = 'migrations' " +
      `AND nspname = '${schema}') AS there`,
  );
  if (found?.["there"] !== true) return { version: 0, compatibleSince: 0 };
  const [row] = await runner.query(
    "SELECT coalesce(max(version), 0) AS version, " +
      "coalesce(max(compatible_since), 0) AS compatible_since " +
      `FROM "${schema}".migrations`,
  );
  return {
    version: Number(row?.["version"]),
    compatibleSince: Number(row?.["compatible_since"]),
  };
}

/**
 * Checks that a schema has all that this program needs.
 *
 * @throws {Error} when steps are missing, or the schema is of a version that
 * this program cannot work with; the message says what to do
 */
export async function demandVersion(
  runner: Runner,
  plan: MigrationPlan,
): Promise<void> {
  const there = await readVersion(runner, plan.schema);
  if (refuseLater(there, plan)) return;
  const latest = plan.migrations.at(-1)?.version ?? 0;
  const found = there.version === 0
    ? "it has no tables"
    : `it is of version ${there.version}, and this program of ${latest}`;
  throw new Error(
    `Cannot use the schema ${quote(plan.schema)}: ${found}; start the ` +
      "service, or migrate it",
  );
}

/**
 * Gives a role what it needs to use the tables of a schema. The role that
 * made the tables runs it.
 */
export async function grantUse(
  pool: Pool,
  of: { readonly schema: string; readonly role: string },
): Promise<void> {
  await pool.batch(grantSql(of).map((sql) => ({ sql })));
}

/**
 * The steps as one script for `psql`, which a role runs that may create.
 *
 * @param from the version that is there; all steps from 0
 * @param role the role of the service, which gets what it needs
 */
export function printMigrations(
  plan: MigrationPlan,
  { from = 0, role }: { readonly from?: number; readonly role: string },
): string {
  const { schema } = plan;
  return [
    "BEGIN;",
    `${lockSql(schema)};`,
    stepsSql(plan, from).trim(),
    ...grantSql({ schema, role }).map((sql) => `${sql};`),
    "COMMIT;",
    "",
  ].join("\n");
}

function grantSql(
  { schema, role }: { readonly schema: string; readonly role: string },
): readonly string[] {
  const name = `"${role.replaceAll('"', '""')}"`;
  return [
    `GRANT USAGE ON SCHEMA "${schema}" TO ${name}`,
    "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA " +
    `"${schema}" TO ${name}`,
    // An import sets them.
    `GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA "${schema}" TO ${name}`,
  ];
}

/** A lock of the transaction, which holds behind a pooler as well. */
function lockSql(schema: string): string {
  return `SELECT pg_advisory_xact_lock(hashtextextended(` +
    `'tercet migrations of ${schema}', 0))`;
}

function stepsSql(
  { schema, migrations }: MigrationPlan,
  from: number,
): string {
  const steps = migrations.filter(({ version }) => version > from);
  return [
    // A step that waits for a lock makes everybody wait who comes after it.
    "SET LOCAL lock_timeout = '2s';",
    `CREATE SCHEMA IF NOT EXISTS "${schema}";`,
    `SET LOCAL search_path TO "${schema}";`,
    "CREATE TABLE IF NOT EXISTS migrations (version int PRIMARY KEY, " +
    "name text NOT NULL, compatible_since int NOT NULL, " +
    "applied_at timestamptz NOT NULL DEFAULT now());",
    ...steps.flatMap(({ version, name, compatibleSince, sql }) => [
      `${sql.trim().replace(/;$/, "")};`,
      "INSERT INTO migrations (version, name, compatible_since) VALUES " +
      `(${version}, '${name.replaceAll("'", "''")}', ${compatibleSince});`,
    ]),
    "",
  ].join("\n");
}

/** Returns whether nothing has to be done. */
function refuseLater(
  there: SchemaVersion,
  { schema, migrations }: MigrationPlan,
): boolean {
  const latest = migrations.at(-1)?.version ?? 0;
  if (there.version <= latest) return there.version === latest;
  if (there.compatibleSince <= latest) return true;
  throw new Error(
    `Cannot use the schema ${quote(schema)}: it is of version ` +
      `${there.version}, which works with programs of version ` +
      `${there.compatibleSince} or later, and this one is of version ` +
      `${latest}; start a later program, or restore a backup`,
  );
}
