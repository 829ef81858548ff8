import { assert, assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../tests/support/without_undefined.ts";
import { LocalCatalog } from "./local_catalog.ts";
import {
  createEntry,
  list,
  testBlobCatalog,
} from "./testing/catalog_conformance.ts";
import { openAt, withLedger } from "./testing/open_test_ledger.ts";

testBlobCatalog({
  name: "LocalCatalog",
  withCatalog: (use) => withLedger(({ file }) => use(new LocalCatalog(file))),
});

Deno.test("add() notes what took the place of what, whichever comes first", async () => {
  for (const order of [["old", "new"], ["new", "old"]]) {
    await withLedger(async ({ file, path }) => {
      const catalog = new LocalCatalog(file);
      const old = createEntry({ memoryId: "old", importance: 0.25 });
      const later = createEntry({
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
        withoutUndefined(await catalog.findEntry("0xann", "old")),
        replaced,
      );
      // The replacing memory is removed; the memory that it replaced stays
      // replaced.
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

Deno.test("remove() leaves nothing of a memory's secret in the files", async () => {
  await withLedger(async ({ file, path }) => {
    const catalog = new LocalCatalog(file);
    const memorySecret = crypto.getRandomValues(new Uint8Array(32));
    const isThere = async () => {
      for (const name of [path, `${path}-wal`]) {
        const text = new TextDecoder("latin1").decode(
          await Deno.readFile(name),
        );
        if (text.includes(new TextDecoder("latin1").decode(memorySecret))) {
          return true;
        }
      }
      return false;
    };
    await catalog.add(createEntry({ memoryId: "m1", memorySecret }));
    assert(await isThere());
    await catalog.remove("0xann", "m1");
    assertEquals(await isThere(), false);
  });
});

Deno.test("add() has the blob on disk when it answers", async () => {
  await withLedger(async ({ file, path }) => {
    await new LocalCatalog(file).add(createEntry({ memoryId: "m1" }));
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
      (_, index) => catalog.add(createEntry({ memoryId: `m${index}` })),
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
