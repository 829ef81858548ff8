/**
 * Test cases about the feeds of changes.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import type { FeedPosition, RelayerStore } from "../../store.ts";
import { ALICE, BOB, SAMPLE_MS, sampleMemory } from "../sample_rows.ts";
import { commitAll, type StoreCase } from "./store_case.ts";

/** All test cases about feeds. */
export function feedCases(): readonly StoreCase[] {
  return [
    {
      title: "an owner without anything has an empty page without a position",
      async run({ store }) {
        await add(store, "a", BOB);
        assertEquals(await store.memoryFeed(ALICE, { limit: 5 }), {
          memories: [],
          deleted: [],
          hasMore: false,
          next: undefined,
          mustResync: false,
        });
        assertEquals(await store.namespaceFeed(ALICE, { limit: 5 }), {
          namespaces: [],
          hasMore: false,
        });
      },
    },
    {
      title: "rows come in the order of their last change, page by page",
      async run({ store }) {
        for (const id of ["a", "b", "c"]) await add(store, id);
        await commitAll(store, {
          kind: "supersede",
          owner: ALICE,
          id: "a",
          supersededBy: "c",
        });
        const first = await store.memoryFeed(ALICE, { limit: 2 });
        assertEquals(first.memories.map(({ id }) => id), ["b", "c"]);
        assertEquals(first.hasMore, true);
        assertEquals(first.next, { change: first.memories[1]?.change ?? 0 });
        const second = await store.memoryFeed(ALICE, after(2, first.next));
        assertEquals(second.memories.map(({ id }) => id), ["a"]);
        assertEquals(second.hasMore, false);
        const third = await store.memoryFeed(ALICE, after(2, second.next));
        assertEquals(third.memories, []);
        assertEquals(third.next, second.next);
        assertEquals(third.mustResync, false);
      },
    },
    {
      title:
        "a new vector is a change for indexes, and none for those who list",
      async run({ store }) {
        for (const id of ["a", "b", "c"]) await add(store, id);
        const listed = await store.memoryFeed(ALICE, { limit: 5 });
        const before = await store.indexFeed(ALICE, { limit: 5 });
        assertEquals(before, listed);
        const sealedIndex = Uint8Array.of(9, 9);
        await commitAll(store, {
          ...{ kind: "reindex", owner: ALICE, id: "a", sealedIndex },
        });
        const { change = 0 } = listed.next ?? {};
        assertEquals(
          await store.memoryFeed(ALICE, after(5, listed.next)),
          { ...listed, memories: [], next: { change } },
        );
        const page = await store.indexFeed(ALICE, after(5, listed.next));
        const [row] = page.memories;
        assertEquals(
          [page.memories.length, row?.id, row?.sealedIndex],
          [1, "a", sealedIndex],
        );
        assert((row?.change ?? 0) > change);
        assertEquals(page.next, { change: row?.change ?? 0 });
        assert(await store.head(ALICE) >= (row?.change ?? Infinity));
        const all: string[] = [];
        let position: FeedPosition | undefined;
        for (let hasMore = true; hasMore;) {
          const one = await store.indexFeed(ALICE, after(1, position));
          all.push(...one.memories.map(({ id }) => id));
          ({ next: position, hasMore } = one);
        }
        assertEquals(all, ["b", "c", "a"]);
        await commitAll(store, {
          ...{ kind: "supersede", owner: ALICE, id: "a", supersededBy: "c" },
        });
        const last = await store.indexFeed(ALICE, after(5, page.next));
        assertEquals(last.memories.map(({ id }) => id), ["a"]);
        assertEquals(last, await store.memoryFeed(ALICE, after(5, page.next)));
        const none = await store.indexFeed(ALICE, after(5, last.next));
        assertEquals(none.memories, []);
      },
    },
    {
      title:
        "a removed row leaves a tombstone; a row added again takes it away",
      async run({ store, clock }) {
        await add(store, "a");
        const { next } = await store.memoryFeed(ALICE, { limit: 5 });
        clock.advance(8);
        await remove(store, "a");
        const page = await store.memoryFeed(ALICE, after(5, next));
        assertEquals(page.deleted, [{
          id: "a",
          namespace: "default",
          deletedAtMs: SAMPLE_MS + 8,
          change: page.next?.change ?? 0,
        }]);
        assert((page.next?.change ?? 0) > (next?.change ?? 0));
        await add(store, "a");
        const again = await store.memoryFeed(ALICE, after(5, next));
        assertEquals(again.deleted, []);
        assertEquals(again.memories.map(({ id }) => id), ["a"]);
      },
    },
    {
      title:
        "whoever follows the feed has what the store has, however it is cut",
      async run({ store }) {
        const random = new SeededRandom(11);
        const mirror = new Set<string>();
        let position: FeedPosition | undefined;
        for (let round = 0; round < 40; round++) {
          for (let step = random.below(6); step > 0; step--) {
            const id = `m${random.below(12)}`;
            if (random.chance(0.6)) await add(store, id);
            else await remove(store, id);
            if (random.chance(0.05)) await removeAll(store);
          }
          let hasMore = random.chance(0.8);
          while (hasMore) {
            const page = await store.memoryFeed(
              ALICE,
              after(1 + random.below(3), position),
            );
            for (const { id } of page.deleted) mirror.delete(id);
            for (const { id } of page.memories) mirror.add(id);
            assertEquals(page.mustResync, false);
            ({ next: position, hasMore } = page);
            if (hasMore) continue;
            const rows = await store.scanMemories({ limit: 99, owner: ALICE });
            assertEquals([...mirror].sort(), rows.map(({ id }) => id));
          }
        }
      },
    },
    {
      title:
        "a position behind a swept tombstone must begin anew, that owner's",
      async run({ store, clock, restart }) {
        await add(store, "a");
        await add(store, "b");
        await add(store, "z", BOB);
        const old = (await store.memoryFeed(ALICE, { limit: 5 })).next;
        const bobs = (await store.memoryFeed(BOB, { limit: 5 })).next;
        await remove(store, "a");
        const seen = (await store.memoryFeed(ALICE, after(5, old))).next;
        clock.advance(100);
        await remove(store, "b");
        const swept = await store.sweep({
          nowMs: clock.nowMs(),
          finishedJobsBeforeMs: 0,
          tombstonesBeforeMs: clock.nowMs(),
          limit: 10,
        });
        assertEquals(swept, 1);
        await restart();
        const page = await store.memoryFeed(ALICE, after(5, old));
        assertEquals(page.mustResync, true);
        const fresh = await store.memoryFeed(ALICE, after(5, seen));
        assertEquals(fresh.mustResync, false);
        assertEquals(fresh.deleted.map(({ id }) => id), ["b"]);
        const others = await store.memoryFeed(BOB, after(5, bobs));
        assertEquals(others.mustResync, false);
        const start = await store.memoryFeed(ALICE, { limit: 5 });
        assertEquals(start.mustResync, false);
      },
    },
    {
      title: "the head is at the end of the feed, and only rises",
      async run({ store, clock, restart }) {
        assertEquals(await store.head(ALICE), 0);
        let last = 0;
        const check = async (isChanged: boolean) => {
          const head = await store.head(ALICE);
          const { next, deleted } = await store.memoryFeed(ALICE, {
            limit: 99,
          });
          if (isChanged) assertEquals(head > last, true);
          assertEquals(head >= Math.max(last, next?.change ?? 0), true);
          const rest = await store.memoryFeed(
            ALICE,
            after(9, { change: head }),
          );
          assertEquals([rest.memories, rest.deleted, rest.mustResync], [
            ...[[], [], false],
          ]);
          last = head;
          return deleted.length;
        };
        await add(store, "a");
        await check(true);
        await add(store, "z", BOB);
        await check(false);
        await add(store, "b");
        await remove(store, "a");
        assertEquals(await check(true), 1);
        await restart();
        await check(false);
        clock.advance(100);
        await store.sweep({
          nowMs: clock.nowMs(),
          finishedJobsBeforeMs: 0,
          tombstonesBeforeMs: clock.nowMs(),
          limit: 10,
        });
        assertEquals(await check(false), 0);
        await removeAll(store);
        await check(true);
      },
    },
    {
      title: "a position of another database must begin anew",
      async run({ store }) {
        await add(store, "a");
        for (const change of [1, Number.MAX_SAFE_INTEGER]) {
          const page = await store.memoryFeed(ALICE, after(5, { change }));
          assertEquals(page.mustResync, true);
        }
      },
    },
    {
      title: "changes go on rising after a restart",
      async run({ store, restart }) {
        await add(store, "a");
        await remove(store, "a");
        const { next } = await store.memoryFeed(ALICE, { limit: 5 });
        await restart();
        await add(store, "b");
        const page = await store.memoryFeed(ALICE, after(5, next));
        assertEquals(page.memories.map(({ id }) => id), ["b"]);
      },
    },
    {
      title: "namespaces come in the order of their last change, with sums",
      async run({ store, clock }) {
        await add(store, "a", ALICE, "one");
        await add(store, "b", ALICE, "two");
        clock.advance(4);
        await add(store, "c", ALICE, "one");
        const page = await store.namespaceFeed(ALICE, { limit: 1 });
        assertEquals(page.hasMore, true);
        const [two] = page.namespaces;
        assertEquals(two?.name, "two");
        const rest = await store.namespaceFeed(
          ALICE,
          after(5, { change: two?.change ?? 0 }),
        );
        assertEquals(rest.hasMore, false);
        assertEquals(rest.namespaces.map(({ change: _, ...row }) => row), [{
          name: "one",
          memoryCount: 2,
          storageBytes: 200,
          updatedAtMs: SAMPLE_MS + 4,
        }]);
        await remove(store, "b");
        const left = await store.namespaceFeed(ALICE, { limit: 5 });
        assertEquals(left.namespaces.map(({ name }) => name), ["one"]);
      },
    },
  ];
}

function after(
  limit: number,
  position: FeedPosition | undefined,
): { readonly limit: number; readonly after?: FeedPosition } {
  return position === undefined ? { limit } : { limit, after: position };
}

async function add(
  store: RelayerStore,
  id: string,
  owner = ALICE,
  namespace = "default",
): Promise<void> {
  const memory = sampleMemory({ id, owner, namespace });
  await commitAll(store, { kind: "new_memory", memory });
}

async function remove(store: RelayerStore, id: string): Promise<void> {
  await commitAll(store, { kind: "remove_memory", owner: ALICE, id });
}

async function removeAll(store: RelayerStore): Promise<void> {
  const of = { owner: ALICE, namespace: "default" };
  await commitAll(store, { kind: "remove_namespace", ...of });
}
