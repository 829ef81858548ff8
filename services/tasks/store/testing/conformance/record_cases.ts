/**
 * Conformance tests of records: versions, aliases, parents and pages.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { StoredRecord, Write } from "../../store.ts";
import {
  collectCases,
  commitEach,
  commitTransaction,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";

/** The tests of records. */
export function recordCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("keeps, changes and removes records", async (store) => {
      const first = record({ parentId: "wrk_1", alias: "ä", text: '"😀"' });
      await commitEach(store, put(first));
      assertEquals(await store.record("user", TENANT, "usr_1"), first);
      const second = record({ version: 2, text: "[]" });
      await commitEach(store, put(second));
      assertEquals(await store.record("user", TENANT, "usr_1"), second);
      await commitEach(store, take(second));
      assertEquals(await store.record("user", TENANT, "usr_1"), undefined);
      await commitEach(store, put(first));
      assertEquals(await store.record("user", TENANT, "usr_1"), first);
    });

    check("keeps large records", async (store) => {
      const large = record({ text: JSON.stringify("x".repeat(2_000_000)) });
      await commitEach(store, put(large));
      assertEquals(await store.record("user", TENANT, "usr_1"), large);
    });

    check("demands the version of a record that is there", async (store) => {
      const conflict = { kind: "conflict", write: 0, reason: "version" };
      const first = record({});
      assertEquals(
        await commitTransaction(store, put({ ...first, version: 2 })),
        conflict as unknown,
      );
      assertEquals(
        await commitTransaction(store, take(first)),
        conflict as unknown,
      );
      await commitEach(store, put(first));
      for (const write of [put(first), put({ ...first, version: 3 })]) {
        assertEquals(
          await commitTransaction(store, write),
          conflict as unknown,
        );
      }
      assertEquals(
        await commitTransaction(store, take({ ...first, version: 2 })),
        conflict as unknown,
      );
      assertEquals(await store.record("user", TENANT, "usr_1"), first);
    });

    check("finds records by an alias that is unique", async (store) => {
      const first = record({ alias: "a@example.com" });
      await commitEach(
        store,
        put(first),
        put(record({ alias: "a@example.com", kind: "worker" })),
        put(record({ alias: "a@example.com", tenantId: "tnt_b" })),
      );
      assertEquals(
        await store.recordByAlias("user", TENANT, "a@example.com"),
        first,
      );
      const find = (alias: string) =>
        store.recordByAlias("user", TENANT, alias);
      assertEquals(await find("A@example.com"), undefined);
      const rival = record({ id: "usr_2", alias: "a@example.com" });
      const conflict = { kind: "conflict", write: 0, reason: "alias" };
      assertEquals(
        await commitTransaction(store, put(rival)),
        conflict as unknown,
      );
      const other = { ...rival, alias: "b@example.com" };
      await commitEach(store, put(other));
      assertEquals(
        await commitTransaction(store, put({ ...rival, version: 2 })),
        conflict as unknown,
      );
      assertEquals(await find("b@example.com"), other);
      const renamed = { ...first, version: 2, alias: "c@example.com" };
      await commitEach(store, put(renamed), put({ ...rival, version: 2 }));
      assertEquals(await find("a@example.com"), { ...rival, version: 2 });
      await commitEach(store, take(renamed));
      assertEquals(await find("c@example.com"), undefined);
    });

    check("pages through records by id", async (store) => {
      const all = Array.from(
        { length: 25 },
        (_, index) =>
          record({
            id: `usr_${String(index * 7 % 25).padStart(2, "0")}`,
            parentId: `wrk_${index * 7 % 25 % 3}`,
          }),
      ).sort((left, right) => left.id < right.id ? -1 : 1);
      await commitEach(
        store,
        ...all.map(put),
        put(record({ id: "usr_05", tenantId: "tnt_b" })),
        put(record({ id: "usr_05", kind: "key" })),
      );
      const query = { kind: "user", tenantId: TENANT, limit: 10 } as const;
      assertEquals(await store.records(query), {
        records: all.slice(0, 10),
        hasMore: true,
      });
      assertEquals(await store.records({ ...query, afterId: "usr_09" }), {
        records: all.slice(10, 20),
        hasMore: true,
      });
      assertEquals(await store.records({ ...query, afterId: "usr_19" }), {
        records: all.slice(20),
        hasMore: false,
      });
      const ofParent = all.filter(({ parentId }) => parentId === "wrk_1");
      const parent = { ...query, parentId: "wrk_1", limit: ofParent.length };
      assertEquals(await store.records(parent), {
        records: ofParent,
        hasMore: false,
      });
      assertEquals(
        await store.records({
          ...parent,
          limit: 3,
          afterId: ofParent[1]?.id ?? "",
        }),
        { records: ofParent.slice(2, 5), hasMore: true },
      );
    });

    check("demands that required records are there", async (store) => {
      const require: Write = {
        kind: "require",
        recordKind: "user",
        tenantId: TENANT,
        id: "usr_1",
      };
      const missing = { kind: "conflict", write: 0, reason: "missing" };
      assertEquals(await commitTransaction(store, require), missing as unknown);
      const first = record({});
      await commitEach(
        store,
        put(record({ tenantId: "tnt_b" })),
        put(record({ kind: "key" })),
      );
      assertEquals(await commitTransaction(store, require), missing as unknown);
      assertEquals(await commitTransaction(store, put(first), require), {
        kind: "ok",
      });
      assertEquals(await commitTransaction(store, require), { kind: "ok" });
      assertEquals(
        await commitTransaction(store, take(first), require),
        { kind: "conflict", write: 1, reason: "missing" },
      );
      const transactions = [
        { writes: [require] },
        { writes: [take(first)] },
        {
          writes: [require],
        },
        { writes: [put(first)] },
        { writes: [require] },
      ];
      assertEquals(
        (await store.commit(transactions)).map(({ kind }) => kind),
        ["ok", "ok", "conflict", "ok", "ok"],
      );
    });

    check(
      "keeps the registry of tenants under the empty tenant",
      async (store) => {
        const tenant = record({
          kind: "tenant",
          tenantId: "",
          id: "tnt_a",
          alias: "acme",
        });
        await commitEach(store, put(tenant));
        assertEquals(await store.recordByAlias("tenant", "", "acme"), tenant);
        assertEquals(await store.record("tenant", "tnt_a", "tnt_a"), undefined);
      },
    );
  });
}

function record(over: Partial<StoredRecord>): StoredRecord {
  return {
    kind: "user",
    tenantId: TENANT,
    id: "usr_1",
    version: 1,
    alias: undefined,
    parentId: undefined,
    text: "{}",
    ...over,
  };
}

function put(next: StoredRecord): Write {
  return {
    kind: "record",
    recordKind: next.kind,
    tenantId: next.tenantId,
    id: next.id,
    expectedVersion: next.version - 1,
    next,
  };
}

function take(there: StoredRecord): Write {
  return {
    kind: "record",
    recordKind: there.kind,
    tenantId: there.tenantId,
    id: there.id,
    expectedVersion: there.version,
    next: undefined,
  };
}
