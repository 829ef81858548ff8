/**
 * Tests with real servers that `EXPIRE` is sent for new counters alone, and
 * that no counter stays without an expiry, whatever happens to the server, its
 * counters and the connections.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import type { CounterStore } from "../../services/ratelimit/counters/counter_store.ts";
import { startFailoverGroup } from "../support/redis_failover_group.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, batchOfKeys, createBatch, readCounts } from "./batches.ts";
import { findEternal } from "./eternal_counters.ts";
import { startStore } from "./kvstore_subject.ts";

const ROUNDS = Number(Deno.env.get("TEST_EFFORT") ?? 1);
/** The name of the counter of "a_". */
const COUNTER = "a_1795219200";

function addressOf({ host, port }: RedisServer) {
  return { kind: "tcp", host, port } as const;
}

/** Returns how often a server was sent a command. */
async function countCalls(
  server: RedisServer,
  command: string,
): Promise<number> {
  const stats = await server.ask("INFO", "commandstats");
  const match = new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats);
  return Number(match?.[1] ?? 0);
}

async function lifeOf(server: RedisServer, name = COUNTER): Promise<number> {
  return Number(await server.ask("TTL", name));
}

/** Counts one more hit on "a_"; returns the count. */
async function hit(store: CounterStore): Promise<number> {
  return readCounts(await store.apply(createBatch("a_")))[0]!;
}

serviceTest(["redis-server"], {
  name:
    "KvstoreStore sends EXPIRE for new counters alone, over all its connections",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: addressOf(server),
      poolSize: 4,
    });
    for (let count = 1; count <= 40; count++) {
      assertEquals(
        readCounts(await store.apply(batchOfKeys(["a_", "b_"]))),
        [count, count],
      );
    }
    assertEquals(await countCalls(server, "incrby"), 80);
    assertEquals(await countCalls(server, "expire"), 2);
    const life = await lifeOf(server);
    assert(life > 86_000 && life <= 86_400 + 300, `${life} s`);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore sends hits on one counter that meet as one INCRBY",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({ address: addressOf(server) });
    assertEquals(await hit(store), 1);
    const answers = await Promise.all(
      Array.from(
        { length: 200 },
        (_, i) => store.apply(batchOfKeys(["a_", `own${i}_`, "a_"])),
      ),
    );
    assertEquals(
      answers.map(readCounts),
      answers.map((_, i) => [2 * i + 2, 1, 2 * i + 3]),
    );
    // Some writes, each with one command for the common counter.
    const calls = await countCalls(server, "incrby") - 200;
    assert(calls < 20, `${calls} calls`);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name:
    "KvstoreStore gives a counter its expiry again that was removed, before it answers",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({ address: addressOf(server) });
    assertEquals(await hit(store), 1);
    for (
      const remove of [["FLUSHALL"], ["DEL", COUNTER], ["UNLINK", COUNTER]]
    ) {
      assertEquals(await hit(store), 2);
      await server.command(...remove);
      assertEquals(await hit(store), 1);
      assert(await lifeOf(server) > 86_000);
    }
    // Given back to nothing, the counter is removed.
    assertEquals(
      await store.apply(createBatch("a_", -1)),
      { kind: "counted", results: [0] },
    );
    assertEquals(await hit(store), 1);
    assert(await lifeOf(server) > 86_000);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore sends EXPIRE again after a connection was lost",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: addressOf(server),
      poolSize: 3,
    });
    assertEquals(await hit(store), 1);
    await server.command("PERSIST", COUNTER);
    assertEquals(await hit(store), 2);
    assertEquals(await lifeOf(server), -1);
    const [first] = (await server.ask("CLIENT", "LIST")).split("\n")
      .filter((line) => line.includes("cmd=incrby"));
    await server.command("CLIENT", "KILL", "ID", /id=(\d+)/.exec(first!)![1]!);
    // The answer to the ping shows the store that a connection is gone.
    await waitUntil(async () => {
      await store.apply(createBatch("a_"));
      return await lifeOf(server) > 86_000;
    }, { what: "the expiry" });
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "KvstoreStore sends EXPIRE again to a server that was killed",
  fn: async () => {
    const server = await startRedisServer();
    const { store } = await startStore({ address: addressOf(server) });
    assertEquals(await hit(store), 1);
    await server.kill();
    await applyUntil(store, "unavailable");
    await server.restart();
    await applyUntil(store, "counted");
    // The server knows the counter from another instance, which was killed, too.
    await server.command("SET", COUNTER, "7");
    assertEquals(await hit(store), 8);
    assert(await lifeOf(server) > 86_000);
    await store.stop();
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name:
    "KvstoreStore sends EXPIRE to a new master that has the hits and not the expiry",
  fn: async () => {
    const group = await startFailoverGroup();
    const { store } = await startStore({
      address: {
        kind: "sentinel",
        masterName: group.masterName,
        sentinels: group.sentinels.map(addressOf),
      },
      poolSize: 3,
      timeoutMs: 1_000,
    });
    await applyUntil(store, "counted", 60_000);
    for (let count = 1; count <= 5; count++) {
      assertEquals(await hit(store), count);
    }
    await group.replica.catchUpWith(group.master);
    // As if the replica had got what was before EXPIRE when its master died.
    await group.replica.command("CONFIG", "SET", "replica-read-only", "no");
    await group.replica.command("PERSIST", COUNTER);
    await group.replica.command("CONFIG", "SET", "replica-read-only", "yes");
    await group.master.kill();
    await group.waitForMaster(group.replica);
    await applyUntil(store, "counted", 60_000);
    assertEquals(await hit(store), 6);
    assert(await lifeOf(group.replica) > 86_000);
    await store.stop();
    await group.stop();
  },
});

serviceTest(["redis-server"], {
  name:
    "KvstoreStore leaves no counter without an expiry, whatever is cut and removed",
  fn: async () => {
    const server = await startRedisServer();
    const random = new SeededRandom(41);
    for (let round = 0; round < 3 * ROUNDS; round++) {
      const { store } = await startStore({
        address: addressOf(server),
        poolSize: 3,
      });
      let answered = 0;
      for (let turn = 0; turn < 40; turn++) {
        await applyUntil(store, "counted");
        const calls = Array.from(
          { length: 1 + random.below(40) },
          () =>
            store.apply(
              batchOfKeys([`k${random.below(20)}_`, `k${random.below(20)}_`]),
            ),
        );
        const disturbed = disturb(server, random);
        for (const { kind } of await Promise.all(calls)) {
          if (kind === "counted") answered++;
        }
        await disturbed;
      }
      assert(answered > 200, `${answered} answered`);
      // Counters whose replies were lost get their expiry with the next call.
      await waitUntil(async () => {
        await applyUntil(store, "counted");
        return (await findEternal(server)).length === 0;
      }, { what: "all counters to have an expiry" });
      await store.stop();
    }
    await server.stop();
  },
});

/** Removes counters or cuts connections, or neither. */
async function disturb(
  server: RedisServer,
  random: SeededRandom,
): Promise<void> {
  switch (random.below(6)) {
    case 0:
      await server.command("FLUSHALL");
      break;
    case 1:
      await server.ask("CLIENT", "KILL", "TYPE", "normal");
      break;
    case 2:
      await server.ask("DEL", `k${random.below(20)}_1795219200`);
      await server.ask("CLIENT", "KILL", "TYPE", "normal");
      break;
  }
}
