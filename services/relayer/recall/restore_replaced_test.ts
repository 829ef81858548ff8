import { assertEquals } from "@std/assert";
import { MemoryWorld, OWNER } from "./testing/memory_world.ts";
import { listIds, plainRows, recallAll, restore } from "./testing/restoring.ts";

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
