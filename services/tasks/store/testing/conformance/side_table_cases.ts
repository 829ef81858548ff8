/**
 * Conformance tests of idempotency entries, usage counts, the audit log and
 * sweeping.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import type { IdempotencyEntry, Write } from "../../store.ts";
import {
  collectCases,
  commitEach,
  commitTransaction,
  type StoreCase,
} from "./store_case.ts";

const TENANT = "tnt_a";
const FAR_MS = Date.UTC(2090, 0, 1);

/** The tests of what is stored besides tasks and records. */
export function sideTableCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("remembers an answer until it expires", async (store) => {
      const first = entry({ headers: { location: "/ä" }, body: '{"a":"😀"}' });
      await commitEach(store, remember("k", first));
      assertEquals(await store.idempotency(TENANT, "k", FAR_MS - 1), first);
      assertEquals(await store.idempotency(TENANT, "k", FAR_MS), undefined);
      assertEquals(await store.idempotency(TENANT, "K", 0), undefined);
      assertEquals(await store.idempotency("tnt_b", "k", 0), undefined);
      assertEquals(
        await commitTransaction(store, remember("k", entry({ status: 409 }))),
        { kind: "conflict", write: 0, reason: "idempotency" },
      );
      assertEquals(await store.idempotency(TENANT, "k", 0), first);
      await commitEach(store, {
        ...remember("k", entry({ status: 202 })),
        tenantId: "tnt_b",
      });
    });

    check("takes a key again whose answer has expired", async (store) => {
      await commitEach(store, remember("k", entry({ expiresAtMs: 1_000 })));
      const second = entry({ status: 202 });
      await commitEach(store, remember("k", second));
      assertEquals(await store.idempotency(TENANT, "k", 1_000), second);
      assertEquals(
        (await commitTransaction(store, remember("k", entry({}))))?.kind,
        "conflict",
      );
    });

    check(
      "puts an answer in the place of another one when told so",
      async (store) => {
        const later = entry({ status: 200, body: "done" });
        const replacing = { ...remember("k", later), replaces: true };
        await commitEach(store, replacing);
        assertEquals(await store.idempotency(TENANT, "k", 0), later);
        await commitEach(store, remember("other", entry({ status: 409 })));
        const last = entry({ status: 202 });
        await commitEach(store, { ...remember("k", last), replaces: true });
        assertEquals(await store.idempotency(TENANT, "k", 0), last);
        assertEquals(
          (await store.idempotency(TENANT, "other", 0))?.status,
          409,
        );
        assertEquals(
          await commitTransaction(store, remember("k", entry({}))),
          { kind: "conflict", write: 0, reason: "idempotency" },
        );
      },
    );

    check("sweeps what has expired and nothing else", async (store) => {
      for (let index = 0; index < 10; index++) {
        const expiresAtMs = index % 2 === 0 ? 1_000 + index : FAR_MS;
        await commitEach(store, remember(`k${index}`, entry({ expiresAtMs })));
      }
      assertEquals(await store.sweep(999, 100), 0);
      assertEquals(await store.sweep(1_004, 2), 2);
      assertEquals(await store.sweep(1_004, 2), 1);
      assertEquals(await store.sweep(1_004, 2), 0);
      assertEquals(await store.sweep(FAR_MS - 1, 100), 2);
      assertEquals(
        (await store.idempotency(TENANT, "k1", 0))?.expiresAtMs,
        FAR_MS,
      );
      assertEquals(await store.sweep(FAR_MS, 100), 5);
    });

    check("counts use by tenant and period", async (store) => {
      assertEquals(await store.usage(TENANT, "2026-06"), { executions: 0 });
      await commitTransaction(store, use(1), use(2));
      await commitEach(store, use(4), { ...use(8), period: "2026-07" }, {
        ...use(16),
        tenantId: "tnt_b",
      });
      await Promise.all(
        Array.from({ length: 20 }, () => commitTransaction(store, use(100))),
      );
      assertEquals(await store.usage(TENANT, "2026-06"), {
        executions: 2_007,
      });
      assertEquals(await store.usage(TENANT, "2026-07"), { executions: 8 });
      assertEquals(await store.usage("tnt_b", "2026-06"), { executions: 16 });
    });

    check("numbers the audit log of each tenant", async (store) => {
      for (let index = 0; index < 7; index++) {
        await commitTransaction(store, audit(`a${index}`), audit(`b${index}`));
        await commitTransaction(store, {
          ...audit("other"),
          tenantId: "tnt_b",
        });
      }
      const all = await store.audit({ tenantId: TENANT, limit: 100 });
      assertEquals(all.length, 14);
      const rising = all.toReversed();
      assertEquals(
        rising.map(({ action }) => action),
        Array.from({ length: 7 }, (_, index) => [`a${index}`, `b${index}`])
          .flat(),
      );
      for (const [index, { number }] of rising.entries()) {
        assertEquals(number > (rising[index - 1]?.number ?? 0), true);
      }
      assertEquals(all[0]?.atMs, 5);
      assertEquals(all[0]?.text, '{"who":"ä"}');
      const page = await store.audit({ tenantId: TENANT, limit: 5 });
      assertEquals(page, all.slice(0, 5));
      const before = page.at(-1)?.number ?? 0;
      assertEquals(
        await store.audit({ tenantId: TENANT, limit: 5, before }),
        all.slice(5, 10),
      );
      assertEquals(
        (await store.audit({ tenantId: "tnt_b", limit: 100 })).length,
        7,
      );
    });

    check(
      "removes old entries of an audit log, but not the last",
      async (store) => {
        const trim = (beforeMs: number, limit = 100): Promise<number> =>
          store.trimAudit({ tenantId: TENANT, beforeMs, limit });
        assertEquals(await trim(FAR_MS), 0);
        for (const atMs of [10, 20, 15, 30, 40]) {
          await commitTransaction(store, audit("a", atMs));
          await commitTransaction(store, {
            ...audit("other", atMs),
            tenantId: "tnt_b",
          });
        }
        const times = async (): Promise<readonly number[]> =>
          (await store.audit({ tenantId: TENANT, limit: 9 }))
            .map(({ atMs }) => atMs);
        assertEquals([await trim(10), await trim(21, 1)], [0, 1]);
        assertEquals(await times(), [40, 30, 15, 20]);
        assertEquals([await trim(21), await trim(21)], [2, 0]);
        assertEquals(await times(), [40, 30]);
        assertEquals([await trim(FAR_MS), await trim(FAR_MS)], [1, 0]);
        await commitTransaction(store, audit("a", 50));
        const left = await store.audit({ tenantId: TENANT, limit: 9 });
        assertEquals(left.map(({ number }) => number), [6, 5]);
        const others = await store.audit({ tenantId: "tnt_b", limit: 9 });
        assertEquals(others.length, 5);
      },
    );
  });
}

function entry(over: Partial<IdempotencyEntry>): IdempotencyEntry {
  return {
    bodyHash: "hash",
    status: 201,
    headers: {},
    body: "{}",
    expiresAtMs: FAR_MS,
    ...over,
  };
}

function remember(
  key: string,
  of: IdempotencyEntry,
): Extract<Write, { kind: "idempotency" }> {
  return { kind: "idempotency", tenantId: TENANT, key, entry: of };
}

function use(executions: number): Extract<Write, { kind: "usage" }> {
  return { kind: "usage", tenantId: TENANT, period: "2026-06", executions };
}

function audit(
  action: string,
  atMs = 5,
): Extract<Write, { kind: "audit" }> {
  const text = '{"who":"ä"}';
  return { kind: "audit", tenantId: TENANT, entry: { atMs, action, text } };
}
