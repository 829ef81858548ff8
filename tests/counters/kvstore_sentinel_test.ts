import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type {
  CounterAnswer,
  CounterStore,
} from "../../services/ratelimit/counters/counter_store.ts";
import type { RedisSentinelGroup } from "../../services/ratelimit/counters/kvstore/redis/address.ts";
import {
  type FailoverGroupOptions,
  type RedisFailoverGroup,
  startFailoverGroup,
} from "../support/redis_failover_group.ts";
import { freePort } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, createBatch } from "./batches.ts";
import { startStore } from "./kvstore_subject.ts";

const TIMEOUT_MS = 1_000;
/** How long a failover may take, in milliseconds. */
const SETTLE_MS = 60_000;

function toTarget(group: RedisFailoverGroup): RedisSentinelGroup {
  return {
    kind: "sentinel",
    masterName: group.masterName,
    sentinels: group.sentinels.map(({ host, port }) => ({
      kind: "tcp",
      host,
      port,
    })),
  };
}

/**
 * Starts stores that are stopped at the end of the test, whatever its outcome.
 */
interface Started {
  /** Starts a store. */
  readonly start: typeof startStore;
}

function sentinelTest(
  name: string,
  fn: (
    started: Started & {
      readonly group: RedisFailoverGroup;
    },
  ) => Promise<void>,
  options: FailoverGroupOptions = {},
): void {
  serviceTest(["redis-server"], {
    name,
    fn: async () => {
      const group = await startFailoverGroup(options);
      const stores: CounterStore[] = [];
      try {
        await fn({
          group,
          start: async (settings) => {
            const subject = await startStore(settings);
            stores.push(subject.store);
            return subject;
          },
        });
      } finally {
        await Promise.all(stores.map((store) => store.stop()));
        await group.stop();
      }
    },
  });
}

/** Counts one more hit and returns the answer. */
async function hit(store: CounterStore): Promise<CounterAnswer> {
  return await store.apply(createBatch("a_"));
}

sentinelTest(
  "KvstoreStore goes on at the new master when the old one is killed",
  async ({ group, start }) => {
    const { store, logger } = await start({
      address: toTarget(group),
      poolSize: 3,
      timeoutMs: TIMEOUT_MS,
      healthNeedsConnection: true,
    });
    for (let count = 1; count <= 5; count++) {
      assertEquals(await hit(store), { kind: "counted", results: [count] });
    }
    await group.replica.catchUpWith(group.master);
    await group.master.kill();
    let unavailable = 0;
    for (;;) {
      const answer = await hit(store);
      if (answer.kind === "counted") {
        assertEquals(answer.results, [6]);
        break;
      }
      if (++unavailable === 1) {
        await waitUntil(() => !store.isHealthy(), {
          what: "all connections to be lost",
          intervalMs: 1,
        });
      }
      assert(unavailable < 5_000, answer.reason);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert(unavailable > 0);
    assertEquals(store.isHealthy(), true);
    assertEquals(await group.replica.ask("GET", "a_1795219200"), "6");
    assert(logger.messages.includes("kvstore has another master"));
    assert(logger.lines.length < 20, `${logger.lines.length} lines`);
  },
);

sentinelTest(
  "KvstoreStore goes on at the new master when the roles are changed over",
  async ({ group, start }) => {
    const { store } = await start({
      address: toTarget(group),
      poolSize: 3,
      timeoutMs: TIMEOUT_MS,
    });
    for (let count = 1; count <= 5; count++) {
      assertEquals(await hit(store), { kind: "counted", results: [count] });
    }
    await group.replica.catchUpWith(group.master);
    await group.sentinels[1]!.command("SENTINEL", "FAILOVER", group.masterName);
    let isOver = false;
    const changed = group.waitForMaster(group.replica)
      .finally(() => isOver = true);
    while (!isOver) {
      await hit(store);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await changed;
    const master = await group.settled();
    await applyUntil(store, "counted", SETTLE_MS);
    const answer = await hit(store);
    assert(answer.kind === "counted");
    assertEquals(
      await master.ask("GET", "a_1795219200"),
      String(answer.results[0]),
    );
  },
);

sentinelTest(
  "KvstoreStore leaves a master that hangs for the new one",
  async ({ group, start }) => {
    const { store } = await start({
      address: toTarget(group),
      poolSize: 2,
      timeoutMs: TIMEOUT_MS,
    });
    assertEquals((await hit(store)).kind, "counted");
    await group.replica.catchUpWith(group.master);
    group.master.pause();
    assertEquals((await hit(store)).kind, "unavailable");
    await applyUntil(store, "counted", SETTLE_MS);
    assertEquals((await hit(store)).kind, "counted");
    // A master that comes back is turned into a replica before the store uses
    // it.
    group.master.resume();
    const master = await group.settled();
    await applyUntil(store, "counted", SETTLE_MS);
    const answer = await hit(store);
    assert(answer.kind === "counted");
    assertEquals(
      await master.ask("GET", "a_1795219200"),
      String(answer.results[0]),
    );
  },
);

sentinelTest(
  "KvstoreStore signs in at sentinels and finds one that lives",
  async ({ group, start }) => {
    const target = toTarget(group);
    const dead = { kind: "tcp", host: "127.0.0.1", port: freePort() } as const;
    const { store } = await start({
      address: { ...target, sentinels: [dead, ...target.sentinels] },
      sentinelAuth: { password: "s3cret!" },
    });
    assertEquals((await store.apply(createBatch("a_"))).kind, "counted");

    const wrong = await start({
      address: target,
      sentinelAuth: { password: "wr0ng" },
    });
    const answer = await wrong.store.apply(createBatch("a_"));
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, "WRONGPASS");
    assert(!JSON.stringify(wrong.logger.lines).includes("wr0ng"));

    const stranger = await start({
      address: { ...target, masterName: "other" },
      sentinelAuth: { password: "s3cret!" },
    });
    const unknown = await stranger.store.apply(createBatch("a_"));
    assert(unknown.kind === "unavailable");
    assertStringIncludes(unknown.reason, 'it knows no master "other"');
    assertEquals(stranger.logger.messages, [
      "kvstore is unavailable",
    ]);
  },
  { sentinelPassword: "s3cret!" },
);

serviceTest(["redis-server"], {
  name: "KvstoreStore stops while it looks for a master",
  fn: async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr;
    const { store } = await startStore({
      address: {
        kind: "sentinel",
        masterName: "mymaster",
        sentinels: [{ kind: "tcp", host: "127.0.0.1", port }],
      },
      timeoutMs: 60_000,
    });
    const flying = store.apply(createBatch("a_"));
    const connection = await listener.accept();
    await store.stop();
    assertEquals(await flying, { kind: "unavailable", reason: "stopped" });
    connection.close();
    listener.close();
  },
});
