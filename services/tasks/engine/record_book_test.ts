import { assertEquals, assertStrictEquals } from "@std/assert";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import type { Write } from "../store/store.ts";
import { RecordBook } from "./record_book.ts";
import { RecordCache } from "./record_cache.ts";
import { SteppingClock } from "./testing/stepping_clock.ts";

interface Thing {
  readonly tenantId: string;
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly ownerId: string;
}

function open(): {
  readonly book: RecordBook<Thing>;
  readonly commit: (write: Write) => Promise<string>;
} {
  const store = createMemoryStore({ clock: new SteppingClock() });
  const cache = new RecordCache(store);
  const book = new RecordBook<Thing>({ cache, store }, {
    kind: "secret",
    tenantOf: ({ tenantId }) => tenantId,
    aliasOf: ({ name }) => name,
    parentOf: ({ ownerId }) => ownerId,
  });
  return {
    book,
    async commit(write) {
      const [result] = await cache.commit([{ writes: [write] }]);
      return result?.kind === "conflict" ? result.reason : "ok";
    },
  };
}

function thing(patch: Partial<Thing> = {}): Thing {
  const base = { tenantId: "t", id: "a", version: 1, name: "n", ownerId: "o" };
  return { ...base, ...patch };
}

Deno.test("RecordBook adds, changes, finds and removes values", async () => {
  const { book, commit } = open();
  assertEquals(await commit(book.adding(thing())), "ok");
  assertEquals(await book.get("t", "a"), thing());
  assertEquals(await book.byAlias("t", "n"), thing());
  assertStrictEquals(await book.get("t", "a"), await book.get("t", "a"));
  const next = thing({ version: 2, name: "m" });
  assertEquals(await commit(book.changing(thing(), next)), "ok");
  assertEquals(await book.byAlias("t", "m"), next);
  assertEquals(await book.byAlias("t", "n"), undefined);
  assertEquals(await commit(book.removing(next)), "ok");
  assertEquals(await book.get("t", "a"), undefined);
});

Deno.test("RecordBook refuses what does not fit", async () => {
  const { book, commit } = open();
  await commit(book.adding(thing()));
  assertEquals(await commit(book.adding(thing())), "version");
  assertEquals(await commit(book.adding(thing({ id: "b" }))), "alias");
  assertEquals(
    await commit(book.changing(thing({ version: 4 }), thing({ version: 5 }))),
    "version",
  );
  assertEquals(await commit(book.requiring("t", "a")), "ok");
  assertEquals(await commit(book.requiring("u", "a")), "missing");
});

Deno.test("RecordBook.all() gives all of a tenant's values, or of a parent", async () => {
  const { book, commit } = open();
  for (let index = 0; index < 1_005; index++) {
    const id = String(index).padStart(4, "0");
    const ownerId = index < 3 ? "p" : "o";
    await commit(book.adding(thing({ id, name: id, ownerId })));
  }
  await commit(book.adding(thing({ tenantId: "u" })));
  assertEquals((await book.all("t")).length, 1_005);
  assertEquals((await book.all("t", "p")).length, 3);
  const page = await book.list("t", { limit: 2, afterId: "1003" });
  assertEquals(page.values.map(({ id }) => id), ["1004"]);
  assertEquals(page.hasMore, false);
});
