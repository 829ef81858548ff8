import { assertEquals, assertRejects } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { makeTestPool } from "../../../tests/support/postgres_server.ts";
import { TEST_SERVER } from "../store/postgres/testing/data_schema.ts";
import { PostgresBlobLocks } from "./postgres_blob_locks.ts";

/** Registers a test with the locks of two relayers. */
function test(
  name: string,
  use: (locks: readonly PostgresBlobLocks[]) => Promise<void>,
): void {
  serviceTest(["postgres"], {
    name,
    async fn() {
      const schema = TEST_SERVER.nextSchema();
      const pools = [1, 2].map(() =>
        makeTestPool(TEST_SERVER.connection(), { max: 2 }).pool
      );
      try {
        await use(pools.map((pool) => new PostgresBlobLocks({ pool, schema })));
      } finally {
        for (const pool of pools) await pool.close();
      }
    },
  });
}

test("PostgresBlobLocks.run() runs works for a blob one after the other, on all relayers", async (locks) => {
  let underWay = 0;
  let done = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      locks[at % 2]!.run("a", async () => {
        assertEquals(++underWay, 1);
        await locks[at % 2]!.run(`other ${at}`, () => Promise.resolve());
        underWay--;
        done++;
      })),
  );
  assertEquals(done, 20);
});

test("PostgresBlobLocks.run() lets works for other blobs run meanwhile", async ([one, other]) => {
  const first = Promise.withResolvers<string>();
  const running = one!.run("a", () => first.promise);
  assertEquals(await other!.run("b", () => Promise.resolve("b")), "b");
  assertEquals(await one!.run("c", () => Promise.resolve("c")), "c");
  first.resolve("a");
  assertEquals(await running, "a");
});

test("PostgresBlobLocks.run() throws what the work throws, and lets the next one run", async ([one, other]) => {
  await assertRejects(
    () => one!.run("a", () => Promise.reject(new RangeError("not now"))),
    RangeError,
    "not now",
  );
  assertEquals(await other!.run("a", () => Promise.resolve(1)), 1);
});
