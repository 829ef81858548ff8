import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { finish } from "../concurrency/testing/finish.ts";
import { OWNER } from "./testing/memory_world.ts";
import {
  counts,
  createWorld,
  listIds,
  plainRows,
  recallAll,
  restore,
  restoreOutcome,
  TEXTS,
} from "./testing/restoring.ts";
import { VectorIndex } from "./vector_index.ts";

Deno.test("RestoreService.restore() brings manual blobs back by their own vectors", async () => {
  const world = await createWorld(["Ada drinks tea"]);
  const bytes = new TextEncoder().encode("only the client opens this");
  const [vector] = await world.embedder.embedTexts(["sealed tea"]);
  assert(vector !== undefined);
  const metadata = { from: "phone" };
  const model = "client";
  const sealedIndex = await world.vault.sealIndex(OWNER, {
    vector,
    model,
    metadata,
  });
  const narrow = { vector: Float32Array.of(1), model, metadata };
  world.blobs.outcomes.set("blob-s", { kind: "ok", bytes });
  const entry = {
    owner: OWNER,
    namespace: "n",
    createdAtMs: 5,
    agentId: "cd".repeat(32),
    sizeBytes: bytes.length,
    blobId: "blob-s",
  };
  // Two memories with the same bytes, one of them with a vector of another
  // width.
  await world.catalog.add({
    ...entry,
    memoryId: "s1",
    sealedIndex,
    importance: 0.75,
    supersedes: "m9",
  });
  await world.catalog.add({ ...entry, memoryId: "s2", sealedIndex });
  await world.catalog.add({
    ...entry,
    memoryId: "s3",
    sealedIndex: await world.vault.sealIndex(OWNER, narrow),
  });
  world.loseIndex();
  world.embedder.failure = undefined;
  const outcome = await restore(world);
  assertEquals(new Set(outcome.restoredIds), new Set(["m0", "s1", "s2"]));
  assertEquals(outcome.failed, 1);
  assertEquals(world.store.bad.size, 0);
  const row = world.store.rows.get(`${OWNER}/s1`);
  assertEquals(row?.sealedIndex, sealedIndex);
  assertEquals(row?.keyId, undefined);
  assertEquals(row?.createdAtMs, 5);
  assertEquals([row?.importance, row?.supersedes], [0.75, "m9"]);
  const hits = finish(world.index.searchSteps({
    owner: OWNER,
    namespace: "n",
    vector,
    limit: 3,
    filter: metadata,
  }));
  assertEquals(hits.map(({ id }) => id), ["s1", "s2"]);
  assertEquals((await restore(world)).skipped, 3);
});

Deno.test("RestoreService.restore() computes vectors again when another embedder made them", async () => {
  const world = await createWorld(TEXTS);
  const before = await recallAll(world);
  const rows = plainRows(world);
  const expected = [...rows.values()];
  // Entries of another model and width; one memory is superseded, and of one
  // the key is lost.
  for (const id of ["m0", "m1", "m2"]) {
    await world.reseal(id, { vector: Float32Array.of(1), model: "older" });
    world.index.remove(OWNER, id);
  }
  await world.reseal("m3", {
    vector: new Float32Array(world.embedder.width),
    model: "older",
  });
  world.index.remove(OWNER, "m3");
  assertNotEquals(await recallAll(world), before);
  const part = await restore(world, 1);
  assertEquals([part.restoredIds, part.skipped, part.isTruncated], [
    ["m3"],
    1,
    true,
  ]);
  const all = await restore(world);
  assertEquals(all.restoredIds, ["m2", "m1", "m0"]);
  assertEquals(counts(all), {
    skipped: 2,
    failed: 0,
    total: 5,
    isTruncated: false,
  });
  assertEquals(await recallAll(world), before);
  assertEquals([...plainRows(world).values()], expected);
  assertEquals((await restore(world)).skipped, 5);
});

Deno.test("RestoreService.restore() remakes what came back though the model has changed again", async () => {
  const world = await createWorld(["tea one", "tea two"]);
  world.embedder.model = "newer";
  world.index = new VectorIndex(world.embedder.width);
  world.clock.advance(1_000);
  await world.remember({ id: "late", text: "tea", supersedes: "m0" });
  const outcome = await restore(world);
  // A superseded one gets its vector too, and stays out of the index.
  assertEquals(outcome.restoredIds, ["m1", "m0"]);
  assertEquals(listIds(await recallAll(world)).toSorted(), ["late", "m1"]);
  for (const id of ["m0", "m1"]) {
    const row = world.store.rows.get(`${OWNER}/${id}`);
    assert(row !== undefined);
    const entry = await world.vault.openIndex(OWNER, row.sealedIndex);
    assert(entry.kind === "ok");
    assertEquals(entry.value.model, "newer");
  }
});

Deno.test("RestoreService.restore() passes by clients' vectors that will never fit", async () => {
  const world = await createWorld(["tea"]);
  const bytes = new TextEncoder().encode("only the client opens this");
  world.blobs.outcomes.set("blob-s", { kind: "ok", bytes });
  const sealedIndex = await world.vault.sealIndex(OWNER, {
    vector: Float32Array.of(1),
    model: "client",
    metadata: {},
  });
  // These are newer than the memory that can be restored, and as many as
  // `limit`.
  for (const memoryId of ["s1", "s2"]) {
    await world.catalog.add({
      ...{ owner: OWNER, namespace: "n", memoryId, blobId: "blob-s" },
      createdAtMs: world.clock.nowMs() + 1,
      agentId: "cd".repeat(32),
      sizeBytes: bytes.length,
      sealedIndex,
    });
  }
  world.loseIndex();
  const outcome = await restore(world, 2);
  assertEquals(outcome.restoredIds, ["m0"]);
  assertEquals([outcome.failed, outcome.isTruncated], [2, false]);
  assertEquals(world.store.bad.size, 0);
});

Deno.test("RestoreService.restore() writes nothing without vectors", async () => {
  const world = await createWorld(TEXTS);
  world.loseIndex();
  world.embedder.failure = {
    kind: "unavailable",
    reason: "Cannot embed texts: down",
    isPassing: true,
  };
  const commits = world.store.commits.length;
  assertEquals(await restoreOutcome(world), {
    kind: "unavailable",
    reason: "Cannot embed texts: down",
  });
  assertEquals(world.store.commits.length, commits);
  world.embedder.failure = undefined;
  assertEquals((await restore(world)).restoredIds.length, 5);
});
