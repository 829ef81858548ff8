import { assert, assertEquals } from "@std/assert";
import { startMemcachedServer } from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import { createBatch, readCounts } from "./batches.ts";
import { startStore } from "./altcache_subject.ts";

serviceTest(["memcached"], {
  name:
    "AltcacheStore admits no more beyond the limit than other processes have in flight",
  fn: async () => {
    const server = await startMemcachedServer();
    const stores = [
      (await startStore({ servers: [server] })).store,
      (await startStore({ servers: [server] })).store,
    ];
    const callers = 32;
    const limit = 2_000;
    const rounds = 80;
    const admitted = [0, 0];
    const mostPending = [0, 0];
    await Promise.all(
      stores.flatMap((store, which) =>
        Array.from({ length: callers }, async () => {
          for (let round = 0; round < rounds; round++) {
            const [count] = readCounts(await store.apply(createBatch("a_")));
            if (count! <= limit) admitted[which]!++;
            mostPending[which] = Math.max(
              mostPending[which]!,
              store.pendingIncrements,
            );
          }
        })
      ),
    );
    const total = admitted[0]! + admitted[1]!;
    const overshoot = total - limit;
    // The other store cannot see the calls being decided and the increments not
    // yet sent by this one.
    const bound = callers + Math.max(...mostPending);
    assert(overshoot <= bound, `${overshoot} beyond the limit, bound ${bound}`);
    assert(overshoot >= 0, `only ${total} admitted`);
    for (const store of stores) await store.stop();
    // Nevertheless every answered call has been counted.
    assertEquals(
      await server.command("get a_1795219200"),
      `VALUE a_1795219200 0 4\r\n${2 * callers * rounds}\r\nEND\r\n`,
    );
    await server.stop();
  },
});
