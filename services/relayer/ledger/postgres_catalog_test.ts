import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { withDataSchema } from "../store/postgres/testing/data_schema.ts";
import { PostgresCatalog } from "./postgres_catalog.ts";
import {
  createEntry,
  list,
  testBlobCatalog,
} from "./testing/catalog_conformance.ts";

testBlobCatalog({
  name: "PostgresCatalog",
  test: (definition) => serviceTest(["postgres"], definition),
  withCatalog: (use) =>
    withDataSchema(async ({ connect }) => {
      const catalog = new PostgresCatalog(connect());
      await use(catalog);
      await catalog.close();
    }),
});

serviceTest(["postgres"], {
  name: "PostgresCatalog.remove() leaves nothing of a memory's secret",
  fn: () =>
    withDataSchema(async ({ connect, dump }) => {
      const catalog = new PostgresCatalog(connect());
      const memorySecret = crypto.getRandomValues(new Uint8Array(32));
      const next = crypto.getRandomValues(new Uint8Array(32));
      await catalog.add(createEntry({ memoryId: "m1", memorySecret }));
      assert((await dump()).includes(memorySecret.toHex()));
      await catalog.move("0xann", "m1", {
        ...{ blobId: "b", sizeBytes: 1, memorySecret: next },
      });
      assertEquals((await dump()).includes(memorySecret.toHex()), false);
      await catalog.remove("0xann", "m1");
      assertEquals((await dump()).includes(next.toHex()), false);
    }),
});

serviceTest(["postgres"], {
  name: "PostgresCatalog gives the other relayers what one has noted",
  fn: () =>
    withDataSchema(async ({ connect }) => {
      const [one, other] = [connect(), connect()].map((pool) =>
        new PostgresCatalog(pool)
      ) as [PostgresCatalog, PostgresCatalog];
      const entries = Array.from(
        { length: 20 },
        (_, at) => createEntry({ memoryId: `m${at}`, createdAtMs: 100 - at }),
      );
      // Both note the same in other orders, as after a break.
      await Promise.all([
        ...entries.map((entry) => one.add(entry)),
        ...entries.toReversed().map((entry) => other.add(entry)),
      ]);
      assertEquals(await list(one), entries);
      await Promise.all(
        entries.map(({ owner, memoryId }) => one.remove(owner, memoryId)),
      );
      assertEquals(await list(other), []);
    }),
});

serviceTest(["postgres"], {
  name:
    "PostgresCatalog.add() notes the last of those that replace a memory at once",
  fn: () =>
    withDataSchema(async ({ connect }) => {
      const catalog = new PostgresCatalog(connect());
      const adding = ["c", "a", "b"].map((memoryId) =>
        catalog.add(createEntry({ memoryId, supersedes: "old" }))
      );
      await Promise.all(adding);
      await catalog.add(createEntry({ memoryId: "old" }));
      const entry = await catalog.findEntry("0xann", "old");
      assertEquals(entry?.supersededBy, "b");
    }),
});

serviceTest(["postgres"], {
  name: "PostgresCatalog.list() finds the newest by the index alone",
  fn: () =>
    withDataSchema(async ({ connect }) => {
      const pool = connect();
      const statements: string[] = [];
      const catalog = new PostgresCatalog({
        query: (sql, ...of) => {
          statements.push(sql);
          return pool.query(sql, ...of);
        },
        transaction: (...of) => pool.transaction(...of),
        batch: (...of) => pool.batch(...of),
        close: () => pool.close(),
      });
      const after = { createdAtMs: 5, memoryId: "m" };
      await catalog.list("0xann", { namespace: "n", limit: 10, after });
      const sql = statements[0]!.replaceAll(/\$\d/g, (number) =>
        number === "$3" || number === "$4" ? "5" : "'a'");
      const steps = await pool.transaction(async (open) => {
        for (const name of ["seqscan", "hashjoin", "mergejoin", "sort"]) {
          await open.query(`SET LOCAL enable_${name} = off`);
        }
        return JSON.stringify(await open.query(`EXPLAIN ${sql}`));
      });
      assert(steps.includes("catalog_of_namespace"), steps);
      assert(!steps.includes("Sort"), steps);
    }),
});
