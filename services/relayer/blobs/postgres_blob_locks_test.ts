import { assertEquals, assertRejects } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { makeTestPool } from "../../../tests/support/postgres_server.ts";
import { StoreBusyError } from "../../shared/store_failed.ts";
import { TEST_SERVER } from "../store/postgres/testing/data_schema.ts";
import { PostgresBlobLocks } from "./postgres_blob_locks.ts";

/** Registers a test with the locks of two relayers. */
function test(
  name: string,
  use: (
    locks: readonly PostgresBlobLocks[],
    more: {
      readonly clock: FakeClock;
      /** Ends the connections that hold or want locks. */
      readonly cut: () => Promise<void>;
    },
  ) => Promise<void>,
): void {
  serviceTest(["postgres"], {
    name,
    async fn() {
      const schema = TEST_SERVER.nextSchema();
      const clock = new FakeClock();
      const applicationName = schema;
      const pools = [1, 2].map(() =>
        makeTestPool(TEST_SERVER.connection({ applicationName }), { max: 2 })
          .pool
      );
      const cut = async (): Promise<void> => {
        await TEST_SERVER.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
            `WHERE application_name = '${schema}'`,
        );
      };
      try {
        const locks = pools.map((pool) =>
          new PostgresBlobLocks({ pool, schema, clock })
        );
        await use(locks, { clock, cut });
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

test(
  "PostgresBlobLocks.run() gives up waiting for a lock, and does the work later neither",
  async ([one, other], { clock }) => {
    const [begun, first] = [gate(), gate()];
    const running = one!.run("a", () => {
      begun.resolve();
      return first.promise;
    });
    await begun.promise;
    let done = 0;
    const work = (): Promise<number> => Promise.resolve(++done);
    // On another relayer, and on the same one.
    const late = [other!.run("a", work), one!.run("a", work)];
    const refused = late.map((run) => assertRejects(() => run, StoreBusyError));
    await clock.advanceAsync(10_000);
    await Promise.all(refused);
    first.resolve();
    await running;
    assertEquals(await other!.run("a", work), 1);
    assertEquals(await one!.run("a", work), 2);
  },
);

test(
  "PostgresBlobLocks.run() gives up waiting for a connection",
  async ([one], { clock }) => {
    const held = gate();
    const begun = [gate(), gate()];
    const running = begun.map((of, at) =>
      one!.run(`held ${at}`, () => {
        of.resolve();
        return held.promise;
      })
    );
    await Promise.all(begun.map(({ promise }) => promise));
    const third = one!.run("third", () => Promise.resolve("done"));
    const refused = assertRejects(() => third, StoreBusyError);
    await clock.advanceAsync(10_000);
    await refused;
    held.resolve();
    await Promise.all(running);
    assertEquals(
      await one!.run("third", () => Promise.resolve("done")),
      "done",
    );
  },
);

test(
  "PostgresBlobLocks.run() gives what the work gives when the lock is lost meanwhile",
  async ([one, other], { cut }) => {
    assertEquals(
      await one!.run("a", async () => {
        await cut();
        return "stored";
      }),
      "stored",
    );
    await assertRejects(
      () =>
        one!.run("a", async () => {
          await cut();
          throw new RangeError("not now");
        }),
      RangeError,
      "not now",
    );
    assertEquals(await other!.run("a", () => Promise.resolve(1)), 1);
  },
);

test(
  "PostgresBlobLocks.run() tells a work to end long before the lock is taken away",
  async ([one], { clock }) => {
    const begun = gate();
    const work = one!.run("a", async (held) => {
      const { promise, resolve } = gate();
      held.addEventListener("abort", () => resolve());
      begun.resolve();
      await promise;
      held.throwIfAborted();
    });
    await begun.promise;
    clock.advance(45_000);
    await assertRejects(() => work, StoreBusyError);
  },
);

function gate(): PromiseWithResolvers<void> {
  return Promise.withResolvers<void>();
}
