/**
 * The tables of the service, for the store and for commands that work on them
 * beside it.
 *
 * @module
 */

import {
  demandVersion,
  type MigrationPlan,
} from "../../../shared/postgres/migrations.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import {
  type SchemaOptions,
  withConnection,
} from "../../../shared/postgres/schema.ts";
import { MIGRATIONS } from "./migrations.ts";

/** The tables, and how operators make them by hand. */
export function migrationPlan(schema: string): MigrationPlan {
  return { schema, migrations: MIGRATIONS, command: "tasks migrate --print" };
}

/**
 * Runs a command with a connection of its own, where the tables are there and
 * are such that this program knows them.
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
