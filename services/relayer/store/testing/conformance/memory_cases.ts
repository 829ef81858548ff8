/**
 * Test cases about the index's rows.
 *
 * @module
 */

import { assert, assertEquals, assertExists } from "@std/assert";
import { withoutUndefined } from "../../../../../tests/support/without_undefined.ts";
import type { MemoryRow } from "../../rows.ts";
import type { RelayerStore } from "../../store.ts";
import { AGENT, ALICE, BOB, sampleMemory } from "../sample_rows.ts";
import { commitAll, type StoreCase } from "./store_case.ts";

/** All test cases about the index's rows. */
export function memoryCases(): readonly StoreCase[] {
  return [
    {
      title: "a row is read as it was added, by its owner alone",
      async run({ store, clock }) {
        clock.advance(7);
        const full = sampleMemory({ supersedes: "older" });
        const { keyId: _, ...keyless } = sampleMemory({ id: "memory-2" });
        const bare = {
          ...keyless,
          agentId: null,
          packageId: null,
          importance: null,
        };
        await add(store, full, bare);
        const [first, second, none] = await store.memories(ALICE, [
          "memory-1",
          "memory-2",
          "memory-3",
        ]);
        assertExists(first);
        assertExists(second);
        const updatedAtMs = clock.nowMs();
        const { change } = first;
        assertEquals(withoutUndefined(first), { ...full, updatedAtMs, change });
        assertEquals(withoutUndefined(second), {
          ...bare,
          updatedAtMs,
          change: second.change,
        });
        assertEquals(second.change > first.change, true);
        assertEquals(none, undefined);
        assertEquals(await store.memories(BOB, ["memory-1"]), [undefined]);
      },
    },
    {
      title: "adding a row again does nothing",
      async run({ store, clock }) {
        await add(store, sampleMemory());
        const before = await store.memories(ALICE, ["memory-1"]);
        clock.advance(9);
        await add(store, sampleMemory({ blobId: "another", sizeBytes: 5 }));
        assertEquals(await store.memories(ALICE, ["memory-1"]), before);
        assertEquals(await store.stats(ALICE), { memories: 1, bytes: 100 });
      },
    },
    {
      title: "a superseded row is kept, marked, and does not count",
      async run({ store, clock }) {
        await add(store, sampleMemory(), sampleMemory({ id: "memory-2" }));
        const before = await only(store, "memory-1");
        clock.advance(3);
        const mark = {
          kind: "supersede",
          owner: ALICE,
          id: "memory-1",
          supersededBy: "memory-2",
        } as const;
        await commitAll(store, mark, { ...mark, id: "gone" });
        const after = await only(store, "memory-1");
        assertEquals(after.supersededBy, "memory-2");
        assertEquals(after.updatedAtMs, clock.nowMs());
        assertEquals(after.change > before.change, true);
        assertEquals(await store.stats(ALICE), { memories: 1, bytes: 200 });
        await commitAll(store, mark, { ...mark, owner: BOB });
        assertEquals(await only(store, "memory-1"), after);
        await remove(store, "memory-1");
        assertEquals(await store.stats(ALICE), { memories: 1, bytes: 100 });
      },
    },
    {
      title: "a row gets a new vector and stays the same for listings",
      async run({ store, clock }) {
        await add(
          store,
          sampleMemory(),
          sampleMemory({ owner: BOB }),
        );
        const before = await only(store, "memory-1");
        const page = await store.memoryFeed(ALICE, { limit: 10 });
        clock.advance(3);
        const sealedIndex = Uint8Array.of(1, 2);
        const change = { kind: "reindex", owner: ALICE, sealedIndex } as const;
        await commitAll(
          store,
          { ...change, id: "memory-1" },
          { ...change, id: "gone" },
        );
        assertEquals(await only(store, "memory-1"), { ...before, sealedIndex });
        assertEquals(
          (await store.memoryFeed(ALICE, { limit: 10 })).next,
          page.next,
        );
        const [other] = await store.memories(BOB, ["memory-1"]);
        assertEquals(other?.sealedIndex, before.sealedIndex);
        assertEquals(await store.memories(ALICE, ["gone"]), [undefined]);
      },
    },
    {
      title: "a row gets another blob once, and listings show it",
      async run({ store, clock }) {
        await add(store, sampleMemory(), sampleMemory({ owner: BOB }));
        const before = await only(store, "memory-1");
        clock.advance(3);
        const move = {
          kind: "move_blob",
          owner: ALICE,
          fromBlobId: before.blobId,
          blobId: "blob-9",
          sizeBytes: before.sizeBytes + 50,
        } as const;
        await commitAll(
          store,
          { ...move, id: "memory-1" },
          { ...move, id: "memory-1", blobId: "blob-10" },
          { ...move, id: "gone" },
        );
        const after = await only(store, "memory-1");
        assertEquals(after, {
          ...before,
          ...{ blobId: "blob-9", sizeBytes: before.sizeBytes + 50 },
          updatedAtMs: before.updatedAtMs + 3,
          change: after.change,
        });
        assert(after.change > before.change);
        assertEquals(await store.stats(ALICE), { memories: 1, bytes: 150 });
        assertEquals(await store.stats(BOB), { memories: 1, bytes: 100 });
      },
    },
    {
      title:
        "removing takes the row, its bytes and its name, the owner's alone",
      async run({ store }) {
        await add(
          store,
          sampleMemory(),
          sampleMemory({ owner: BOB }),
          sampleMemory({ id: "memory-2", agentId: "d4".repeat(32) }),
        );
        assertEquals(await store.agents(ALICE), [AGENT, "d4".repeat(32)]);
        await remove(store, "memory-1");
        await remove(store, "memory-1");
        assertEquals(await store.memories(ALICE, ["memory-1"]), [undefined]);
        assertEquals(await store.stats(ALICE), { memories: 1, bytes: 100 });
        assertEquals(await store.stats(BOB), { memories: 1, bytes: 100 });
        assertEquals(await store.agents(ALICE), ["d4".repeat(32)]);
        assertEquals(await store.agents(BOB), [AGENT]);
      },
    },
    {
      title: "removing a namespace takes all of its rows and no others",
      async run({ store }) {
        await add(
          store,
          sampleMemory({ id: "a", namespace: "work" }),
          sampleMemory({ id: "b", namespace: "work" }),
          sampleMemory({ id: "c" }),
          sampleMemory({ id: "a", namespace: "work", owner: BOB }),
        );
        await commitAll(store, {
          kind: "remove_namespace",
          owner: ALICE,
          namespace: "work",
        });
        assertEquals(await store.stats(ALICE, "work"), {
          memories: 0,
          bytes: 0,
        });
        assertEquals((await store.stats(ALICE)).memories, 1);
        assertEquals((await store.stats(BOB, "work")).memories, 1);
        const page = await store.memoryFeed(ALICE, { limit: 10 });
        assertEquals(page.deleted.map(({ id }) => id), ["a", "b"]);
      },
    },
    {
      title: "removing a large namespace leaves every tombstone and exact sums",
      async run({ store }) {
        const ids = Array.from(
          { length: 1_203 },
          (_, at) => `m${String(at).padStart(5, "0")}`,
        );
        const namespace = "work";
        await commitAll(
          store,
          ...ids.map((id, at) => ({
            kind: "new_memory" as const,
            memory: sampleMemory({
              id,
              namespace,
              agentId: at % 3 === 0 ? null : at % 2 === 0 ? AGENT : "d4",
            }),
          })),
          {
            kind: "supersede",
            owner: ALICE,
            id: "m00007",
            supersededBy: "m00008",
          },
          { kind: "new_memory", memory: sampleMemory({ id: "kept" }) },
        );
        assertEquals((await store.stats(ALICE)).memories, 1_203);
        await commitAll(store, {
          kind: "remove_namespace",
          owner: ALICE,
          namespace,
        });
        assertEquals(await store.stats(ALICE), { memories: 1, bytes: 100 });
        assertEquals(await store.agents(ALICE), [AGENT]);
        const { namespaces } = await store.namespaceFeed(ALICE, { limit: 9 });
        assertEquals(namespaces.map(({ name }) => name), ["default"]);
        const page = await store.memoryFeed(ALICE, { limit: 5_000 });
        assertEquals(page.deleted.map(({ id }) => id), ids);
        assertEquals(page.memories.map(({ id }) => id), ["kept"]);
      },
    },
    {
      title: "a scan walks over all rows, of everybody and of an owner",
      async run({ store }) {
        await add(
          store,
          ...["e", "b", "d", "a"].map((id) => sampleMemory({ id })),
          sampleMemory({ id: "c", namespace: "work" }),
          ...["b", "f"].map((id) => sampleMemory({ id, owner: BOB })),
        );
        const all = await scanned(store, {});
        assertEquals(all, ["a", "b", "b", "c", "d", "e", "f"]);
        assertEquals(await scanned(store, { owner: ALICE }), [..."abcde"]);
        assertEquals(await scanned(store, { owner: BOB }), [..."bf"]);
      },
    },
    {
      title: "owners are listed in pages, with their memories counted",
      async run({ store }) {
        assertEquals(await store.memoryOwners({ limit: 9 }), []);
        assertEquals(await store.memoryCount(), 0);
        await add(
          store,
          ...["a", "b"].map((id) => sampleMemory({ id })),
          sampleMemory({ id: "c", namespace: "work" }),
          sampleMemory({ id: "b", owner: BOB }),
        );
        await commitAll(store, {
          ...{ kind: "supersede", owner: ALICE, id: "a", supersededBy: "b" },
        });
        const counts = new Map([[ALICE, 2], [BOB, 1]]);
        const owners = [ALICE, BOB].toSorted();
        const pages = [undefined, ...owners].map((after) =>
          store.memoryOwners({ limit: 1, after })
        );
        assertEquals(
          await Promise.all(pages),
          [
            ...owners.map((owner) => [
              { owner, memories: counts.get(owner) ?? 0 },
            ]),
            [],
          ],
        );
        assertEquals(await store.memoryCount(), 3);
        await remove(store, "c");
        assertEquals(await store.memoryCount(), 2);
      },
    },
  ];
}

async function add(
  store: RelayerStore,
  ...memories: readonly ReturnType<typeof sampleMemory>[]
): Promise<void> {
  for (const memory of memories) {
    await commitAll(store, { kind: "new_memory", memory });
  }
}

async function remove(store: RelayerStore, id: string): Promise<void> {
  await commitAll(store, { kind: "remove_memory", owner: ALICE, id });
}

async function only(store: RelayerStore, id: string): Promise<MemoryRow> {
  const [memory] = await store.memories(ALICE, [id]);
  assertExists(memory);
  return memory;
}

async function scanned(
  store: RelayerStore,
  of: { readonly owner?: string },
): Promise<readonly string[]> {
  const ids: string[] = [];
  let afterId: string | undefined;
  do {
    const page = await store.scanMemories({
      ...of,
      limit: 2,
      ...(afterId === undefined ? {} : { afterId }),
    });
    ids.push(...page.map(({ id }) => id));
    afterId = page.at(-1)?.id;
  } while (afterId !== undefined);
  return ids;
}
