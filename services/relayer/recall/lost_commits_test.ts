import { assert, assertEquals } from "@std/assert";
import { PostgresGroup } from "../../../tests/support/postgres_group.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { systemClock } from "../../shared/clock.ts";
import { PostgresStore } from "../store/postgres/postgres_store.ts";
import { ALICE } from "../store/testing/sample_rows.ts";
import { FollowedWorld } from "./testing/followed_world.ts";

const IDS = ["a", "b", "c", "d", "e", "f", "g", "h", "i"] as const;

serviceTest(["postgres"], {
  name:
    "OwnerIndex and whoever lists memories follow a promoted server that lacks the last commits",
  async fn() {
    await using servers = await startServers();
    const { group, store, world } = servers;
    const one = world.start();
    const other = world.start();
    for (const id of IDS.slice(0, 5)) await world.remember(id);
    for (const index of [one, other]) await world.found(index);
    const kept = { change: await store.head(ALICE) };
    await group.cutOff();
    // Lost: a removal, three memories, and a snapshot of the index with them.
    await world.remove("a");
    for (const id of ["x", "y", "z"]) await world.remember(id);
    assertEquals(await world.found(one), ["b", "c", "d", "e", "x", "y", "z"]);
    const lost = { change: await store.head(ALICE) };
    await group.failOver();
    // As many changes as were lost, and more.
    for (const id of IDS.slice(5)) await retried(() => world.remember(id));
    // An index that has what was lost leaves no snapshot.
    const begun = async ({ change }: { readonly change: number }) => {
      const name = `from ${change}`;
      await store.commit([
        { kind: "begin_snapshot", owner: ALICE, name, change },
        { kind: "end_snapshot", owner: ALICE, name, parts: 1 },
      ]);
      return (await store.snapshot(ALICE))?.change;
    };
    assertEquals(await begun(lost), undefined);
    assertEquals(await begun(kept), kept.change);
    await world.remove("b");
    const there = IDS.filter((id) => id !== "b");
    assertEquals(await world.found(one), there);
    assertEquals(await world.found(other), there);
    assertEquals(await world.found(world.start()), there);
    const resync = async (after: { readonly change: number }) => {
      const page = await store.memoryFeed(ALICE, { limit: 99, after });
      return [page.mustResync, page.memories.length, page.deleted.length];
    };
    assertEquals(await resync(kept), [false, 4, 1]);
    assertEquals((await resync(lost))[0], true);
    const change = await store.head(ALICE);
    assert(change > lost.change + 1_000_000, `${change}`);
  },
});

/** Commits again what fails while another server takes over. */
function retried(commit: () => Promise<unknown>): Promise<void> {
  return waitUntil(async () => {
    await commit();
    return true;
  }, { what: "the store to take a commit" });
}

/** Starts two servers, the second of which may lag, and a store on them. */
async function startServers() {
  const group = await PostgresGroup.start({ servers: 2, isSynchronous: false });
  const hosts = [group.primary, ...group.standbys]
    .flatMap((server) => server.connection().hosts);
  const store = new PostgresStore({
    connection: group.primary.connection({ hosts }),
    ...{ schema: "relayer", clock: systemClock },
    logger: new RecordingLogger(),
  });
  const world = new FollowedWorld(store);
  await store.start();
  return {
    ...{ group, store, world },
    async [Symbol.asyncDispose]() {
      await world.stop();
      await store.stop();
      await group.stop();
    },
  };
}
