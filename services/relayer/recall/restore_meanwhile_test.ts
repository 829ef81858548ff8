import { assert, assertEquals } from "@std/assert";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { StoreBusyError } from "../store/store.ts";
import { OWNER } from "./testing/memory_world.ts";
import {
  createWorld,
  listIds,
  recallAll,
  restore,
  restoreOutcome,
} from "./testing/restoring.ts";

Deno.test("RestoreService.restore() leaves a row alone that is forgotten while it is embedded", async () => {
  const world = await createWorld(["tea one", "tea two"]);
  for (const id of ["m0", "m1"]) {
    await world.reseal(id, { vector: Float32Array.of(1), model: "older" });
    world.index.remove(OWNER, id);
  }
  world.embedder.onEmbed = () => void world.store.rows.delete(`${OWNER}/m0`);
  const outcome = await restore(world);
  assertEquals(outcome.restoredIds, ["m1"]);
  assertEquals([...world.store.rows.keys()], [`${OWNER}/m1`]);
  assertEquals(world.index.size, 1);
});

Deno.test("RestoreService.restore() gives up in time and keeps what is done", async () => {
  const world = await createWorld(
    Array.from({ length: 30 }, (_, at) => `tea ${at}`),
  );
  world.loseIndex();
  const held = Promise.withResolvers<void>();
  world.blobs.onGet = () => world.blobs.gets > 20 ? held.promise : undefined;
  const outcome = restoreOutcome(world, 100);
  await waitUntil(() => world.blobs.gets > 20, { what: "the second batch" });
  world.clock.advance(54_999);
  world.clock.advance(1);
  const told = await outcome;
  assert(told.kind === "unavailable");
  assert(told.reason.startsWith("Cannot restore: it took too long"));
  assertEquals(world.clock.pendingTimers, 0);
  assertEquals(world.index.size, 20);
  const commits = world.store.commits.length;
  held.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(world.store.commits.length, commits);
  const rest = await restore(world, 100);
  assertEquals([rest.restoredIds.length, rest.skipped], [10, 20]);
});

Deno.test("RestoreService.restore() ends when told", async () => {
  const world = await createWorld(["tea"]);
  world.loseIndex();
  const signal = AbortSignal.abort();
  const outcome = await world.restorer()
    .restore(OWNER, { namespace: "n", limit: 1, signal });
  assertEquals(outcome.kind, "unavailable");
  assertEquals(world.blobs.gets, 0);
});

Deno.test("RestoreService.restore() passes on that the store is busy", async () => {
  const world = await createWorld(["tea"]);
  world.loseIndex();
  world.store.beforeCommit = () => {
    throw new StoreBusyError(100);
  };
  assertEquals((await restoreOutcome(world)).kind, "unavailable");
  assertEquals(world.index.size, 0);
});

Deno.test("RestoreService.restore() finds nothing that is deleted or replaced meanwhile", async () => {
  const world = await createWorld(["tea one", "tea two", "tea three"]);
  world.loseIndex();
  world.store.afterCommit = () => {
    const key = `${OWNER}/m1`;
    const row = world.store.rows.get(key);
    assert(row !== undefined);
    world.store.rows.set(key, { ...row, supersededBy: "m9" });
    world.store.rows.delete(`${OWNER}/m2`);
  };
  await restore(world);
  assertEquals(listIds(await recallAll(world)), ["m0"]);
});

Deno.test("RestoreService.restore() leaves no row of a key that is destroyed meanwhile", async () => {
  const world = await createWorld(["tea one", "tea two"]);
  world.loseIndex();
  world.store.beforeCommit = () => world.vault.destroyed.add("key-m1");
  const outcome = await restore(world);
  assertEquals([outcome.restoredIds, outcome.failed], [["m0"], 1]);
  assertEquals([...world.store.rows.keys()], [`${OWNER}/m0`]);
  assertEquals(world.index.size, 1);
});

Deno.test("RestoreService.restore() leaves no row of a memory that a client sealed and that is deleted meanwhile", async () => {
  const world = await createWorld([]);
  const [vector] = await world.embedder.embedTexts(["sealed tea"]);
  assert(vector !== undefined);
  const sealed = { vector, model: "client", metadata: {} };
  const bytes = new TextEncoder().encode("only the client opens this");
  world.blobs.outcomes.set("blob-s", { kind: "ok", bytes });
  const entry = {
    ...{ owner: OWNER, namespace: "n", createdAtMs: 5, blobId: "blob-s" },
    ...{ agentId: "cd".repeat(32), sizeBytes: bytes.length },
    sealedIndex: await world.vault.sealIndex(OWNER, sealed),
  };
  await world.catalog.add({ ...entry, memoryId: "s1" });
  await world.catalog.add({ ...entry, memoryId: "s2" });
  world.store.beforeCommit = () => world.catalog.remove(OWNER, "s1");
  const outcome = await restore(world);
  assertEquals([outcome.restoredIds, outcome.failed], [["s2"], 1]);
  assertEquals([...world.store.rows.keys()], [`${OWNER}/s2`]);
  assertEquals(world.index.size, 1);
});
