import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { Notice } from "../store/instances.ts";
import type {
  Store,
  StoredRecord,
  Transaction,
  TransactionResult,
  Write,
} from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { MAX_RECORD_AGE_MS, RecordCache } from "./record_cache.ts";

/** A source of a single record, whose reads a test can hold up. */
class SlowSource {
  record_: StoredRecord | undefined;
  reads = 0;
  gate: Promise<void> | undefined;
  commitGate: Promise<void> | undefined;
  fails = false;
  failsToRead = false;
  hear: (notice: Notice) => void = () => {};

  onNotice(listen: (notice: Notice) => void): () => void {
    this.hear = listen;
    return () => {};
  }

  tell(): void {}

  async record(): Promise<StoredRecord | undefined> {
    this.reads++;
    const found = this.record_;
    await this.gate;
    if (this.failsToRead) throw new Error("the store is away");
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

function putting(
  next: StoredRecord | undefined,
  expectedVersion = 1,
): readonly Transaction[] {
  return [{
    writes: [{
      kind: "record",
      recordKind: "worker",
      tenantId: "t",
      id: "wrk_1",
      expectedVersion,
      next,
    }],
  }];
}

type Commit = (
  transactions: readonly Transaction[],
) => Promise<readonly TransactionResult[]>;

function openCache(): {
  readonly source: SlowSource;
  readonly cache: RecordCache;
  readonly commit: Commit;
  readonly clock: FakeClock;
} {
  const source = new SlowSource();
  source.record_ = version(1);
  const clock = new FakeClock();
  const cache = new RecordCache(source, { clock });
  return {
    ...{ source, clock, cache },
    commit: (transactions) =>
      cache.commit(transactions, (given) => source.commit(given)),
  };
}

Deno.test("RecordCache reads a record once", async () => {
  const { source, cache } = openCache();
  await cache.record("worker", "t", "wrk_1");
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 1);
  assertEquals((await cache.recordByAlias("worker", "t", "name"))?.version, 1);
  assertEquals(source.reads, 1);
});

Deno.test("RecordCache forgets what is committed through it", async () => {
  const { source, cache, commit } = openCache();
  await cache.record("worker", "t", "wrk_1");
  await commit(putting(version(2)));
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
  await commit(putting(undefined));
  assertEquals(await cache.record("worker", "t", "wrk_1"), undefined);
  assertEquals(source.reads, 3);
});

Deno.test("RecordCache forgets also when the answer of a commit was lost", async () => {
  const { source, cache, commit } = openCache();
  await cache.record("worker", "t", "wrk_1");
  source.fails = true;
  await assertRejects(() => commit(putting(version(2))));
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not keep what was read before a commit and answered after it", async () => {
  const { source, cache, commit } = openCache();
  const gate = Promise.withResolvers<void>();
  source.gate = gate.promise;
  const stale = cache.record("worker", "t", "wrk_1");
  await commit(putting(version(2)));
  gate.resolve();
  source.gate = undefined;
  assertEquals((await stale)?.version, 1);
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not keep what was read during a commit", async () => {
  const { source, cache, commit } = openCache();
  const gate = Promise.withResolvers<void>();
  source.commitGate = gate.promise;
  const stale = cache.record("worker", "t", "wrk_1");
  const committed = commit(putting(version(2)));
  assertEquals((await stale)?.version, 1);
  gate.resolve();
  await committed;
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not answer an alias that a record has given up", async () => {
  const { cache, commit } = openCache();
  await cache.recordByAlias("worker", "t", "name");
  await commit(putting(version(2, "other")));
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
    tell() {},
    onNotice: () => () => {},
  }, { clock: new FakeClock() });
  const get = (id: string) => cache.record("worker", "t", id);
  for (let at = 1; at < 20_000; at++) await get(`wrk_${at}`);
  const both = [get("wrk_last"), get("wrk_last")];
  gate.resolve();
  await Promise.all(both);
  assert(!(get("wrk_1") instanceof Promise));
  assert(!(get("wrk_last") instanceof Promise));
});

Deno.test("RecordCache.record() reads a record again once it is old, and keeps the same object", async () => {
  const { source, cache, clock } = openCache();
  const first = await cache.record("worker", "t", "wrk_1");
  source.record_ = version(1);
  clock.advance(MAX_RECORD_AGE_MS - 1);
  assertStrictEquals(cache.record("worker", "t", "wrk_1"), first);
  clock.advance(1);
  const both = [
    cache.record("worker", "t", "wrk_1"),
    cache.recordByAlias("worker", "t", "name"),
  ];
  assert(both.every((one) => one instanceof Promise));
  for (const one of both) assertStrictEquals(await one, first);
  assertEquals([source.reads, cache.countChanges("worker")], [2, 0]);
  assertStrictEquals(cache.record("worker", "t", "wrk_1"), first);
  assertStrictEquals(cache.recordByAlias("worker", "t", "name"), first);
});

Deno.test("RecordCache finds changes that nobody told it of, and counts them", async () => {
  const { source, cache, clock } = openCache();
  await cache.record("worker", "t", "wrk_1");
  // Removed and made again, it has the version that it had.
  for (
    const next of [
      version(2),
      { ...version(2), text: "other" },
      { ...version(2), text: "other", parentId: "p" },
    ]
  ) {
    source.record_ = next;
    clock.advance(MAX_RECORD_AGE_MS);
    assertStrictEquals(await cache.record("worker", "t", "wrk_1"), next);
  }
  source.record_ = undefined;
  clock.advance(MAX_RECORD_AGE_MS);
  assertEquals(await cache.record("worker", "t", "wrk_1"), undefined);
  assertEquals(cache.recall("worker", "t", "wrk_1"), undefined);
  assertEquals(cache.countChanges("worker"), 4);
});

