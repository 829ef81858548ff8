import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { withoutUndefined } from "../../../tests/support/without_undefined.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { StoreBusyError } from "../store/store.ts";
import type { RecallOutcome } from "./recall_request.ts";
import type { RestoreService } from "./restore_service.ts";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";
import { VectorIndex } from "./vector_index.ts";
import { finish } from "../concurrency/testing/finish.ts";

type RestoreOutcome = Awaited<ReturnType<RestoreService["restore"]>>;

const TEXTS = [
  "Ada drinks green tea",
  "Ada moved to Berlin",
  "Ada has two dogs",
  "Carlo likes green parks",
  "The meeting is on Monday",
];

Deno.test("RestoreService.restore() brings back the same rows and recalls", async () => {
  const world = await createWorld(TEXTS);
  await world.remember({
    id: "tagged",
    text: "Ada pays for tea",
    importance: 0.9,
    metadata: { topic: "money", year: 2026, isOpen: true },
  });
  const rows = plainRows(world);
  const before = await recallAll(world);
  world.loseIndex();
  assertEquals(countMemories(await recallAll(world)), 0);
  const outcome = await restore(world);
  assertEquals(new Set(outcome.restoredIds), new Set(rows.keys()));
  assertEquals(counts(outcome), {
    skipped: 0,
    failed: 0,
    total: 6,
    isTruncated: false,
  });
  assertEquals(plainRows(world), rows);
  assertEquals(await recallAll(world), before);
  assertEquals(counts(await restore(world)), {
    skipped: 6,
    failed: 0,
    total: 6,
    isTruncated: false,
  });
});

Deno.test("RestoreService.restore() counts memories whose blobs are gone by themselves, indexed or not", async () => {
  const world = await createWorld(TEXTS);
  world.blobs.gone.add("blob-m1");
  const indexed = await restore(world);
  assertEquals([indexed.missing, indexed.skipped, indexed.total], [1, 4, 5]);
  world.loseIndex();
  world.blobs.gone.add("blob-m4");
  const lost = await restore(world);
  assertEquals(lost.restoredIds, ["m3", "m2", "m0"]);
  assertEquals([lost.missing, lost.failed, lost.isTruncated], [2, 0, false]);
  // A blob that is back, from a backup say, is restored like any other.
  world.blobs.gone.clear();
  assertEquals((await restore(world)).restoredIds, ["m4", "m1"]);
});

Deno.test("RestoreService.restore() takes the newest first, and no more than asked", async () => {
  const world = await createWorld(TEXTS);
  world.loseIndex();
  const first = await restore(world, 2);
  assertEquals(first.restoredIds, ["m4", "m3"]);
  assertEquals(counts(first), {
    skipped: 0,
    failed: 0,
    total: 5,
    isTruncated: true,
  });
  const second = await restore(world, 3);
  assertEquals(second.restoredIds, ["m2", "m1", "m0"]);
  assertEquals(counts(second), {
    skipped: 2,
    failed: 0,
    total: 5,
    isTruncated: false,
  });
});

Deno.test("RestoreService.restore() writes the rows and says that memories are missing when the index is full", async () => {
  const world = await createWorld(TEXTS);
  world.loseIndex();
  const add = world.index.add.bind(world.index);
  world.index.add = (memory) => {
    if (world.index.size === 2) throw new RangeError("the index is full");
    add(memory);
  };
  const outcome = await restore(world);
  assertEquals(outcome.restoredIds, ["m4", "m3"]);
  assertEquals([outcome.failed, outcome.isTruncated], [0, true]);
  assertEquals(world.store.rows.size, TEXTS.length);
  // Their rows are there, so that a client that asks again comes to an end.
  const again = await restore(world);
  assertEquals([again.skipped, again.isTruncated], [TEXTS.length, false]);
});

Deno.test("RestoreService.restore() goes through all pages of the catalogue", async () => {
  const world = await createWorld(
    Array.from({ length: 401 }, (_, at) => `tea ${at}`),
  );
  world.loseIndex();
  const outcome = await restore(world, 1);
  assertEquals([outcome.total, outcome.restoredIds], [401, ["m400"]]);
  const all = await restore(world, 1_000);
  assertEquals([all.restoredIds.length, all.skipped], [400, 1]);
  assertEquals(world.index.size, 401);
});

