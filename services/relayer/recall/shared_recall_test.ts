import { assert } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { openSubject } from "../store/postgres/testing/postgres_subject.ts";
import { withStore } from "../store/sqlite/testing/open_store.ts";
import type { RelayerStore } from "../store/store.ts";
import { SharedWorld } from "./testing/shared_world.ts";

serviceTest(["postgres"], {
  name:
    "RecallService finds what any of three relayers on PostgreSQL has stored, and nothing that one has removed",
  async fn() {
    await eachRound({ rounds: 1, seed: 1 }, async ({ random }) => {
      const subject = await openSubject();
      try {
        const others = [await subject.another(), await subject.another()];
        const stores = [subject.store, ...others];
        await actAll(stores, { random, actors: 6, acts: 60 });
      } finally {
        await subject.close();
      }
    });
  },
});

Deno.test("RecallService finds what any of three relayers has stored, and nothing that one has removed", async () => {
  let snapshotsRead = 0;
  await eachRound(
    { rounds: 3, seed: 1 },
    ({ random }) =>
      withStore(async (store) => {
        const world = await actAll([store, store, store], {
          ...{ random, actors: 6, acts: 60 },
        });
        snapshotsRead += world.snapshotsRead;
      }),
  );
  assert(snapshotsRead > 0, "no relayer has read a snapshot");
});

/** Lets actors act at the same time, and checks at the end what all find. */
async function actAll(
  stores: readonly RelayerStore[],
  { random, actors, acts }: {
    readonly random: SeededRandom;
    readonly actors: number;
    readonly acts: number;
  },
): Promise<SharedWorld> {
  const world = new SharedWorld({ stores, random });
  try {
    await Promise.all(Array.from({ length: actors }, async () => {
      for (let act = 0; act < acts; act++) await world.act();
    }));
    for (const at of world.relayers.keys()) {
      const relayer = await world.replace(at);
      for (let round = 0; round < 4; round++) {
        await world.checkRecall(relayer, "0x01");
        await world.checkRecall(relayer, "0x02");
      }
    }
  } finally {
    await world.stop();
  }
  assert(world.found > 0, "no recall has found a memory");
  return world;
}
