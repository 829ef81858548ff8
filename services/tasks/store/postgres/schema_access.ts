/**
 * The way to the tables of a schema: for the store, and for commands that work
 * on them beside it.
 *
 * @module
 */

import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { DatabaseConnection } from "../../../shared/postgres/connection.ts";
import {
  demandVersion,
  type MigrationPlan,
} from "../../../shared/postgres/migrations.ts";
import { openPool, type Pool } from "../../../shared/postgres/pool.ts";
import { ServerWatch } from "../../../shared/postgres/server_watch.ts";
import { MIGRATIONS } from "./migrations.ts";

/** A schema of a database. */
export interface SchemaOptions {
  /** The database. */
  readonly connection: DatabaseConnection;
  /** The schema of the tables; a plain name of a-z, 0-9 and _. */
  readonly schema: string;
  /**
   * Whether statements are prepared; false behind PgBouncer in transaction
   * mode.
   *
   * @default {true}
   */
  readonly prepare?: boolean | undefined;
  /** The machine's clock, for timers. */
  readonly clock: Clock;
  /** Logs what no error tells. */
  readonly logger: Logger;
}

/** How long a migration, or a look at all of a tenant's tasks, may take. */
export const LONG_MS = 3_600_000;

/** The tables, and how operators make them by hand. */
export function migrationPlan(schema: string): MigrationPlan {
  return { schema, migrations: MIGRATIONS, command: "tasks migrate --print" };
}

/**
 * The settings of connections. The plans of all statements are known: each
 * follows an index from a few rows to others. While its tables are small, or it
 * takes them for small, the server would rather read all of them.
 */
export function schemaSettings(
  schema: string,
): Readonly<Record<string, string>> {
  return {
    search_path: `"${schema}"`,
    enable_seqscan: "off",
    enable_hashjoin: "off",
    enable_mergejoin: "off",
    jit: "off",
  };
}

/**
 * Runs a command with a connection of its own, whose statements may take long.
 *
 * @throws {Error} when the database cannot be reached, and what `use` throws
 */
export async function withConnection<Answer>(
  { connection, schema, prepare = true, clock, logger }: SchemaOptions,
  use: (pool: Pool) => Promise<Answer>,
): Promise<Answer> {
  const pool = openPool({
    connection,
    clock,
    logger,
    prepare,
    watch: new ServerWatch({ clock, logger }),
    max: 1,
    queryTimeoutMs: LONG_MS,
    settings: schemaSettings(schema),
  });
  try {
    return await use(pool);
  } finally {
    await pool.close();
  }
}

/**
 * Does the same where the tables are there, and are such that this program
 * knows them.
 *
 * @throws {Error} when they are not; the message says what to do
 */
export function withSchema<Answer>(
  options: SchemaOptions,
  use: (pool: Pool) => Promise<Answer>,
): Promise<Answer> {
  return withConnection(options, async (pool) => {
    await demandVersion(pool, migrationPlan(options.schema));
    return await use(pool);
  });
}
