/**
 * Stores on PostgreSQL for tests: each test has a schema of its own on one
 * server, which its stores share.
 *
 * @module
 */

import { sharedPostgres } from "../../../../../tests/support/postgres_server.ts";
import { systemClock } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import type { ConformanceSubject } from "../../testing/store_conformance.ts";
import { PostgresStore, type PostgresStoreOptions } from "../postgres_store.ts";

/** A server that need not survive a crash. */
export const TEST_SERVER = sharedPostgres({
  settings: {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
  },
});

/** Logs nothing. */
export const SILENT: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};

/**
 * By how much the database's time is ahead in tests, so that the instants of
 * samples have come: ten years.
 */
const AHEAD_MS = 315_360_000_000;

/** A schema and the stores on it. */
export interface PostgresSubject extends ConformanceSubject {
  /** The first store. */
  readonly store: PostgresStore;
  /** The schema. */
  readonly schema: string;
  /** Opens another store on the same schema. */
  another(options?: Partial<PostgresStoreOptions>): Promise<PostgresStore>;
}

/** Opens a store on a new schema. */
export async function openSubject(
  options: Partial<PostgresStoreOptions> = {},
): Promise<PostgresSubject> {
  const schema = TEST_SERVER.nextSchema();
  const stores: PostgresStore[] = [];
  const another = async (
    more: Partial<PostgresStoreOptions> = {},
  ): Promise<PostgresStore> => {
    const store = newStore(schema, { ...options, ...more });
    stores.push(store);
    await store.start();
    return store;
  };
  const store = await another();
  await TEST_SERVER.sql(
    `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint ` +
      "LANGUAGE sql VOLATILE AS 'SELECT " +
      "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + " +
      `${AHEAD_MS}'`,
  );
  return {
    store,
    schema,
    another,
    reopen: async () => {
      await store.stop();
      return await another();
    },
    close: async () => {
      for (const one of stores) await one.stop();
      await TEST_SERVER.sql(`DROP SCHEMA ${schema} CASCADE`);
    },
  };
}

/** A store on a schema, not started. */
export function newStore(
  schema: string,
  options: Partial<PostgresStoreOptions> = {},
): PostgresStore {
  return new PostgresStore({
    connection: TEST_SERVER.connection(),
    schema,
    clock: systemClock,
    logger: SILENT,
    ...options,
  });
}
