import { assertEquals, assertStrictEquals } from "@std/assert";
import type { Write } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { RecordCache } from "./record_cache.ts";
import { RecordRepository } from "./record_repository.ts";
import { REGISTRY } from "./repositories.ts";
import { openTestEngine } from "./testing/test_engine.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";

interface Thing {
  readonly tenantId: string;
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly ownerId: string;
}

function open(): {
  readonly repository: RecordRepository<Thing>;
  readonly commit: (write: Write) => Promise<string>;
} {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const cache = new RecordCache(store, { clock });
  const repository = new RecordRepository<Thing>({ cache, store }, {
    kind: "secret",
    getTenantId: ({ tenantId }) => tenantId,
    getAlias: ({ name }) => name,
    getParentId: ({ ownerId }) => ownerId,
  });
  return {
    repository,
    async commit(write) {
      const [result] = await cache.commit(
        [{ writes: [write] }],
        (given) => store.commit(given),
      );
      return result?.kind === "conflict" ? result.reason : "ok";
    },
  };
}

function thing(patch: Partial<Thing> = {}): Thing {
  const base = { tenantId: "t", id: "a", version: 1, name: "n", ownerId: "o" };
  return { ...base, ...patch };
}

Deno.test("RecordRepository adds, changes, finds and removes values", async () => {
  const { repository, commit } = open();
  assertEquals(await commit(repository.insert(thing())), "ok");
  assertEquals(await repository.get("t", "a"), thing());
  assertEquals(await repository.byAlias("t", "n"), thing());
  assertStrictEquals(
    await repository.get("t", "a"),
    await repository.get("t", "a"),
  );
  const next = thing({ version: 2, name: "m" });
  assertEquals(await commit(repository.update(thing(), next)), "ok");
  assertEquals(await repository.byAlias("t", "m"), next);
  assertEquals(await repository.byAlias("t", "n"), undefined);
  assertEquals(await commit(repository.remove(next)), "ok");
  assertEquals(await repository.get("t", "a"), undefined);
});

Deno.test("RecordRepository refuses what does not fit", async () => {
  const { repository, commit } = open();
  await commit(repository.insert(thing()));
  assertEquals(await commit(repository.insert(thing())), "version");
  assertEquals(await commit(repository.insert(thing({ id: "b" }))), "alias");
  assertEquals(
    await commit(
      repository.update(thing({ version: 4 }), thing({ version: 5 })),
    ),
    "version",
  );
  assertEquals(await commit(repository.assertExists("t", "a")), "ok");
  assertEquals(await commit(repository.assertExists("u", "a")), "missing");
});

Deno.test("RecordRepository.all() gives all of a tenant's values, or of a parent", async () => {
  const { repository, commit } = open();
  for (let index = 0; index < 1_005; index++) {
    const id = String(index).padStart(4, "0");
    const ownerId = index < 3 ? "p" : "o";
    await commit(repository.insert(thing({ id, name: id, ownerId })));
  }
  await commit(repository.insert(thing({ tenantId: "u" })));
  assertEquals((await repository.all("t")).length, 1_005);
  assertEquals((await repository.all("t", "p")).length, 3);
  const page = await repository.list("t", { limit: 2, afterId: "1003" });
  assertEquals(page.values.map(({ id }) => id), ["1004"]);
  assertEquals(page.hasMore, false);
});

Deno.test("openParts() has every method of the store, and commits through the cache", async () => {
  const { parts, store } = await openTestEngine();
  assertEquals(Object.keys(parts.store).sort(), Object.keys(store).sort());
  const domain = { id: "d", version: 1, untilMs: 1 };
  const { reservedDomains } = parts.repositories;
  const write = reservedDomains.insert(domain);
  await parts.store.commit([{ writes: [write] }]);
  assertEquals(await reservedDomains.get(REGISTRY, "d"), domain);
  const next = { ...domain, version: 2, untilMs: 2 };
  const { changes } = reservedDomains;
  await parts.store.commit([{
    writes: [reservedDomains.update(domain, next)],
  }]);
  assertEquals(await reservedDomains.get(REGISTRY, "d"), next);
  assertEquals(reservedDomains.changes, changes + 1);
});
