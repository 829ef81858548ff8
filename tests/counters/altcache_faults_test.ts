import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { MemcachedServer } from "../support/memcached_server.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, batchOfKeys, createBatch, readCounts } from "./batches.ts";
import { type AltcacheSubject, startStore } from "./altcache_subject.ts";
import {
  type FaultSubject,
  faultTest,
  storeFaults,
  storeOutages,
} from "./store_faults.ts";

const SUBJECT: FaultSubject<MemcachedServer, AltcacheSubject> = {
  name: "AltcacheStore",
  backend: "altcache",
  program: "memcached",
  stopsWithinMs: 400,
  server: (args = []) => new MemcachedServer({ args }),
  open: (server, { auth: _auth, isUnix: _isUnix, ...options }) =>
    startStore({
      servers: [server],
      healthNeedsConnection: true,
      ...options,
    }),
};

storeFaults(SUBJECT);

// Without eviction and with almost no memory.
const SMALL = ["-M", "-m", "2"];

storeOutages({ ...SUBJECT, server: () => SUBJECT.server(SMALL) }, [
  {
    name: "out of memory",
    reason: /SERVER_ERROR out of memory/,
    begin: fill,
    end: (server) => server.command("flush_all"),
  },
]);

/** Fills the memory for counters with names as long as those of the tests. */
async function fill(server: MemcachedServer): Promise<void> {
  const sets = Array.from({ length: 30_000 }, (_, i) => {
    return `set ${String(i).padEnd(54, "_")} 0 0 1 noreply\r\n1\r\n`;
  });
  await server.command(`${sets.join("")}mn`);
}

faultTest(
  {
    ...SUBJECT,
    open: (server) => startStore({ servers: [server] }),
  },
  "is healthy without a server unless told otherwise",
  { fault: "away" },
  async (_server, { store }) => {
    assertEquals((await store.apply(createBatch("a_"))).kind, "unavailable");
    assertEquals(store.isHealthy(), true);
  },
);

const others = Array.from({ length: 2 }, () => new MemcachedServer());

faultTest(
  {
    ...SUBJECT,
    open: async (server) => {
      for (const other of others) await other.start();
      const servers = [server, ...others];
      return await startStore({
        ...{ servers, healthNeedsConnection: true, timeoutMs: 1_000 },
      });
    },
  },
  "uses the other servers when one is away",
  {},
  async (server, { store }) => {
    const keys = Array.from({ length: 60 }, (_, i) => `key ${i}_`);
    assertEquals(
      readCounts(await store.apply(batchOfKeys(keys))),
      keys.map(() => 1),
    );
    await server.kill();
    let counted = 0;
    let unavailable = 0;
    for (const key of keys) {
      const answer = await store.apply(createBatch(key));
      if (answer.kind === "unavailable") {
        unavailable++;
        assertStringIncludes(answer.reason, server.name);
      } else {
        counted++;
        assertEquals(answer.results, [2]);
      }
    }
    assert(counted > 20 && unavailable > 5, `${counted} and ${unavailable}`);
    assertEquals(store.isHealthy(), true);
    // One unavailable server makes the batch unavailable: no decision is made
    // on some of the counts.
    const all = await store.apply(batchOfKeys(keys));
    assertEquals(all.kind, "unavailable");
    await server.restart();
    await waitUntil(
      async () => (await store.apply(batchOfKeys(keys))).kind === "counted",
      { what: "all servers to answer" },
    );
    for (const other of others) await other.stop();
  },
);

faultTest(
  SUBJECT,
  "tells once of increments that are lost, and counts them",
  { timeoutMs: 300 },
  async (server, { store, logger, lost }) => {
    const answers = [];
    for (let i = 0; i < 10; i++) {
      answers.push(store.apply(createBatch(`k${i}_`)));
    }
    // The store answers in one turn of the event loop and sends the increments
    // in a later one; the server is paused in between.
    void answers[9]!.then(() => server.pause());
    assertEquals(
      (await Promise.all(answers)).every(({ kind }) => kind === "counted"),
      true,
    );
    await waitUntil(() => store.pendingIncrements === 0, {
      what: "increments to be given up",
    });
    const total = lost.reduce((sum, count) => sum + count, 0);
    assert(total > 0 && total <= 10, `${total} lost`);
    assertEquals(store.countersInUse, 0);
    await applyUntil(store, "unavailable");
    server.resume();
    await applyUntil(store, "counted");
    assertEquals(logger.messages.slice(1), [
      "altcache is unavailable",
      "altcache is available",
    ]);
  },
);

faultTest(
  SUBJECT,
  "waits in stop() until increments have arrived",
  {},
  async (server, { store }) => {
    const before = await server.stat("curr_items");
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}_`);
    const answer = store.apply(batchOfKeys(keys));
    assertEquals((await answer).kind, "counted");
    assertEquals(store.pendingIncrements, 500);
    await store.stop();
    assertEquals(store.pendingIncrements, 0);
    assertEquals(await server.stat("curr_items"), before + 500);
  },
);

faultTest(
  SUBJECT,
  "waits for its own increments when too many are on their way",
  { maxPendingIncrements: 0, timeoutMs: 500 },
  async (server, { store }) => {
    for (let count = 1; count <= 5; count++) {
      assertEquals(readCounts(await store.apply(createBatch("a_"))), [count]);
      assertEquals(store.pendingIncrements, 0);
    }
    assertEquals(readCounts(await store.apply(createBatch("a_", 0))), [5]);
    assertEquals(readCounts(await store.apply(createBatch("a_", -2))), [3]);
    assertStringIncludes(await server.command("get a_1795219200"), "\r\n3");
  },
);

faultTest(
  SUBJECT,
  "is unavailable for a counter that is not a number",
  {},
  async (server, { store }) => {
    await server.command("set a_1795219200 0 0 2\r\nno");
    const answer = await store.apply(createBatch("a_"));
    assertEquals(answer, {
      kind: "unavailable",
      reason: "the value of a counter is not a number",
    });
    assertEquals(readCounts(await store.apply(createBatch("b_"))), [1]);
  },
);

// Without eviction and with almost no memory, the server refuses the increment
// of a new counter.
faultTest(
  SUBJECT,
  "counts lost increments when the server is out of memory",
  { args: SMALL },
  async (_server, { store, lost, logger }) => {
    for (let round = 0; round < 100 && lost.length === 0; round++) {
      const keys = Array.from(
        { length: 200 },
        (_, i) => `${"k".repeat(200)}${round}_${i}_`,
      );
      await store.apply(batchOfKeys(keys));
      await waitUntil(() => store.pendingIncrements === 0, { what: "the end" });
    }
    assert(lost.length > 0, "never out of memory");
    await waitUntil(() => logger.lines.length > 1, { what: "a line" });
    const [, line] = logger.lines;
    assertEquals(line?.message, "altcache is unavailable");
    assertStringIncludes(String(line?.fields.reason), "SERVER_ERROR");
    assertEquals(store.connections, 1);
  },
);
