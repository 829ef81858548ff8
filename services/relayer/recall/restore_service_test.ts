import { assert, assertEquals } from "@std/assert";
import { OWNER } from "./testing/memory_world.ts";
import {
  countMemories,
  counts,
  createWorld,
  plainRows,
  recallAll,
  restore,
  restoreOutcome,
  TEXTS,
} from "./testing/restoring.ts";

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

Deno.test("RestoreService.restore() does not take one memory's blob for another's", async () => {
  const world = await createWorld(["one", "two"]);
  world.loseIndex();
  const other = world.blobs.outcomes.get("blob-m1");
  assert(other !== undefined);
  world.blobs.outcomes.set("blob-m0", other);
  const outcome = await restore(world);
  assertEquals([outcome.restoredIds, outcome.failed], [["m1"], 1]);
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

Deno.test("RestoreService.restore() reads ten blobs at a time", async () => {
  const world = await createWorld(
    Array.from({ length: 30 }, (_, at) => `tea ${at}`),
  );
  world.loseIndex();
  world.blobs.onGet = () => new Promise((resolve) => queueMicrotask(resolve));
  await restore(world, 100);
  assertEquals(world.blobs.mostAtOnce, 10);
});
