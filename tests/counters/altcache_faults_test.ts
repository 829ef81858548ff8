import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  MemcachedServer,
  startMemcachedServer,
} from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, batchOf, batchOfKeys, countsOf } from "./batches.ts";
import { startStore } from "./altcache_subject.ts";
import {
  type FaultSubject,
  storeFaults,
  storeOutages,
} from "./store_faults.ts";

function faultTest(name: string, fn: () => Promise<void>): void {
  serviceTest(["memcached"], { name, fn });
}

const SUBJECT: FaultSubject<MemcachedServer> = {
  name: "AltcacheStore",
  backend: "altcache",
  program: "memcached",
  server: () => new MemcachedServer(),
  open: (server, { timeoutMs }) =>
    startStore({
      servers: [server],
      healthNeedsConnection: true,
      ...timeoutMs === undefined ? {} : { timeoutMs },
    }),
};

storeFaults(SUBJECT);

// Without eviction and with almost no memory.
const SMALL = ["-M", "-m", "2"];

storeOutages({
  ...SUBJECT,
  server: () => new MemcachedServer({ args: SMALL }),
}, [
  {
    name: "out of memory",
    reason: /SERVER_ERROR out of memory/,
    begin: fill,
    end: (server) => server.command("flush_all"),
  },
  {
    name: "a server that hangs",
    reason: /no answer within 1000 ms/,
    begin: (server) => server.pause(),
    end: (server) => server.resume(),
  },
  {
    name: "a server that is killed",
    reason: /closed|ECONNREFUSED/,
    begin: (server) => server.kill(),
    end: (server) => server.restart(),
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
  "AltcacheStore is healthy without a server unless told otherwise",
  async () => {
    const { store } = await startStore({ servers: [new MemcachedServer()] });
    assertEquals((await store.apply(batchOf("a_"))).kind, "unavailable");
    assertEquals(store.isHealthy(), true);
    await store.stop();
  },
);

faultTest(
  "AltcacheStore uses the other servers when one is away",
  async () => {
    const servers = await Promise.all(
      Array.from({ length: 3 }, () => startMemcachedServer()),
    );
    const { store } = await startStore({
      servers,
      healthNeedsConnection: true,
      timeoutMs: 1_000,
    });
    const keys = Array.from({ length: 60 }, (_, i) => `key ${i}_`);
    assertEquals(
      countsOf(await store.apply(batchOfKeys(keys))),
      keys.map(() => 1),
    );
    await servers[1]!.kill();
    let counted = 0;
    let unavailable = 0;
    for (const key of keys) {
      const answer = await store.apply(batchOf(key));
      if (answer.kind === "unavailable") {
        unavailable++;
        assertStringIncludes(answer.reason, servers[1]!.name);
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
    await servers[1]!.restart();
    await waitUntil(
      async () => (await store.apply(batchOfKeys(keys))).kind === "counted",
      { what: "all servers to answer" },
    );
    await store.stop();
    for (const server of servers) await server.stop();
  },
);

faultTest(
  "AltcacheStore tells once of increments that are lost, and counts them",
  async () => {
    const server = await startMemcachedServer();
    const { store, logger, lost } = await startStore({
      servers: [server],
      timeoutMs: 300,
    });
    await applyUntil(store, "counted");
    const answers = [];
    for (let i = 0; i < 10; i++) answers.push(store.apply(batchOf(`k${i}_`)));
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
    await store.stop();
    await server.stop();
  },
);

faultTest(
  "AltcacheStore stops within its time limit while the server hangs",
  async () => {
    const server = await startMemcachedServer();
    const { store } = await startStore({ servers: [server], timeoutMs: 400 });
    await applyUntil(store, "counted");
    const answer = store.apply(batchOf("a_"));
    void answer.then(() => server.pause());
    assertEquals((await answer).kind, "counted");
    const flying = store.apply(batchOf("b_"));
    await store.stop();
    assertEquals((await flying).kind, "unavailable");
    assertEquals((await store.apply(batchOf("a_"))).kind, "unavailable");
    await server.stop();
  },
);

faultTest(
  "AltcacheStore.stop() waits until increments have arrived",
  async () => {
    const server = await startMemcachedServer();
    const { store } = await startStore({ servers: [server] });
    await applyUntil(store, "counted");
    const keys = Array.from({ length: 500 }, (_, i) => `k${i}_`);
    const answer = store.apply(batchOfKeys(keys));
    assertEquals((await answer).kind, "counted");
    assertEquals(store.pendingIncrements, 500);
    await store.stop();
    assertEquals(store.pendingIncrements, 0);
    assertEquals(await server.stat("curr_items"), 500);
    await server.stop();
  },
);

faultTest(
  "AltcacheStore waits for its own increments when too many are on their way",
  async () => {
    const server = await startMemcachedServer();
    const { store } = await startStore({
      servers: [server],
      maxPendingIncrements: 0,
      timeoutMs: 500,
    });
    await applyUntil(store, "counted");
    for (let count = 1; count <= 5; count++) {
      assertEquals(countsOf(await store.apply(batchOf("a_"))), [count]);
      assertEquals(store.pendingIncrements, 0);
    }
    assertEquals(countsOf(await store.apply(batchOf("a_", 0))), [5]);
    assertEquals(countsOf(await store.apply(batchOf("a_", -2))), [3]);
    assertStringIncludes(await server.command("get a_1795219200"), "\r\n3");
    await store.stop();
    await server.stop();
  },
);

faultTest(
  "AltcacheStore is unavailable for a counter that is no number",
  async () => {
    const server = await startMemcachedServer();
    const { store } = await startStore({ servers: [server] });
    await server.command("set a_1795219200 0 0 2\r\nno");
    const answer = await store.apply(batchOf("a_"));
    assertEquals(answer, {
      kind: "unavailable",
      reason: "the value of a counter is not a number",
    });
    assertEquals(countsOf(await store.apply(batchOf("b_"))), [1]);
    await store.stop();
    await server.stop();
  },
);

faultTest(
  "AltcacheStore counts lost increments when the server is out of memory",
  async () => {
    // Without eviction and with almost no memory, the server refuses the
    // increment of a new counter.
    const server = await startMemcachedServer({ args: SMALL });
    const { store, lost, logger } = await startStore({ servers: [server] });
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
    await store.stop();
    await server.stop();
  },
);