Deno.test("RestoreService.restore() keeps replaced memories replaced, whichever comes first", async () => {
  for (const limit of [1, 2, 3, 10]) {
    const world = new MemoryWorld();
    for (const number of [1, 2, 3]) {
      world.clock.advance(1_000);
      await world.remember({
        id: `v${number}`,
        text: `Ada lives in place ${number}`,
        ...(number === 1 ? {} : { supersedes: `v${number - 1}` }),
      });
    }
    const rows = plainRows(world);
    world.loseIndex();
    for (let round = 0; round < 3; round++) {
      await restore(world, limit);
      assertEquals(listIds(await recallAll(world)), ["v3"]);
    }
    assertEquals(plainRows(world), rows);
  }
});

Deno.test("RestoreService.restore() replaces what was restored of another namespace before", async () => {
  const world = new MemoryWorld();
  await world.remember({ id: "old", text: "Ada lives in Rome" });
  await world.remember({
    id: "new",
    text: "Ada lives in Berlin",
    namespace: "later",
    supersedes: "old",
  });
  world.loseIndex();
  // As in catalogues that were written before they noted replacements.
  world.catalog.replacements.clear();
  await restore(world);
  assertEquals(listIds(await recallAll(world)), ["old"]);
  await world.restorer().restore(OWNER, { namespace: "later", limit: 10 });
  assertEquals(listIds(await recallAll(world)), []);
  assertEquals(world.store.rows.get(`${OWNER}/old`)?.supersededBy, "new");
});

Deno.test("RestoreService.restore() counts no blob as lost whose owner's key cannot be had now", async () => {
  const world = await createWorld(TEXTS);
  world.loseIndex();
  const whys = ["session_required", "refused", "key_servers_away"] as const;
  for (const why of whys) {
    world.vault.failures.set("m1", why);
    assertEquals(await restoreOutcome(world), { kind: "locked", why });
  }
  assertEquals(world.store.bad, new Set());
  world.vault.failures.clear();
  const second = await restore(world);
  assertEquals(second.restoredIds.length, TEXTS.length);
});

Deno.test("RestoreService.restore() notes what never opens, and tries the rest again", async () => {
  const world = await createWorld(TEXTS);
  world.loseIndex();
  world.blobs.outcomes.delete("blob-m0");
  world.vault.destroyed.add("key-m1");
  world.vault.failures.set("m2", "damaged");
  world.vault.failures.set("m3", "unavailable");
  world.blobs.outcomes.set("blob-m4", { kind: "unavailable", reason: "down" });
  const restorer = world.restorer();
  const ask = async () => {
    const outcome = await restorer.restore(OWNER, {
      namespace: "n",
      limit: 10,
    });
    assert(outcome.kind === "ok");
    return outcome;
  };
  const first = await ask();
  assertEquals(first.restoredIds, []);
  assertEquals(counts(first), {
    skipped: 0,
    failed: 3,
    total: 5,
    isTruncated: true,
  });
  // The missing one may come back, so it is not noted for good.
  const bad = ["blob-m1", "blob-m2"].map((id) => `${OWNER}/${id}`);
  assertEquals(world.store.bad, new Set(bad));
  world.vault.failures.clear();
  const gets = world.blobs.gets;
  const second = await ask();
  assertEquals(second.restoredIds, ["m3"]);
  assertEquals(second.failed, 3);
  assertEquals(world.blobs.gets - gets, 2);
  const [line] = world.logger.lines;
  assertEquals(line?.fields, {
    missing: 1,
    key_gone: 1,
    damaged: 1,
    unavailable: 2,
  });
});

Deno.test("RestoreService.restore() passes a missing blob over for ten minutes, and then restores it if it is back", async () => {
  const world = await createWorld(TEXTS);
  world.loseIndex();
  const blob = world.blobs.outcomes.get("blob-m4");
  assert(blob !== undefined);
  world.blobs.outcomes.delete("blob-m4");
  const restorer = world.restorer();
  const ask = async () => {
    const outcome = await restorer.restore(OWNER, { namespace: "n", limit: 1 });
    assert(outcome.kind === "ok");
    return [outcome.restoredIds, outcome.failed];
  };
  // The newest comes first and must not hold up the others.
  assertEquals(await ask(), [[], 1]);
  assertEquals(await ask(), [["m3"], 1]);
  world.blobs.outcomes.set("blob-m4", blob);
  world.clock.advance(600_000 - 1);
  assertEquals(await ask(), [["m2"], 1]);
  world.clock.advance(1);
  assertEquals(await ask(), [["m4"], 0]);
  assertEquals(world.store.bad, new Set());
});

