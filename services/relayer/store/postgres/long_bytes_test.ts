import { assertEquals, assertRejects } from "@std/assert";
import type { Pool } from "../../../shared/postgres/pool.ts";
import {
  makeTestPool,
  sharedPostgres,
} from "../../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import { readBytes } from "./long_bytes.ts";

const server = sharedPostgres();

async function withPool(
  prepare: boolean,
  use: (pool: Pool, schema: string) => Promise<void>,
): Promise<void> {
  const schema = server.nextSchema();
  const { pool } = makeTestPool(server.connection(), {
    prepare,
    settings: { application_name: "test" },
  });
  try {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await use(pool, schema);
  } finally {
    await pool.close();
  }
}

for (const prepare of [true, false]) {
  serviceTest(["postgres"], {
    name:
      `readBytes() gives each value as it is, whatever its length, when prepare is ${prepare}`,
    fn: () =>
      withPool(prepare, async (pool, schema) => {
        const lengths = [0, 1, 92, 256, 3_000, 70_000, 1_100_000];
        const all = lengths.map((length) =>
          Uint8Array.from({ length }, (_, at) => (at ^ length) & 0xff)
        );
        await pool.query(`CREATE TABLE ${schema}.b (n int, bytes bytea)`);
        for (const [n, bytes] of all.entries()) {
          await pool.query(
            `INSERT INTO ${schema}.b VALUES($1::int, $2::bytea)`,
            [n, bytes],
          );
        }
        const read = (n: number) =>
          readBytes(pool, {
            sql: `SELECT bytes FROM ${schema}.b WHERE n = $1::int`,
            parameters: [n],
          });
        for (let round = 0; round < 2; round++) {
          assertEquals(await Promise.all(all.map((_, n) => read(n))), all);
        }
        assertEquals(await read(all.length), undefined);
        await assertRejects(
          () => readBytes(pool, { sql: `SELECT t FROM ${schema}.none` }),
          Error,
          "does not exist",
        );
        assertEquals(await read(2), all[2]);
      }),
  });
}
