/**
 * Schemas with the tables of what a relayer keeps beside its memories, for
 * tests: each has one of its own on one server.
 *
 * @module
 */

import {
  makeTestPool,
  sharedPostgres,
} from "../../../../../tests/support/postgres_server.ts";
import { migrate } from "../../../../shared/postgres/migrations.ts";
import type { Pool } from "../../../../shared/postgres/pool.ts";
import {
  BLOB_TABLES,
  CATALOG_TABLES,
  KEY_TABLES,
  LEDGER_TABLES,
} from "../data_tables.ts";

/** A server that need not survive a crash. */
export const TEST_SERVER = sharedPostgres({
  settings: {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
  },
});

/** A schema with the tables. */
export interface DataSchema {
  /** Its name. */
  readonly name: string;
  /** Opens connections, as another relayer does. */
  connect(): Pool;
  /** All rows of its tables as one text, bytes in hexadecimal digits. */
  dump(): Promise<string>;
}

/** Makes a schema, runs `use` and removes it. */
export async function withDataSchema(
  use: (schema: DataSchema) => Promise<void>,
): Promise<void> {
  const name = TEST_SERVER.nextSchema();
  const pools: Pool[] = [];
  const connect = (): Pool => {
    const { pool } = makeTestPool(TEST_SERVER.connection(), {
      settings: { search_path: `"${name}"` },
    });
    pools.push(pool);
    return pool;
  };
  try {
    await migrate(connect(), {
      schema: name,
      command: "test",
      migrations: [{
        version: 1,
        name: "data",
        compatibleSince: 1,
        sql: KEY_TABLES + BLOB_TABLES + CATALOG_TABLES + LEDGER_TABLES,
      }],
    });
    await use({ name, connect, dump: () => dump(name) });
  } finally {
    for (const pool of pools) await pool.close();
    await TEST_SERVER.sql(`DROP SCHEMA "${name}" CASCADE`);
  }
}

async function dump(schema: string): Promise<string> {
  const tables = await TEST_SERVER.sql<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables " +
      `WHERE schemaname = '${schema}' ORDER BY 1`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const rows = await TEST_SERVER.sql<{ text: string }>(
      `SELECT there::text AS text FROM "${schema}"."${name}" AS there`,
    );
    texts.push(...rows.map(({ text }) => text));
  }
  return texts.join("\n");
}
