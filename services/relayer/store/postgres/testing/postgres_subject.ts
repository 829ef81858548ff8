/**
 * Stores on PostgreSQL for tests: each test has a schema of its own on one
 * server, which its stores share.
 *
 * @module
 */

import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { sharedPostgres } from "../../../../../tests/support/postgres_server.ts";
import { RecordingLogger } from "../../../../../tests/support/recording_logger.ts";
import { systemClock } from "../../../../shared/clock.ts";
import { SAMPLE_MS } from "../../testing/sample_rows.ts";
import type { SeveralStores } from "../../testing/store_conformance.ts";
import { PostgresStore, type PostgresStoreOptions } from "../postgres_store.ts";

/** A server that need not survive a crash. */
export const TEST_SERVER = sharedPostgres({
  settings: {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
  },
});

/** A schema and the stores on it. */
export interface PostgresSubject extends SeveralStores {
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
  const clock = new FakeClock(SAMPLE_MS);
  const stores: PostgresStore[] = [];
  const another = async (
    more: Partial<PostgresStoreOptions> = {},
  ): Promise<PostgresStore> => {
    const store = new PostgresStore({
      connection: TEST_SERVER.connection(),
      schema,
      clock: systemClock,
      time: clock,
      logger: new RecordingLogger(),
      ...options,
      ...more,
    });
    stores.push(store);
    await store.start();
    return store;
  };
  const store = await another();
  return {
    store,
    clock,
    schema,
    another,
    restart: async () => {
      await store.stop();
      await store.start();
    },
    close: async () => {
      for (const one of stores) await one.stop();
      await TEST_SERVER.sql(`DROP SCHEMA ${schema} CASCADE`);
    },
  };
}
