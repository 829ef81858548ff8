import { assert, assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../tests/support/without_undefined.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { CatalogEntry } from "../blobs/blob_store.ts";
import { LocalCatalog } from "./local_catalog.ts";
import { openAt, withLedger } from "./testing/open_test_ledger.ts";

Deno.test("add() notes a blob once, whatever comes again", async () => {
  await withLedger(async ({ file }) => {
    const catalog = new LocalCatalog(file);
    const entry = entryOf({ memoryId: "m1" });
    await catalog.add(entry);
    await Promise.all([
      catalog.add(entry),
      catalog.add({ ...entry, blobId: "other", createdAtMs: 99 }),
    ]);
    assertEquals(await list(catalog), [entry]);
  });
});

Deno.test("add() keeps owners and namespaces apart", async () => {
  await withLedger(async ({ file }) => {
    const catalog = new LocalCatalog(file);
    const entries = [
      entryOf({ memoryId: "m1" }),
      entryOf({ memoryId: "m1", owner: "0xben" }),
      entryOf({ memoryId: "m2", namespace: "work" }),
    ];
    await Promise.all(entries.map((entry) => catalog.add(entry)));
    assertEquals(await list(catalog), entries.slice(0, 1));
    assertEquals(await list(catalog, "work"), entries.slice(2));
  });
});

Deno.test("add() keeps what only the client can open", async () => {
  await withLedger(async ({ file }) => {
    const catalog = new LocalCatalog(file);
    const sealedIndex = new SeededRandom(1).bytes(7_000);
    await catalog.add(entryOf({ memoryId: "m1", sealedIndex }));
    assertEquals((await list(catalog))[0]?.sealedIndex, sealedIndex);
  });
});

Deno.test("add() notes what took the place of what, whichever comes first", async () => {
  for (const order of [["old", "new"], ["new", "old"]]) {
    await withLedger(async ({ file, path }) => {
      const catalog = new LocalCatalog(file);
      const old = entryOf({ memoryId: "old", importance: 0.25 });
      const later = entryOf({
        memoryId: "new",
        namespace: "work",
        supersedes: "old",
      });
      for (const memoryId of [...order, ...order]) {
        await catalog.add(memoryId === "old" ? old : later);
      }
      const replaced = { ...old, supersededBy: "new" };
      assertEquals(await list(catalog), [replaced]);
      assertEquals(await list(catalog, "work"), [later]);
      assertEquals(
        withoutUndefined(await catalog.entryOf("0xann", "old")),
        replaced,
      );
      // The replacement goes for good; what it replaced is history.
      await catalog.remove("0xann", "new");
      await file.close();
      const again = openAt(path);
      const reopened = new LocalCatalog(again);
      assertEquals(await list(reopened), [replaced]);
      await reopened.remove("0xann", "old");
      await reopened.add(old);
      assertEquals(await list(reopened), [old]);
      await again.close();
    });
  }
});

Deno.test("add() lets nobody replace another owner's memories", async () => {
  await withLedger(async ({ file }) => {
    const catalog = new LocalCatalog(file);
    const old = entryOf({ memoryId: "old" });
    await catalog.add(old);
    await catalog.add(
      entryOf({ memoryId: "new", owner: "0xben", supersedes: "old" }),
    );
    assertEquals(await list(catalog), [old]);
  });
});

Deno.test("remove() forgets a blob", async () => {
  await withLedger(async ({ file }) => {
    const catalog = new LocalCatalog(file);
    await catalog.add(entryOf({ memoryId: "m1" }));
    await catalog.remove("0xben", "m1");
    assertEquals((await list(catalog)).length, 1);
    await catalog.remove("0xann", "m1");
    await catalog.remove("0xann", "m1");
    assertEquals(await list(catalog), []);
  });
});

Deno.test("list() gives every blob once, the newest first, in pages of any size", async () => {
  await withLedger(async ({ file }) => {
    const random = new SeededRandom(4);
    const catalog = new LocalCatalog(file);
    const entries = Array.from({ length: 200 }, (_, index) =>
      // Few moments, so that pages end between equal ones.
      entryOf({ memoryId: `m${index}`, createdAtMs: random.below(10) }));
    await Promise.all(entries.map((entry) => catalog.add(entry)));
    const sorted = entries.toSorted((a, b) =>
      b.createdAtMs - a.createdAtMs || (a.memoryId < b.memoryId ? 1 : -1)
    );
    for (const limit of [1, 7, 200, 500]) {
      const all: CatalogEntry[] = [];
      while (true) {
        const after = all.at(-1);
        const page = await catalog.list("0xann", {
          namespace: "default",
          limit,
          after,
        });
        all.push(...page);
        if (page.length < limit) break;
      }
      assertEquals(withoutUndefined(all), sorted);
    }
  });
});

Deno.test("add() has the blob on disk when it answers", async () => {
  await withLedger(async ({ file, path }) => {
    await new LocalCatalog(file).add(entryOf({ memoryId: "m1" }));
    const other = openAt(path);
    assertEquals((await list(new LocalCatalog(other))).length, 1);
    await other.close();
  });
});

Deno.test("close() writes what waits", async () => {
  await withLedger(async ({ file, path }) => {
    const catalog = new LocalCatalog(file);
    const added = Array.from(
      { length: 50 },
      (_, index) => catalog.add(entryOf({ memoryId: `m${index}` })),
    );
    await file.close();
    await Promise.all(added);
    const again = openAt(path);
    assertEquals((await list(new LocalCatalog(again))).length, 50);
    await again.close();
  });
});

Deno.test("list() finds the newest by the index alone", async () => {
  await withLedger(({ file }) => {
    const plan = file.db.prepare(
      "EXPLAIN QUERY PLAN SELECT * FROM blobs WHERE owner = ? AND " +
        "namespace = ? AND (created_ms, memory_id) < (?, ?) " +
        "ORDER BY created_ms DESC, memory_id DESC LIMIT ?",
    ).all("a", "b", 1, "c", 1);
    const steps = plan.map((step) => String(step["detail"])).join("; ");
    assert(steps.includes("USING INDEX blobs_of_namespace"), steps);
    assert(!steps.includes("TEMP B-TREE"), steps);
  });
});

function entryOf(parts: Partial<CatalogEntry>): CatalogEntry {
  return {
    blobId: `blob of ${parts.memoryId}`,
    owner: "0xann",
    namespace: "default",
    memoryId: "m",
    createdAtMs: 1_800_000_000_000,
    agentId: "ab".repeat(32),
    sizeBytes: 390,
    ...parts,
  };
}

async function list(
  catalog: LocalCatalog,
  namespace = "default",
): Promise<readonly CatalogEntry[]> {
  return withoutUndefined(
    await catalog.list("0xann", { namespace, limit: 100 }),
  );
}
