import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import type {
  StoredRecord,
  Transaction,
  TransactionResult,
  Write,
} from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { RecordCache, RecordRepository } from "./record_repository.ts";
import { REGISTRY } from "./repositories.ts";
import { openTestEngine } from "./testing/test_engine.ts";
import { SteppingClock } from "./testing/stepping_clock.ts";

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
  const store = createMemoryStore({ clock: new SteppingClock() });
  const cache = new RecordCache(store);
  const repository = new RecordRepository<Thing>({ cache, store }, {
    kind: "secret",
    getTenantId: ({ tenantId }) => tenantId,
    getAlias: ({ name }) => name,
    getParentId: ({ ownerId }) => ownerId,
  });
  return {
    repository,
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

/** A source of a single record, whose reads a test can hold up. */
class SlowSource {
  record_: StoredRecord | undefined;
  reads = 0;
  gate: Promise<void> | undefined;
  commitGate: Promise<void> | undefined;
  fails = false;

  async record(): Promise<StoredRecord | undefined> {
    this.reads++;
    const found = this.record_;
    await this.gate;
    return found;
  }

  async recordByAlias(
    _kind: string,
    _tenantId: string,
    alias: string,
  ): Promise<StoredRecord | undefined> {
    this.reads++;
    const found = this.record_?.alias === alias ? this.record_ : undefined;
    await this.gate;
    return found;
  }

  async commit(
    transactions: readonly Transaction[],
  ): Promise<readonly TransactionResult[]> {
    for (const { writes } of transactions) {
      for (const write of writes) {
        if (write.kind === "record") this.record_ = write.next;
      }
    }
    await this.commitGate;
    if (this.fails) throw new Error("the answer was lost");
    return transactions.map(() => ({ kind: "ok" }));
  }
}

function version(number: number, alias = "name"): StoredRecord {
  const id = "wrk_1";
  const text = `${number}`;
  return { kind: "worker", tenantId: "t", id, version: number, alias, text };
}

function putting(next: StoredRecord | undefined): readonly Transaction[] {
  return [{
    writes: [{
      kind: "record",
      recordKind: "worker",
      tenantId: "t",
      id: "wrk_1",
      expectedVersion: 1,
      next,
    }],
  }];
}

function openCache(): {
  readonly source: SlowSource;
  readonly cache: RecordCache;
} {
  const source = new SlowSource();
  source.record_ = version(1);
  return { source, cache: new RecordCache(source) };
}

Deno.test("RecordCache reads a record once", async () => {
  const { source, cache } = openCache();
  await cache.record("worker", "t", "wrk_1");
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 1);
  assertEquals((await cache.recordByAlias("worker", "t", "name"))?.version, 1);
  assertEquals(source.reads, 1);
});

Deno.test("RecordCache forgets what is committed through it", async () => {
  const { source, cache } = openCache();
  await cache.record("worker", "t", "wrk_1");
  await cache.commit(putting(version(2)));
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
  await cache.commit(putting(undefined));
  assertEquals(await cache.record("worker", "t", "wrk_1"), undefined);
  assertEquals(source.reads, 3);
});

Deno.test("RecordCache forgets also when the answer of a commit was lost", async () => {
  const { source, cache } = openCache();
  await cache.record("worker", "t", "wrk_1");
  source.fails = true;
  await assertRejects(() => cache.commit(putting(version(2))));
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not keep what was read before a commit and answered after it", async () => {
  const { source, cache } = openCache();
  const gate = Promise.withResolvers<void>();
  source.gate = gate.promise;
  const stale = cache.record("worker", "t", "wrk_1");
  await cache.commit(putting(version(2)));
  gate.resolve();
  source.gate = undefined;
  assertEquals((await stale)?.version, 1);
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not keep what was read during a commit", async () => {
  const { source, cache } = openCache();
  const gate = Promise.withResolvers<void>();
  source.commitGate = gate.promise;
  const stale = cache.record("worker", "t", "wrk_1");
  const committed = cache.commit(putting(version(2)));
  assertEquals((await stale)?.version, 1);
  gate.resolve();
  await committed;
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not answer an alias that a record has given up", async () => {
  const { cache } = openCache();
  await cache.recordByAlias("worker", "t", "name");
  await cache.commit(putting(version(2, "other")));
  await cache.record("worker", "t", "wrk_1");
  assertEquals(await cache.recordByAlias("worker", "t", "name"), undefined);
  assertEquals((await cache.recordByAlias("worker", "t", "other"))?.version, 2);
});

Deno.test("RecordCache keeps the records of tenants apart", async () => {
  const { source, cache } = openCache();
  await cache.record("worker", "t", "wrk_1");
  source.record_ = undefined;
  assertEquals(await cache.record("worker", "u", "wrk_1"), undefined);
});

Deno.test("RecordCache forgets no other record when one comes that it has", async () => {
  const gate = Promise.withResolvers<void>();
  const cache = new RecordCache({
    async record(kind, tenantId, id) {
      if (id === "wrk_last") await gate.promise;
      return { kind, tenantId, id, version: 1, text: "" };
    },
    recordByAlias: () => Promise.resolve(undefined),
    commit: () => Promise.resolve([]),
  });
  const get = (id: string) => cache.record("worker", "t", id);
  for (let at = 1; at < 20_000; at++) await get(`wrk_${at}`);
  const both = [get("wrk_last"), get("wrk_last")];
  gate.resolve();
  await Promise.all(both);
  assert(!(get("wrk_1") instanceof Promise));
  assert(!(get("wrk_last") instanceof Promise));
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