Deno.test("RecordCache fails where an old record cannot be read again", async () => {
  const { source, cache, clock } = openCache();
  await cache.record("worker", "t", "wrk_1");
  clock.advance(MAX_RECORD_AGE_MS);
  source.failsToRead = true;
  await assertRejects(async () => await cache.record("worker", "t", "wrk_1"));
  await assertRejects(async () =>
    await cache.recordByAlias("worker", "t", "name")
  );
  source.failsToRead = false;
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 1);
  assertEquals(source.reads, 4);
});

Deno.test("RecordCache shares no read that began longer ago than a record may be old", async () => {
  const { source, cache, clock } = openCache();
  await cache.record("worker", "t", "wrk_1");
  clock.advance(MAX_RECORD_AGE_MS);
  const gate = Promise.withResolvers<void>();
  source.gate = gate.promise;
  const slow = cache.record("worker", "t", "wrk_1");
  source.record_ = version(2);
  clock.advance(MAX_RECORD_AGE_MS);
  const next = cache.record("worker", "t", "wrk_1");
  gate.resolve();
  assertEquals((await slow)?.version, 1);
  assertEquals((await next)?.version, 2);
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache counts the age of a record from the beginning of its read", async () => {
  const { source, cache, clock } = openCache();
  const gate = Promise.withResolvers<void>();
  source.gate = gate.promise;
  const slow = cache.record("worker", "t", "wrk_1");
  clock.advance(MAX_RECORD_AGE_MS);
  gate.resolve();
  await slow;
  assert(cache.record("worker", "t", "wrk_1") instanceof Promise);
});

Deno.test("RecordCache does not answer by a read that began before a notice", async () => {
  const { source, cache, clock } = openCache();
  await cache.record("worker", "t", "wrk_1");
  clock.advance(MAX_RECORD_AGE_MS);
  const gate = Promise.withResolvers<void>();
  source.gate = gate.promise;
  const before = cache.record("worker", "t", "wrk_1");
  source.record_ = version(2);
  source.hear({
    ...{ kind: "record", recordKind: "worker", tenantId: "t", id: "wrk_1" },
  });
  const after = cache.record("worker", "t", "wrk_1");
  gate.resolve();
  assertEquals([(await before)?.version, (await after)?.version], [1, 2]);
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache finds the record that has taken over an alias elsewhere", async () => {
  const { store, commitAtOne, other, clock } = openTwo(() => "lost");
  const at = (
    id: string,
    alias: string | undefined,
    version: number,
  ): Write => ({
    kind: "record",
    recordKind: "tenant",
    tenantId: "",
    id,
    expectedVersion: version - 1,
    next: { kind: "tenant", tenantId: "", id, version, alias, text: id },
  });
  await store.commit([{ writes: [at("a", "acme", 1), at("b", "beta", 1)] }]);
  const ask = async (): Promise<string | undefined> =>
    (await other.recordByAlias("tenant", "", "acme"))?.id;
  assertEquals(await ask(), "a");
  await commitAtOne([{ writes: [at("a", "alpha", 2), at("b", "acme", 2)] }]);
  clock.advance(MAX_RECORD_AGE_MS);
  assertEquals(await ask(), "b");
});

Deno.test("RecordCache follows another instance at once, and within its age where notices are lost", async () => {
  for (const way of ["told", "lost", "gap"] as const) {
    const { commitAtOne, other, clock } = openTwo(() => way);
    await commitAtOne(putting(version(1), 0));
    const read = async (): Promise<number | undefined> =>
      (await other.record("worker", "t", "wrk_1"))?.version;
    assertEquals(await read(), 1);
    const changes = other.countChanges("worker");
    await commitAtOne(putting(version(2)));
    if (way === "lost") {
      clock.advance(MAX_RECORD_AGE_MS - 1);
      assertEquals(await read(), 1);
      clock.advance(1);
    }
    assertEquals(await read(), 2, way);
    assert(other.countChanges("worker") > changes, way);
  }
});

Deno.test("RecordCache tells of commits whose outcome is unknown, and of no conflict", async () => {
  const told: Notice[] = [];
  const { source, commit } = openCache();
  source.tell = (...of: readonly unknown[]) => {
    told.push(...of.flat() as Notice[]);
  };
  await commit([{
    writes: [{ kind: "usage", tenantId: "t", period: "", executions: 1 }],
  }]);
  assertEquals(told, []);
  source.fails = true;
  await assertRejects(() => commit(putting(version(2))));
  assertEquals(told.length, 1);
  const { commitAtOne, other } = openTwo(() => "told");
  await commitAtOne(putting(version(1), 0));
  const changes = other.countChanges("worker");
  await commitAtOne(putting(version(9), 8));
  assertEquals(other.countChanges("worker"), changes);
});

/** The caches of two instances on one store, whose notices may be lost. */
function openTwo(pick: () => "told" | "lost" | "gap") {
  const clock = new FakeClock();
  const store = createMemoryStore({ clock });
  const besides = createMemoryStore({ clock, besides: store });
  const telling: Store = {
    ...store,
    tell(notices) {
      const way = pick();
      if (way === "told") store.tell(notices);
      if (way === "gap") store.tell([{ kind: "gap" }]);
    },
  };
  const one = new RecordCache(telling, { clock });
  const commitAtOne: Commit = (transactions) =>
    one.commit(transactions, store.commit);
  const other = new RecordCache(besides, { clock });
  return { ...{ store, clock, one, other }, commitAtOne };
}
