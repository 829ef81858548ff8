/**
 * Tests that every blob store has to pass.
 *
 * @module
 */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { BlobStore } from "../blob_store.ts";

/** A blob store to test. */
export interface BlobStoreCase {
  /** The store's name in test titles. */
  readonly name: string;
  /** Registers a test. @default {Deno.test} */
  readonly test?: ((definition: Deno.TestDefinition) => void) | undefined;
  /** Whether the store can remove blobs. */
  readonly removes: boolean;
  /** Opens an empty store, passes it to a function, and closes it. */
  readonly withStore: (
    use: (store: BlobStore) => Promise<void>,
  ) => Promise<void>;
}

/** Registers the tests. */
export function testBlobStore(
  { name, test = Deno.test, removes, withStore }: BlobStoreCase,
): void {
  const add = (name: string, fn: () => Promise<void>): void =>
    test({ name, fn });
  add(`${name} gives the bytes that were put`, async () => {
    await withStore(async (store) => {
      for (const length of [0, 1, 1_000, 300_000]) {
        const bytes = Uint8Array.from({ length }, (_, at) => at * 31 % 251);
        const blobId = await store.put(bytes);
        assertEquals(await store.get(blobId), { kind: "ok", bytes });
      }
    });
  });

  add(`${name} never tells that a blob is gone that is there`, async () => {
    await withStore(async (store) => {
      const blobId = await store.put(new TextEncoder().encode("there"));
      assertEquals(await store.isGone(blobId), false);
    });
  });

  add(
    `${name} has one blob for the same bytes, and others for others`,
    async () => {
      await withStore(async (store) => {
        const bytes = new TextEncoder().encode("the same");
        const ids = await Promise.all([
          store.put(bytes),
          store.put(bytes.slice()),
          store.put(bytes),
        ]);
        assertEquals(new Set(ids).size, 1);
        assertEquals(await store.put(bytes), ids[0]);
        assertNotEquals(await store.put(new Uint8Array([1])), ids[0]);
      });
    },
  );

  add(`${name} says that there is no such blob`, async () => {
    await withStore(async (store) => {
      const ids = [
        "A".repeat(43),
        "../../etc/passwd",
        "",
        "a/b",
        "x".repeat(2_000),
      ];
      for (const id of ids) {
        assertEquals(await store.get(id), { kind: "missing" });
      }
    });
  });

  add(`${name} takes many at once`, async () => {
    await withStore(async (store) => {
      const all = Array.from(
        { length: 100 },
        (_, at) => new TextEncoder().encode(`blob ${at}`),
      );
      const ids = await Promise.all(all.map((bytes) => store.put(bytes)));
      const got = await Promise.all(ids.map((id) => store.get(id)));
      assertEquals(got, all.map((bytes) => ({ kind: "ok", bytes })));
    });
  });

  add(`${name} ${removes ? "removes a blob" : "removes none"}`, async () => {
    await withStore(async (store) => {
      const blobId = await store.put(new Uint8Array([1, 2, 3]));
      assertEquals(await store.remove(blobId), removes);
      const { kind } = await store.get(blobId);
      assertEquals(kind, removes ? "missing" : "ok");
      if (removes) assert(await store.remove(blobId));
    });
  });
}
