import { assert, assertEquals } from "@std/assert";
import type { CounterStore } from "../../services/ratelimit/counters/counter_store.ts";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import {
  pacedBatch,
  PacedBench,
  type Touch,
} from "../../services/ratelimit/counters/testing/paced_conformance.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { startTestCluster } from "../support/redis_test_cluster.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { serviceTest } from "../support/services.ts";
import { pacedSteps } from "./conformance_steps.ts";
import { startStore } from "./kvstore_subject.ts";

const HOUR_MICROS = 3_600_000_000;
/**
 * Makes keys live long: they expire by the server's clock, which continues
 * while the test's clock stands still.
 */
const LONG_LIVES = {
  expirationJitterMaxSeconds: 86_400,
  random: () => 0.99,
} as const;

serviceTest(["redis-server"], {
  name: "kvstore keeps sliding windows and token buckets",
  fn: async (context) => {
    const server = await startRedisServer();
    await pacedSteps(context, async (bench) => {
      await server.command("FLUSHALL");
      const store = await openStore(server, () => bench.nowMicros);
      return { store, close: () => Promise.resolve() };
    });
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "kvstore keeps sliding windows and token buckets on a cluster",
  fn: async (context) => {
    const cluster = await startTestCluster({ replicas: 0 });
    await pacedSteps(context, async (bench) => {
      await cluster.flush();
      const { store } = await startStore({
        address: {
          kind: "cluster",
          nodes: cluster.nodes.map(({ host, port }) => ({
            kind: "tcp",
            host,
            port,
          })),
        },
        poolSize: 3,
        nowMicros: () => bench.nowMicros,
        ...LONG_LIVES,
      });
      return { store, close: () => Promise.resolve() };
    });
    await cluster.stop();
  },
});

redisTest(
  "kvstore answers what the store in memory answers, whatever is asked and stopped",
  async (server) => {
    for (let seed = 1; seed <= 3; seed++) {
      const random = new SeededRandom(seed);
      const bench = new PacedBench();
      const memory = new MemoryStore({
        monotonicMs: () => bench.nowMicros / 1_000,
      });
      const redis = await openStore(server, () => bench.nowMicros);
      const kinds = [0, 3, 32, 33, 700].flatMap((limit): Touch[] => {
        const common = {
          key: `${seed} ${limit}_`,
          limit,
          windowSeconds: 3_600,
        };
        return [
          { ...common, algorithm: "fixed_window" },
          { ...common, algorithm: "sliding_window" },
          { ...common, algorithm: "token_bucket" },
          {
            ...common,
            key: `${seed} ${limit} burst_`,
            algorithm: "token_bucket",
            burst: limit * 2,
          },
        ];
      });
      for (let step = 0; step < 400; step++) {
        bench.nowMicros += random.below(
          random.pick([10, 4_000, HOUR_MICROS / 40]),
        );
        const touches = Array.from(
          { length: 1 + random.below(4) },
          (): Touch => {
            const kind = random.pick(kinds);
            return { ...kind, hits: random.below(60) - 12 };
          },
        );
        const nowSeconds = Math.floor(bench.nowMicros / 1_000_000);
        const batch = {
          ...pacedBatch(touches, nowSeconds),
          stopWhenOver: random.chance(0.3),
        };
        const expected = memory.apply(batch);
        assertEquals(await redis.apply(batch), expected, `step ${step}`);
      }
      await redis.stop();
    }
  },
);

redisTest(
  "kvstore never gives a limit twice, nor refuses for longer, when the server's clock is set back",
  async (server) => {
    const bench = new PacedBench();
    const store = await openStore(server, () => bench.nowMicros);
    bench.use(store);
    for (const algorithm of ["sliding_window", "token_bucket"] as const) {
      for (const backMicros of [1, 500_000, HOUR_MICROS, 9_000 * HOUR_MICROS]) {
        const key = `${algorithm} ${backMicros}_`;
        const touch = { key, algorithm, limit: 40 };
        assertEquals((await bench.touch({ ...touch, hits: 40 })).isOver, false);
        bench.nowMicros -= backMicros;
        const refused = await bench.touch(touch);
        assertEquals(refused.isOver, true, "given twice");
        bench.passSeconds(refused.resetSeconds);
        assertEquals((await bench.touch(touch)).isOver, false, "still refused");
        bench.passSeconds(62);
        assertEquals((await bench.touch({ ...touch, hits: 40 })).isOver, false);
      }
    }
    await store.stop();
  },
);

redisTest(
  "kvstore keeps a counter as long as it counts and the jitter says, and none for a look or what is refused",
  async (server) => {
    const { store } = await startStore({
      address: toAddress(server),
      expirationJitterMaxSeconds: 101,
      random: () => 0.99,
    });
    const apply = async (touch: Touch): Promise<void> => {
      const answer = await store.apply(pacedBatch([touch], 0));
      assertEquals(answer.kind, "counted");
    };
    for (const algorithm of ["sliding_window", "token_bucket"] as const) {
      await server.command("FLUSHALL");
      await apply({ algorithm, hits: 0 });
      await apply({ algorithm, hits: -3 });
      await apply({ algorithm, hits: 6 });
      assertEquals(await server.command("DBSIZE"), 0);
      await apply({ algorithm, hits: 5 });
      const suffix = algorithm === "sliding_window" ? "sliding" : "tokens";
      assertEquals(await server.command("KEYS", "*"), [`a_${suffix}_60s`]);
      const leftMs = Number(await server.command("PTTL", `a_${suffix}_60s`));
      assert(leftMs > 61_000 && leftMs <= 159_002, `${leftMs} ms`);
      await apply({ algorithm, hits: -5 });
      assertEquals(await server.command("DBSIZE"), 0);
    }
    await store.stop();
  },
);

redisTest(
  "kvstore counts exactly for several instances by the server's clock, and when its scripts are flushed",
  async (server) => {
    const stores = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const { store } = await startStore({
          address: toAddress(server),
          poolSize: 2,
        });
        return store;
      }),
    );
    for (const algorithm of ["sliding_window", "token_bucket"] as const) {
      await server.command("SCRIPT", "FLUSH");
      // A window of a day, so that no request is given back while the test
      // runs.
      const touch = { algorithm, limit: 100, windowSeconds: 86_400 };
      const answers = await Promise.all(
        Array.from({ length: 400 }, async (_, i) => {
          if (i === 200) await server.command("SCRIPT", "FLUSH");
          return await stores[i % 4]!.apply(pacedBatch([touch], 0));
        }),
      );
      const admitted = answers.filter((answer) => {
        assert(answer.kind === "counted");
        const [result] = answer.results;
        return typeof result === "object" && !result.isOver;
      });
      assertEquals(admitted.length, 100);
    }
    for (const store of stores) await store.stop();
  },
);

