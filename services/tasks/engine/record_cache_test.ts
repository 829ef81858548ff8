import { assert, assertEquals, assertRejects } from "@std/assert";
import type { StoredRecord } from "../store/record.ts";
import type { Transaction, TransactionResult } from "../store/store.ts";
import { RecordCache, type RecordSource } from "./record_cache.ts";

/** A source of one record, whose reads can be held up. */
class SlowSource implements RecordSource {
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

function open(): { readonly source: SlowSource; readonly cache: RecordCache } {
  const source = new SlowSource();
  source.record_ = version(1);
  return { source, cache: new RecordCache(source) };
}

Deno.test("RecordCache reads a record once", async () => {
  const { source, cache } = open();
  await cache.record("worker", "t", "wrk_1");
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 1);
  assertEquals((await cache.recordByAlias("worker", "t", "name"))?.version, 1);
  assertEquals(source.reads, 1);
});

Deno.test("RecordCache forgets what is committed through it", async () => {
  const { source, cache } = open();
  await cache.record("worker", "t", "wrk_1");
  await cache.commit(putting(version(2)));
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
  await cache.commit(putting(undefined));
  assertEquals(await cache.record("worker", "t", "wrk_1"), undefined);
  assertEquals(source.reads, 3);
});

Deno.test("RecordCache forgets also when the answer of a commit was lost", async () => {
  const { source, cache } = open();
  await cache.record("worker", "t", "wrk_1");
  source.fails = true;
  await assertRejects(() => cache.commit(putting(version(2))));
  assertEquals((await cache.record("worker", "t", "wrk_1"))?.version, 2);
});

Deno.test("RecordCache does not keep what was read before a commit and answered after it", async () => {
  const { source, cache } = open();
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
  const { source, cache } = open();
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
  const { cache } = open();
  await cache.recordByAlias("worker", "t", "name");
  await cache.commit(putting(version(2, "other")));
  await cache.record("worker", "t", "wrk_1");
  assertEquals(await cache.recordByAlias("worker", "t", "name"), undefined);
  assertEquals((await cache.recordByAlias("worker", "t", "other"))?.version, 2);
});

Deno.test("RecordCache keeps the records of tenants apart", async () => {
  const { source, cache } = open();
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
