import { assert, assertEquals } from "@std/assert";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";
import {
  createRenewal,
  createWorld,
  loaded,
  openEntry,
  OTHER,
  run,
} from "./testing/renewal_world.ts";

Deno.test("EntryRenewal.start() waits for the owner where it takes a session, and for nothing else", async () => {
  for (const why of ["session_required", "refused"] as const) {
    const world = await createWorld(["green tea", "black tea"]);
    world.embedder.model = "newer";
    world.vault.failures.set("m0", why);
    const opened: string[] = [];
    world.vault.beforeOpen = (id) => void opened.push(id);
    const { renewal } = createRenewal(world);
    renewal.start(Promise.resolve());
    await world.clock.advanceAsync(3_600_000);
    assertEquals([opened, renewal.progress.waiting], [["m0"], 2]);
    world.vault.failures.clear();
    renewal.noteRecall(OWNER);
    await world.clock.advanceAsync(1_000);
    assertEquals(opened, ["m0", "m0", "m1"]);
    const { renewed, waiting } = renewal.progress;
    assertEquals([renewed, waiting], [2, 0]);
    await renewal.stop();
    assertEquals(world.clock.pendingTimers, 0);
  }
});

Deno.test("EntryRenewal.start() makes words that are kept in memory alone when their owner recalls, and again when they left it", async () => {
  const world = new MemoryWorld();
  world.vault.keepsWords = false;
  await world.remember({ id: "m0", text: "green tea" });
  assertEquals((await openEntry(world, "m0")).words, undefined);
  world.index = await loaded(world);
  world.vault.failures.set("m0", "session_required");
  world.store.beforeCommit = () => {
    throw new StoreFailedError("nothing is to be written");
  };
  const matched = async (): Promise<readonly string[] | undefined> => {
    const [hit] = await world.index.search({
      ...{ owner: OWNER, namespace: "n", limit: 1, vector: undefined },
      fused: { text: "tea", explain: true, vectorWeight: 0 },
    }, { pausing: NEVER_PAUSING });
    return hit?.fused?.explanation?.matched;
  };
  const { renewal } = createRenewal(world);
  const alone = createRenewal(world, { isAlone: true });
  assertEquals((await run(alone.renewal)).waiting, 0);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(3_600_000);
  assertEquals([await matched(), renewal.progress.waiting], [undefined, 1]);
  world.vault.failures.clear();
  for (let round = 0; round < 2; round++) {
    renewal.noteRecall(OWNER);
    await world.clock.advanceAsync(1_000);
    assertEquals([await matched(), renewal.progress.waiting], [["tea"], 0]);
    // As when the owner is evicted and loaded again.
    const row = world.store.rows.get(`${OWNER}/m0`);
    assert(row !== undefined);
    const entry = await openEntry(world, "m0");
    world.index.add({ ...row, ...entry });
    assertEquals(await matched(), undefined);
    renewal.noteRead(OWNER, { memories: 1, due: 1 });
    assertEquals(renewal.progress.waiting, 1);
  }
  await renewal.stop();
  assertEquals(world.logger.lines.filter(({ level }) => level === "error"), []);
});

Deno.test("EntryRenewal.start() hears of a recall of the owner that is at hand", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  world.embedder.model = "newer";
  world.vault.failures.set("m0", "session_required");
  const { renewal } = createRenewal(world);
  world.vault.beforeOpen = () => renewal.noteRecall(OWNER);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  world.vault.beforeOpen = () => {};
  assertEquals(renewal.progress.waiting, 2);
  world.vault.failures.clear();
  await world.clock.advanceAsync(1_000);
  const { checked, renewed, waiting } = renewal.progress;
  assertEquals([checked, renewed, waiting], [2, 2, 0]);
  await renewal.stop();
});

Deno.test("EntryRenewal.start() tries again each minute what had to wait, and when its owner recalls", async () => {
  const world = await createWorld(["green tea", "black tea"]);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newer";
  world.vault.failures.set("m0", "key_servers_away");
  const opened: string[] = [];
  world.vault.beforeOpen = (id) => void opened.push(id);
  const { renewal } = createRenewal(world);
  renewal.start(Promise.resolve());
  await world.clock.advanceAsync(0);
  const { renewed, waiting } = renewal.progress;
  assertEquals([renewed, waiting], [1, 2]);
  assertEquals(opened, ["m0", "x"]);
  await world.clock.advanceAsync(60_000);
  // One of them is enough to see that the key cannot be had.
  assertEquals(opened, ["m0", "x", "m0"]);
  renewal.noteRecall(OWNER);
  await world.clock.advanceAsync(999);
  assertEquals(opened.length, 3);
  await world.clock.advanceAsync(1);
  assertEquals(opened.length, 4);
  await world.clock.advanceAsync(5_000);
  world.vault.failures.clear();
  renewal.noteRecall(OTHER);
  await world.clock.advanceAsync(0);
  assertEquals(opened.length, 4);
  renewal.noteRecall(OWNER);
  await world.clock.advanceAsync(0);
  assertEquals([renewal.progress.renewed, renewal.progress.waiting], [3, 0]);
  const told = world.logger.lines.map(({ message, fields }) => ({
    message,
    waiting: fields?.["waiting"],
  }));
  const message = "Renewed entries of the index";
  assertEquals(told, [{ message, waiting: 2 }, { message, waiting: 0 }]);
  await renewal.stop();
});

Deno.test("EntryRenewal.start() lets an owner who recalls all the time keep no other waiting", async () => {
  const world = await createWorld(["green tea"]);
  await world.remember({ id: "x", text: "a key", owner: OTHER });
  world.embedder.model = "newer";
  world.vault.failures.set("m0", "session_required");
  world.blobs.outcomes.set("blob-x", {
    ...{ kind: "unavailable", reason: "away" },
  });
  const { renewal } = createRenewal(world);
  const asked: string[] = [];
  world.blobs.onGet = (blobId) => void asked.push(blobId);
  renewal.start(Promise.resolve());
  for (let second = 0; second < 180; second++) {
    await world.clock.advanceAsync(1_000);
    renewal.noteRecall(OWNER);
  }
  assertEquals(asked.filter((blobId) => blobId === "blob-x").length, 4);
  const { length } = asked.filter((blobId) => blobId === "blob-m0");
  assert(length > 100 && length <= 182, `${length}`);
  await renewal.stop();
});
