import { assert, assertEquals, assertMatch } from "@std/assert";
import { FakeClock } from "../support/fake_clock.ts";
import { startMemcachedServer } from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { batchOfKeys, createBatch, NOW, readCounts } from "./batches.ts";
import { type AltcacheSubject, startStore } from "./altcache_subject.ts";

const DAY = 86_400;

function serverTest(name: string, fn: () => Promise<void>): void {
  serviceTest(["memcached"], { name, fn });
}

/** Waits until all increments have reached the server. */
async function settled({ store }: AltcacheSubject): Promise<void> {
  await waitUntil(() => store.pendingIncrements === 0, {
    what: "increments to arrive",
  });
  assertEquals(store.countersInUse, 0);
}

serverTest("AltcacheStore names counters by key and window start", async () => {
  const server = await startMemcachedServer();
  const subject = await startStore({ servers: [server] });
  await subject.store.apply(createBatch("d_k_v_", 2));
  await settled(subject);
  assertEquals(
    await server.command("get d_k_v_1795219200"),
    "VALUE d_k_v_1795219200 0 1\r\n2\r\nEND\r\n",
  );
  await subject.store.stop();
  await server.stop();
});

serverTest(
  "AltcacheStore makes no counter by looking or giving back",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({ servers: [server] });
    await subject.store.apply(createBatch("a_", 0));
    await subject.store.apply(createBatch("a_", -1));
    await settled(subject);
    assertEquals(await server.stat("curr_items"), 0);
    await subject.store.stop();
    await server.stop();
  },
);

serverTest("AltcacheStore reads all counters of a batch at once", async () => {
  const server = await startMemcachedServer();
  const subject = await startStore({ servers: [server] });
  const keys = Array.from(
    { length: 1_000 },
    (_, i) => `${"k".repeat(200)}${i}_`,
  );
  assertEquals(
    readCounts(await subject.store.apply(batchOfKeys(keys))),
    keys.map(() => 1),
  );
  await settled(subject);
  assertEquals(
    readCounts(await subject.store.apply(batchOfKeys(keys))),
    keys.map(() => 2),
  );
  await subject.store.stop();
  await server.stop();
});

serverTest(
  "AltcacheStore enforces windows of weeks, months and years",
  async () => {
    const server = await startMemcachedServer();
    for (const days of [7, 30, 31, 365, 36_500]) {
      const windowSeconds = days * DAY;
      const clock = new FakeClock(NOW * 1000);
      const subject = await startStore({
        servers: [server],
        clock,
        expirationJitterMaxSeconds: 300,
        random: () => 0.999,
      });
      const batch = createBatch(`days${days}_`, 1, { windowSeconds });
      for (let count = 1; count <= 3; count++) {
        assertEquals(
          readCounts(await subject.store.apply(batch)),
          [count],
          `${days} days`,
        );
        await settled(subject);
      }
      const next = createBatch(`days${days}_`, 1, {
        windowSeconds,
        nowSeconds: NOW + windowSeconds,
      });
      assertEquals(readCounts(await subject.store.apply(next)), [1]);
      await subject.store.stop();
    }
    await server.stop();
  },
);

