/**
 * What the schemas of all services have: the way to their tables, functions that
 * their statements use, and the tables of the instances.
 *
 * @module
 */

import { type Clock, systemClock } from "../clock.ts";
import { createLogger, type Logger } from "../logger.ts";
import type { OptionValues } from "../options.ts";
import { type DatabaseConnection, demandConnection } from "./connection.ts";
import { openPool, type Pool } from "./pool.ts";
import { ServerWatch } from "./server_watch.ts";
import type { DatabaseSettings } from "./settings.ts";

/**
 * Functions that the first migration of each service makes. A released text never
 * changes.
 */
export const COMMON_FUNCTIONS: string = `
-- The time that counts, in milliseconds since the epoch.
CREATE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint$$;

-- Undoes a statement of which a part did nothing.
CREATE FUNCTION demand(holds boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF holds THEN RETURN true; END IF;
  RAISE EXCEPTION 'a write is refused' USING ERRCODE = 'TC001';
END $$;
`;

/**
 * Tables of the instances, which the first migration of each service makes. A
 * released text never changes.
 */
export const INSTANCE_TABLES: string = `
-- Where instances tell each other what has changed. Every role of the database
-- may notify and listen, but only on a channel whose name it knows.
CREATE TABLE channel(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  name text NOT NULL
);
INSERT INTO channel(name)
  VALUES('tercet_' || replace(gen_random_uuid()::text, '-', ''));

-- The instances, a single row that is compared and set.
CREATE TABLE members(
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version bigint NOT NULL,
  state text NOT NULL
);
`;

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

/**
 * The schema that the settings name, for commands.
 *
 * @param service the program, which is the name of its connections
 * @throws {Error} when the database cannot be told from the settings
 */
export function schemaOptions(
  settings: OptionValues<DatabaseSettings>,
  service: string,
): SchemaOptions {
  return {
    connection: demandConnection(settings, service),
    schema: settings.databaseSchema,
    prepare: settings.databasePrepare,
    clock: systemClock,
    // Errors that matter to a command are thrown.
    logger: createLogger({
      format: "text",
      level: "error",
      clock: systemClock,
      write: () => {},
    }),
  };
}

/** How long a migration, or a look at all of a tenant's tasks, may take. */
export const LONG_MS = 3_600_000;

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