Deno.test("RestoreService.restore() does not take one memory's blob for another's", async () => {
  const world = await createWorld(["one", "two"]);
  world.loseIndex();
  const other = world.blobs.outcomes.get("blob-m1");
  assert(other !== undefined);
  world.blobs.outcomes.set("blob-m0", other);
  const outcome = await restore(world);
  assertEquals([outcome.restoredIds, outcome.failed], [["m1"], 1]);
});

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

Deno.test("RestoreService.restore() makes the vectors of another embedder anew", async () => {
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

Deno.test("RestoreService.restore() keeps a memory replaced whose replacement is gone", async () => {
  for (const namespace of ["n", "later"]) {
    const world = new MemoryWorld();
    await world.remember({ id: "old", text: "Ada lives in Rome" });
    await world.remember({
      id: "new",
      text: "Ada lives in Berlin",
      namespace,
      supersedes: "old",
    });
    const row = plainRows(world).get("old");
    // The replacement is deleted for good, then the database is lost.
    world.vault.destroyed.add("key-new");
    await world.catalog.remove(OWNER, "new");
    world.blobs.outcomes.delete("blob-new");
    world.loseIndex();
    assertEquals((await restore(world)).restoredIds, ["old"]);
    assertEquals(plainRows(world).get("old"), row);
    assertEquals(listIds(await recallAll(world)), []);
  }
});

Deno.test("RestoreService.restore() names the same replacement whatever the order", async () => {
  for (const limit of [1, 10]) {
    const world = new MemoryWorld();
    await world.remember({ id: "old", text: "Ada lives in Rome" });
    for (const id of ["second", "third"]) {
      world.clock.advance(1_000);
      await world.remember({
        id,
        text: `Ada lives in ${id}`,
        supersedes: "old",
      });
    }
    const rows = plainRows(world);
    world.loseIndex();
    for (let round = 0; round < 3; round++) await restore(world, limit);
    assertEquals(plainRows(world), rows);
  }
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

Deno.test("RestoreService.restore() reads ten blobs at a time", async () => {
  const world = await createWorld(
    Array.from({ length: 30 }, (_, at) => `tea ${at}`),
  );
  world.loseIndex();
  world.blobs.onGet = () => new Promise((resolve) => queueMicrotask(resolve));
  await restore(world, 100);
  assertEquals(world.blobs.mostAtOnce, 10);
});

async function createWorld(texts: readonly string[]): Promise<MemoryWorld> {
  const world = new MemoryWorld();
  for (const [at, text] of texts.entries()) {
    world.clock.advance(1_000);
    await world.remember({ id: `m${at}`, text });
  }
  return world;
}

function restoreOutcome(
  world: MemoryWorld,
  limit = 10,
): Promise<RestoreOutcome> {
  return world.restorer().restore(OWNER, { namespace: "n", limit });
}

async function restore(
  world: MemoryWorld,
  limit = 10,
): Promise<Extract<RestoreOutcome, { kind: "ok" }>> {
  const outcome = await restoreOutcome(world, limit);
  assert(outcome.kind === "ok", outcome.kind);
  return outcome;
}

function counts(outcome: Extract<RestoreOutcome, { kind: "ok" }>) {
  const { skipped, failed, total, isTruncated } = outcome;
  return { skipped, failed, total, isTruncated };
}

/** Rows without what changes with each writing. */
function plainRows(world: MemoryWorld): Map<string, unknown> {
  const rows = [...world.store.rows.values()];
  return new Map(
    rows.sort((left, right) => left.id < right.id ? -1 : 1)
      .map((
        { change: _, updatedAtMs: __, ...row },
      ) => [row.id, withoutUndefined(row)]),
  );
}

function recallAll(world: MemoryWorld): Promise<readonly RecallOutcome[]> {
  const service = world.recall();
  return Promise.all(
    ["Ada", "green tea", "Where does Ada live?", "Monday"].map((query) =>
      service.recall({
        owner: OWNER,
        namespace: "n",
        query,
        limit: 10,
        ordering: { kind: "relevance" },
      })
    ),
  );
}

function listIds(outcomes: readonly RecallOutcome[]): readonly string[] {
  return [
    ...new Set(
      outcomes.flatMap((outcome) =>
        outcome.kind === "ok" ? outcome.memories.map(({ id }) => id) : []
      ),
    ),
  ];
}

function countMemories(outcomes: readonly RecallOutcome[]): number {
  return listIds(outcomes).length;
}