redisTest(
  "kvstore stops a fixed window for an empty bucket in one step, however many call",
  async (server) => {
    const store = await openStore(server, () => 1_795_219_207_000_000);
    const batch = pacedBatch([
      { algorithm: "token_bucket", key: "b_", limit: 50 },
      { algorithm: "sliding_window", key: "s_", limit: 1_000 },
      { algorithm: "fixed_window", key: "f_", limit: 1_000 },
    ], 1_795_219_207);
    await Promise.all(
      Array.from(
        { length: 200 },
        () => store.apply({ ...batch, stopWhenOver: true }),
      ),
    );
    const looks = batch.operations.map((one) => ({ ...one, hits: 0 }));
    const answer = await store.apply({ ...batch, operations: looks });
    assert(answer.kind === "counted");
    assertEquals(
      answer.results.map((result) =>
        typeof result === "number" ? result : result.remaining
      ),
      [0, 950, 50],
    );
    await store.stop();
  },
);

redisTest(
  "kvstore refuses a counter that holds something else, and says so",
  async (server) => {
    await server.command("RPUSH", "a_tokens_60s", "1");
    const { store } = await startStore({ address: toAddress(server) });
    const touch = { algorithm: "token_bucket" } as const;
    const answer = await store.apply(pacedBatch([touch], 0));
    assert(answer.kind === "unavailable");
    assert(answer.reason.includes("WRONGTYPE"), answer.reason);
    await store.stop();
  },
);

function redisTest(
  name: string,
  body: (server: RedisServer) => Promise<void>,
): void {
  serviceTest(["redis-server"], {
    name,
    fn: async () => {
      const server = await startRedisServer();
      try {
        await body(server);
      } finally {
        await server.stop();
      }
    },
  });
}

function toAddress(
  { socketPath }: RedisServer,
): { readonly kind: "unix"; readonly path: string } {
  return { kind: "unix", path: socketPath };
}

async function openStore(
  server: RedisServer,
  nowMicros: () => number,
): Promise<CounterStore> {
  const { store } = await startStore({
    address: toAddress(server),
    poolSize: 3,
    nowMicros,
    ...LONG_LIVES,
  });
  return store;
}
