import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  freePort,
  type RedisServer,
  startRedisServer,
} from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { batchOfKeys, createBatch } from "./batches.ts";
import { startStore } from "./kvstore_subject.ts";

serviceTest(["redis-server"], {
  name: "KvstoreStore names counters by key and window start and lets them end",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
      expirationJitterMaxSeconds: 300,
      random: () => 0.999,
    });
    await store.apply(createBatch("d_k_v_", 2));
    assertEquals(await server.ask("KEYS", "*"), "d_k_v_1795219200");
    assertEquals(await server.ask("GET", "d_k_v_1795219200"), "2");
    const ttl = Number(await server.ask("TTL", "d_k_v_1795219200"));
    assert(ttl > 86_400 + 290 && ttl <= 86_400 + 299, `${ttl} s`);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name:
    "KvstoreStore makes no counter by looking or giving back, and keeps none at zero",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "unix", path: server.socketPath },
    });
    await store.apply(createBatch("a_", 0));
    await store.apply(createBatch("a_", -1));
    assertEquals(await server.ask("DBSIZE"), "0");
    await store.apply(createBatch("a_", 3));
    await store.apply(createBatch("a_", -1));
    const ttl = Number(await server.ask("TTL", "a_1795219200"));
    assert(ttl > 86_000, `${ttl} s`);
    await store.apply(createBatch("a_", -2));
    assertEquals(await server.ask("DBSIZE"), "0");
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore sends the refund script again when the server forgot it",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
    });
    await store.apply(createBatch("a_", 50));
    for (let left = 49; left > 40; left--) {
      if (left % 3 === 0) await server.ask("SCRIPT", "FLUSH");
      assertEquals(await store.apply(createBatch("a_", -1)), {
        kind: "counted",
        results: [left],
      });
    }
    const stats = await server.ask("INFO", "commandstats");
    assert(/cmdstat_evalsha:calls=9,/.test(stats), stats);
    assert(/cmdstat_eval:calls=4,/.test(stats), stats);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore spreads batches over all connections",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
      poolSize: 4,
    });
    await store.apply(createBatch("a_"));
    for (let i = 0; i < 40; i++) await store.apply(createBatch("a_"));
    const clients = (await server.ask("CLIENT", "LIST")).split("\n")
      .filter((line) => line.includes("cmd=incrby"));
    assertEquals(clients.length, 4);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore answers with the most there is when a counter is full",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
    });
    await server.ask("SET", "a_1795219200", "9223372036854775807");
    assertEquals(await store.apply(createBatch("a_", 5)), {
      kind: "counted",
      results: [Number.MAX_SAFE_INTEGER],
    });
    await server.ask("SET", "a_1795219200", "no number");
    assertEquals((await store.apply(createBatch("a_", 0))).kind, "unavailable");
    await store.stop();
    await server.stop();
  },
});

for (const kind of ["tcp", "unix"] as const) {
  serviceTest(["redis-server"], {
    name: `KvstoreStore sends each batch in one write over ${kind}`,
    fn: async () => {
      const server = await startRedisServer();
      const { store } = await startStore({
        address: kind === "tcp"
          ? { kind, host: server.host, port: server.port }
          : { kind, path: server.socketPath },
        poolSize: 1,
      });
      const keys = new TextEncoder().encode("key_".repeat(8));
      const operations = Array.from({ length: 8 }, (_, i) => ({
        ...createBatch("key_").operations[0]!,
        keyStart: i * 4,
        keyEnd: i * 4 + 4,
      }));
      await store.apply({ ...createBatch(""), keys, operations });
      const before = await countReads(server);
      for (let i = 0; i < 300; i++) {
        await store.apply({ ...createBatch(""), keys, operations });
      }
      // A server without other clients reads data as soon as it arrives, so a
      // batch in several writes would cause several reads.
      const reads = await countReads(server) - before;
      assert(reads >= 300 && reads < 310, `${reads} reads`);
      await store.stop();
      await server.stop();
    },
  });
}

serviceTest(["redis-server"], {
  name:
    "KvstoreStore stops others in one step, though the server forgets scripts",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "unix", path: server.socketPath },
      expirationJitterMaxSeconds: 0,
    });
    const limits = { stopWhenOver: true, limit: 10 };
    const [shared] = batchOfKeys(["a_", "b_"], limits).operations;
    let next = 0;
    const answers = await Promise.all(Array.from({ length: 64 }, async () => {
      if (++next % 20 === 0) await server.ask("SCRIPT", "FLUSH");
      const batch = batchOfKeys(["a_", "b_"], { ...limits, limit: 1_000 });
      return await store.apply({
        ...batch,
        operations: [shared!, batch.operations[1]!],
      });
    }));
    const counts = answers.map((answer) =>
      answer.kind === "counted" ? answer.results : []
    );
    assertEquals(
      counts.map(([count]) => Number(count)).sort((a, b) => a - b),
      Array.from({ length: 64 }, (_, i) => i + 1),
    );
    // No refused call has incremented the second counter.
    assertEquals(await server.ask("GET", "a_1795219200"), "64");
    assertEquals(await server.ask("GET", "b_1795219200"), "10");
    for (const name of ["a_1795219200", "b_1795219200"]) {
      const ttl = Number(await server.ask("TTL", name));
      assert(ttl > 86_000 && ttl <= 86_400, `${ttl} s`);
    }
    await server.ask("SET", "b_1795219200", "no number");
    const answer = await store.apply(batchOfKeys(["a_", "b_"], limits));
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, "not a number");
    assertEquals(await server.ask("GET", "a_1795219200"), "64");

    await server.ask("DEL", "b_1795219200");
    await server.ask("REPLICAOF", "127.0.0.1", String(freePort()));
    const refused = await store.apply(batchOfKeys(["a_", "b_"], limits));
    assert(refused.kind === "unavailable");
    assertStringIncludes(refused.reason, "READONLY");
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore sends the calls of a pipeline window in one write",
  fn: async () => {
    const server = await startRedisServer();
    const address = { kind: "unix", path: server.socketPath } as const;
    const reads: number[] = [];
    for (
      const options of [
        { poolSize: 10 },
        // With one connection, the calls of one turn of the event loop share a
        // write anyway.
        { poolSize: 1 },
        { poolSize: 10, pipelineWindowMs: 0.2 },
        { poolSize: 10, pipelineWindowMs: 1 },
        { poolSize: 10, pipelineWindowMs: 1, pipelineLimit: 64 },
      ]
    ) {
      const { store } = await startStore({ address, ...options });
      await store.apply(createBatch("a_"));
      const before = await countReads(server);
      for (let i = 0; i < 50; i++) {
        const answers = await Promise.all(
          Array.from(
            { length: 64 },
            (_, key) =>
              store.apply(createBatch(`${reads.length}_${i}_${key}_`)),
          ),
        );
        assert(answers.every(({ kind }) => kind === "counted"));
      }
      reads.push(await countReads(server) - before);
      await store.stop();
    }
    // Number of writes for each group of 64 calls with two commands each: two
    // over two connections, one over the only connection, one within a window,
    // two with the limit.
    for (const [i, expected] of [100, 50, 50, 50, 100].entries()) {
      const own = reads[i]!;
      assert(own >= expected && own < expected * 1.1 + 20, reads.join(", "));
    }
    await server.stop();
  },
});

async function countReads(server: RedisServer): Promise<number> {
  const stats = await server.ask("INFO", "stats");
  return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
}
