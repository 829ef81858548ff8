import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import type {
  CounterAnswer,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import { keySlot } from "../../services/ratelimit/counters/kvstore/redis/slot_map.ts";
import type { RedisClusterNodes } from "../../services/ratelimit/counters/kvstore/redis/address.ts";
import { freePort } from "../support/redis_server.ts";
import {
  type RedisTestCluster,
  startTestCluster,
} from "../support/redis_test_cluster.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { batchOfKeys, createBatch } from "./batches.ts";
import { startStore } from "./kvstore_subject.ts";
import { makeTlsMaterial } from "./kvstore_tls_subject.ts";

const TIMEOUT_MS = 1_000;
const NAME_END = "1795219200";

function toTarget(cluster: RedisTestCluster): RedisClusterNodes {
  return {
    kind: "cluster",
    nodes: cluster.nodes.map(({ host, port }) => ({ kind: "tcp", host, port })),
  };
}

function clusterTest(
  name: string,
  replicas: number,
  fn: (cluster: RedisTestCluster) => Promise<void>,
): void {
  serviceTest(["redis-server"], {
    name,
    fn: async () => {
      const cluster = await startTestCluster({ replicas });
      try {
        await fn(cluster);
      } finally {
        await cluster.stop();
      }
    },
  });
}

/** Returns three keys, each of them on a different node. */
function keysOfAllNodes(): readonly string[] {
  const keys: string[] = [];
  for (let i = 0; keys.length < 3; i++) {
    const key = `key ${i}_`;
    const slot = keySlot(Buffer.from(`${key}${NAME_END}`));
    if (Math.floor(slot / 5_462) === keys.length) keys.push(key);
  }
  return keys;
}

async function countKeys(
  store: CounterStore,
  keys: readonly string[],
): Promise<readonly unknown[]> {
  const answer = await store.apply(batchOfKeys(keys));
  if (answer.kind !== "counted") throw new Error(answer.reason);
  return answer.results;
}

clusterTest(
  "KvstoreStore counts on while slots move from node to node",
  0,
  async (cluster) => {
    const { store, logger } = await startStore({
      address: toTarget(cluster),
      poolSize: 2,
      timeoutMs: TIMEOUT_MS,
    });
    const keys = ["{move}a_", "{move}b_", "{move}c_", "{stay}d_"];
    assertEquals(await countKeys(store, keys), [1, 1, 1, 1]);
    let calls = 1;
    let isOver = false;
    async function caller(): Promise<void> {
      while (!isOver) {
        // The first counter is in the batch twice: the second count must
        // include the first.
        const all = [...keys, keys[0]!];
        const counts = await countKeys(store, all);
        calls++;
        const [a, , , , again] = counts as readonly number[];
        assert(again! > a!, `${a} and then ${again}`);
      }
    }
    const callers = Array.from({ length: 4 }, caller);
    const slot = keySlot(Buffer.from("move"));
    for (let round = 0; round < 3; round++) {
      const from = await cluster.findMaster(slot);
      const to = cluster.nodes[(cluster.nodes.indexOf(from) + 1) % 3]!;
      await cluster.moveSlot({ slot, from, to }, async () => {
        // The first key has already moved and the others have not; a new key is
        // created at the new master.
        const before = calls;
        await countKeys(store, [`{move}new${round}_`, keys[3]!]);
        calls++;
        await waitUntil(() => calls > before + 20, { what: "some calls" });
      });
      const before = calls;
      await waitUntil(() => calls > before + 20, { what: "some calls" });
    }
    isOver = true;
    await Promise.all(callers);
    // The last call counts each key once. The calls before it counted the first
    // key twice, except for the very first call and the calls during the moves.
    const [a, b, c, d] = await countKeys(store, keys);
    assertEquals(b, c);
    assertEquals(d, Number(b) + 3);
    assertEquals(d, calls + 1);
    assertEquals(a, 2 * (calls - 4) + 1 + 1);
    const ttl = await (await cluster.findMaster(slot)).ask(
      "TTL",
      `{move}new0_${NAME_END}`,
    );
    assert(Number(ttl) > 80_000, `life of ${ttl} s`);
    assert(logger.lines.length < 20, `${logger.lines.length} lines`);
    await store.stop();
  },
);

clusterTest(
  "KvstoreStore goes on at the replica when a master is killed",
  1,
  async (cluster) => {
    const { store, logger } = await startStore({
      address: toTarget(cluster),
      poolSize: 2,
      timeoutMs: TIMEOUT_MS,
      healthNeedsConnection: true,
    });
    const keys = keysOfAllNodes();
    for (let count = 1; count <= 3; count++) {
      assertEquals(await countKeys(store, keys), [count, count, count]);
    }
    const [first, second] = cluster.masters;
    await cluster.nodes[3]!.catchUpWith(first!);
    await first!.kill();
    let unavailable = 0;
    for (;;) {
      const answer = await store.apply(createBatch(keys[0]!));
      if (answer.kind === "counted") {
        assertEquals(answer.results, [4]);
        break;
      }
      if (++unavailable === 1) {
        // The other nodes stay healthy as long as the cluster works as a whole.
        assertEquals(store.isHealthy(), true);
        const whole = await store.apply(batchOfKeys(keys));
        assertEquals(whole.kind, "unavailable");
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert(unavailable > 0);
    await waitUntil(
      async () => (await store.apply(batchOfKeys(keys))).kind === "counted",
      { what: "the other nodes" },
    );
    assertEquals(await second!.ask("CLUSTER", "INFO").then(parseState), "ok");
    assert(logger.lines.length < 20, `${logger.lines.length} lines`);
    await store.stop();
  },
);

clusterTest(
  "KvstoreStore asks each node once for a batch, and in one write",
  0,
  async (cluster) => {
    const { store } = await startStore({
      address: toTarget(cluster),
      poolSize: 1,
    });
    const keys = Array.from({ length: 30 }, (_, i) => `key ${i}_`);
    await countKeys(store, keys);
    const before = await countReads(cluster);
    for (let i = 2; i < 102; i++) {
      assertEquals(await countKeys(store, keys), keys.map(() => i));
    }
    for (const [i, reads] of (await countReads(cluster)).entries()) {
      const own = reads - before[i]!;
      // A few additional reads come from the other nodes and from this test.
      assert(own >= 100 && own < 130, `${own} reads`);
    }
    await store.stop();
  },
);

clusterTest(
  "KvstoreStore answers at once while a cluster is down, or a slot of it, and goes on elsewhere",
  0,
  async (cluster) => {
    const { store, logger, out } = await startStore({
      address: toTarget(cluster),
      poolSize: 1,
      timeoutMs: TIMEOUT_MS,
      healthNeedsConnection: true,
    });
    const key = "{move}a_";
    const slot = keySlot(Buffer.from("move"));
    const owner = await cluster.findMaster(slot);
    const applyBatch = async (of: string): Promise<CounterAnswer> =>
      await store.apply(createBatch(of));
    const isKind = (of: string, kind: CounterAnswer["kind"]) => async () =>
      (await applyBatch(of)).kind === kind;

    // A slot without a node, in a cluster that serves the others.
    for (const node of cluster.nodes) {
      const name = "cluster-require-full-coverage";
      await node.command("CONFIG", "SET", name, "no");
    }
    assertEquals(await countKeys(store, [key, "{stay}d_"]), [1, 1]);
    await owner.command("CLUSTER", "DELSLOTS", String(slot));
    await waitUntil(
      async () => await isKind(key, "unavailable")() && out.at(-1) === 1,
      { what: "an outage" },
    );
    const answer = await applyBatch(key);
    assert(answer.kind === "unavailable");
    assertMatch(answer.reason, /no node serves/);
    assertEquals((await applyBatch("{stay}d_")).kind, "counted");
    assertEquals(store.isHealthy(), true);
    await owner.command("CLUSTER", "ADDSLOTS", String(slot));
    await waitUntil(isKind(key, "counted"), { what: "the slot" });

    // All of it.
    for (const node of cluster.nodes) {
      const name = "cluster-require-full-coverage";
      await node.command("CONFIG", "SET", name, "yes");
    }
    const other = cluster.nodes.find((node) => node !== owner)!;
    await other.kill();
    await waitUntil(
      async () => {
        const down = await applyBatch(key);
        return down.kind === "unavailable" && /CLUSTERDOWN/.test(down.reason);
      },
      { what: "the cluster to be down" },
    );
    await waitUntil(() => !store.isHealthy(), { what: "health" });
    assertEquals(out.at(-1), 3);
    await other.restart();
    await waitUntil(
      async () => await isKind(key, "counted")() && store.isHealthy(),
      { what: "the cluster", timeoutMs: 15_000 },
    );
    await waitUntil(() => out.at(-1) === 0, { what: "all nodes" });
    const lines = logger.messages.filter((line) =>
      line.startsWith("kvstore is")
    );
    const once = ["kvstore is unavailable", "kvstore is available"];
    assertEquals(lines, [...once, ...once]);
    await store.stop();
  },
);

serviceTest(["redis-server"], {
  name: "KvstoreStore finds a cluster that was away, by any of its nodes",
  fn: async () => {
    const dead = { kind: "tcp", host: "127.0.0.1", port: freePort() } as const;
    const away = await startStore({
      address: { kind: "cluster", nodes: [dead] },
      healthNeedsConnection: true,
    });
    const answer = await away.store.apply(createBatch("a_"));
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, "no map of slots");
    assertEquals(away.store.isHealthy(), false);
    await away.store.stop();

    const { files, tls, remove } = await makeTlsMaterial();
    const cluster = await startTestCluster({ replicas: 0, tls: files });
    const { nodes } = toTarget(cluster);
    const { store } = await startStore({
      address: { kind: "cluster", nodes: [dead, nodes[2]!] },
      tls,
    });
    assertEquals(await countKeys(store, keysOfAllNodes()), [1, 1, 1]);
    await store.stop();
    await cluster.stop();
    await remove();
  },
});

function parseState(info: string): string | undefined {
  return /cluster_state:(\w+)/.exec(info)?.[1];
}

async function countReads(
  cluster: RedisTestCluster,
): Promise<readonly number[]> {
  return await Promise.all(cluster.nodes.map(async (node) => {
    const stats = await node.ask("INFO", "stats");
    return Number(/total_reads_processed:(\d+)/.exec(stats)?.[1]);
  }));
}
