/**
 * Tests that every catalogue of blobs has to pass.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import type { BlobCatalog, CatalogEntry } from "../../blobs/blob_store.ts";

/** A catalogue to test. */
export interface CatalogCase {
  /** The catalogue's name in test titles. */
  readonly name: string;
  /** Registers a test. @default {Deno.test} */
  readonly test?: ((definition: Deno.TestDefinition) => void) | undefined;
  /** Opens an empty catalogue, passes it to a function, and closes it. */
  readonly withCatalog: (
    use: (catalog: BlobCatalog) => Promise<void>,
  ) => Promise<void>;
}

/** Registers the tests. */
export function testBlobCatalog(
  { name, test = Deno.test, withCatalog }: CatalogCase,
): void {
  const add = (name: string, fn: () => Promise<void>): void =>
    test({ name, fn });
  add(`${name}: add() notes a blob once, whatever comes again`, async () => {
    await withCatalog(async (catalog) => {
      const entry = createEntry({ memoryId: "m1" });
      await catalog.add(entry);
      await Promise.all([
        catalog.add(entry),
        catalog.add({ ...entry, blobId: "other", createdAtMs: 99 }),
      ]);
      assertEquals(await list(catalog), [entry]);
    });
  });

  add(`${name}: add() keeps owners and namespaces apart`, async () => {
    await withCatalog(async (catalog) => {
      const entries = [
        createEntry({ memoryId: "m1" }),
        createEntry({ memoryId: "m1", owner: "0xben" }),
        createEntry({ memoryId: "m2", namespace: "work" }),
      ];
      await Promise.all(entries.map((entry) => catalog.add(entry)));
      assertEquals(await list(catalog), entries.slice(0, 1));
      assertEquals(await list(catalog, "work"), entries.slice(2));
    });
  });

  add(`${name}: add() keeps what only the client can open`, async () => {
    await withCatalog(async (catalog) => {
      const sealedIndex = new SeededRandom(1).bytes(7_000);
      await catalog.add(createEntry({ memoryId: "m1", sealedIndex }));
      assertEquals((await list(catalog))[0]?.sealedIndex, sealedIndex);
    });
  });

  add(
    `${name}: add() lets nobody replace another owner's memories`,
    async () => {
      await withCatalog(async (catalog) => {
        const old = createEntry({ memoryId: "old" });
        await catalog.add(old);
        await catalog.add(
          createEntry({ memoryId: "new", owner: "0xben", supersedes: "old" }),
        );
        assertEquals(await list(catalog), [old]);
      });
    },
  );

  add(
    `${name}: move() names another blob and secret, and notes nothing new`,
    async () => {
      await withCatalog(async (catalog) => {
        const secret = new Uint8Array(32).fill(7);
        const entry = createEntry({ memoryId: "m1" });
        await catalog.add(entry);
        await catalog.add(
          createEntry({ memoryId: "m2", memorySecret: secret }),
        );
        const moved = { blobId: "other", sizeBytes: 77, memorySecret: secret };
        await catalog.move("0xann", "m1", moved);
        await catalog.move("0xann", "gone", moved);
        await catalog.move("0xann", "m2", { blobId: "b3", sizeBytes: 5 });
        assertEquals(
          withoutUndefined(await catalog.findEntry("0xann", "m1")),
          { ...entry, ...moved },
        );
        const second = await catalog.findEntry("0xann", "m2");
        assertEquals([second?.blobId, second?.memorySecret], ["b3", undefined]);
        const sealedIndex = Uint8Array.of(1, 2, 3);
        for (const given of [sealedIndex, undefined]) {
          await catalog.move("0xann", "m2", {
            ...{ blobId: "b3", sizeBytes: 5, sealedIndex: given },
          });
          const third = await catalog.findEntry("0xann", "m2");
          assertEquals(third?.sealedIndex, sealedIndex);
        }
        assertEquals(await catalog.findEntry("0xann", "gone"), undefined);
      });
    },
  );

  add(`${name}: remove() forgets a blob`, async () => {
    await withCatalog(async (catalog) => {
      await catalog.add(createEntry({ memoryId: "m1" }));
      await catalog.remove("0xben", "m1");
      assertEquals((await list(catalog)).length, 1);
      await catalog.remove("0xann", "m1");
      await catalog.remove("0xann", "m1");
      assertEquals(await list(catalog), []);
    });
  });

  add(
    `${name}: list() gives every blob once, the newest first, in pages of any size`,
    async () => {
      await withCatalog(async (catalog) => {
        const random = new SeededRandom(4);
        const entries = Array.from({ length: 200 }, (_, index) =>
          // Few distinct times, so that pages end between entries of the same
          // time.
          createEntry({
            memoryId: `m${index}`,
            createdAtMs: random.below(10),
          }));
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
    },
  );

  add(
    `${name}: add() notes what took the place of what, and remove() keeps it`,
    async () => {
      for (const order of [["old", "new"], ["new", "old"]]) {
        await withCatalog(async (catalog) => {
          const old = createEntry({ memoryId: "old", importance: 0.25 });
          const later = createEntry({ memoryId: "new", supersedes: "old" });
          for (const memoryId of order) {
            await catalog.add(memoryId === "old" ? old : later);
          }
          const replaced = { ...old, supersededBy: "new" };
          const known = await catalog.findEntry("0xann", "old");
          assertEquals(withoutUndefined(known), replaced);
          await catalog.remove("0xann", "new");
          assertEquals(await list(catalog), [replaced]);
          assertEquals(await catalog.findEntry("0xann", "new"), undefined);
        });
      }
    },
  );

  add(
    `${name}: countHolders() counts the memories of all owners that have a blob`,
    async () => {
      await withCatalog(async (catalog) => {
        assertEquals(await catalog.countHolders("b"), 0);
        await catalog.add(createEntry({ memoryId: "m1", blobId: "b" }));
        await catalog.add(
          createEntry({ memoryId: "m1", blobId: "b", owner: "0xben" }),
        );
        assertEquals(await catalog.countHolders("b"), 2);
      });
    },
  );
}

/** Makes an entry; `parts` replace the defaults. */
export function createEntry(parts: Partial<CatalogEntry>): CatalogEntry {
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

/** The entries of a namespace. */
export async function list(
  catalog: BlobCatalog,
  namespace = "default",
): Promise<readonly CatalogEntry[]> {
  return withoutUndefined(
    await catalog.list("0xann", { namespace, limit: 100 }),
  );
}