serverTest(
  "AltcacheStore lets counters live for their window and a random while",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({
      servers: [server],
      expirationJitterMaxSeconds: 300,
      random: () => 0.999,
    });
    await subject.store.apply(createBatch("a_", 1, { windowSeconds: 3_600 }));
    await settled(subject);
    const answer = await server.command("mg a_1795219200 t");
    const seconds = Number(/^HD t(\d+)/.exec(answer)?.[1]);
    assert(seconds > 3_600 + 290 && seconds <= 3_600 + 299, answer);
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore lets the server forget a counter when its time is over",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({
      servers: [server],
      expirationJitterMaxSeconds: 0,
    });
    await subject.store.apply(createBatch("a_", 1, { windowSeconds: 1 }));
    await settled(subject);
    await waitUntil(
      async () => (await server.command("get a_1795219200")) === "END\r\n",
      { what: "the counter to end", intervalMs: 100 },
    );
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore reads counts beyond 32 bits, and none above what is exact",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({ servers: [server] });
    await server.command("set a_1795219200 0 0 10\r\n4294967296");
    assertEquals(readCounts(await subject.store.apply(createBatch("a_"))), [
      2 ** 32 + 1,
    ]);
    assertEquals(
      readCounts(await subject.store.apply(createBatch("a_", -(2 ** 32)))),
      [1],
    );
    await settled(subject);
    // The server pads the shorter number with blanks, unless another response
    // still uses the old value.
    assertMatch(
      await server.command("get a_1795219200"),
      /^VALUE a_1795219200 0 \d+\r\n1 *\r\nEND\r\n$/,
    );
    assertEquals(readCounts(await subject.store.apply(createBatch("a_"))), [2]);

    await server.command("set b_1795219200 0 0 20\r\n18446744073709551615");
    const most = Number.MAX_SAFE_INTEGER;
    assertEquals(readCounts(await subject.store.apply(createBatch("b_", 5))), [
      most,
    ]);
    await settled(subject);
    // Adding five more would have wrapped 64 bits around to 4.
    assertEquals(readCounts(await subject.store.apply(createBatch("b_", 0))), [
      most,
    ]);
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore counts on when the server lost its counters",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({ servers: [server] });
    assertEquals(readCounts(await subject.store.apply(createBatch("a_", 7))), [
      7,
    ]);
    await settled(subject);
    await server.command("flush_all");
    assertEquals(readCounts(await subject.store.apply(createBatch("a_", 2))), [
      2,
    ]);
    assertEquals(readCounts(await subject.store.apply(createBatch("a_"))), [3]);
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore keeps giving back and counting in order",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({ servers: [server] });
    // The calls do not wait for each other, so the store must include
    // increments and refunds that are still on their way.
    const answers = [10, -4, 3, -20, 6, 0].map((hits) =>
      subject.store.apply(createBatch("a_", hits))
    );
    assertEquals(
      (await Promise.all(answers)).map((answer) => readCounts(answer)[0]),
      [10, 6, 9, 0, 6, 6],
    );
    await settled(subject);
    assertEquals(readCounts(await subject.store.apply(createBatch("a_", 0))), [
      6,
    ]);
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore.apply() has read the batch when it returns",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({ servers: [server] });
    const batch = batchOfKeys(["a_", "b_"]);
    const operations = [...batch.operations];
    const reused = { ...batch, operations };
    const answer = subject.store.apply(reused);
    batch.keys.fill(0x78);
    operations.length = 0;
    assertEquals(readCounts(await answer), [1, 1]);
    assertEquals(
      readCounts(await subject.store.apply(batchOfKeys(["a_", "b_", "xx"]))),
      [2, 2, 1],
    );
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore charges nothing elsewhere when one counter goes over and that stops the others",
  async () => {
    const server = await startMemcachedServer();
    const subject = await startStore({ servers: [server] });
    const batch = { ...batchOfKeys(["over_", "other_"]), stopWhenOver: true };
    await subject.store.apply(createBatch("over_", 99));
    assertEquals(readCounts(await subject.store.apply(batch)), [100, 1]);
    assertEquals(readCounts(await subject.store.apply(batch)), [101, 1]);
    assertEquals(readCounts(await subject.store.apply(batch)), [102, 1]);
    await subject.store.stop();
    await server.stop();
  },
);

serverTest(
  "AltcacheStore chooses servers alike however they are listed",
  async () => {
    const servers = await Promise.all(
      Array.from({ length: 3 }, () => startMemcachedServer()),
    );
    const one = await startStore({ servers });
    const other = await startStore({ servers: [...servers].reverse() });
    const keys = Array.from({ length: 90 }, (_, i) => `k${i}_`);
    await one.store.apply(batchOfKeys(keys));
    await settled(one);
    assertEquals(
      readCounts(await other.store.apply(batchOfKeys(keys))),
      keys.map(() => 2),
    );
    for (const server of servers) assert(await server.stat("curr_items") > 5);
    await one.store.stop();
    await other.store.stop();
    for (const server of servers) await server.stop();
  },
);
