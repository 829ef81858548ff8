import { assertEquals } from "@std/assert";
import type { Tenant } from "../domain/records.ts";
import { AuditTrimmer } from "./audit_trimmer.ts";
import { openTestEngine } from "./testing/test_engine.ts";

const DAY_MS = 86_400_000;

Deno.test("AuditTrimmer removes entries that are older than the plan keeps them, page by page", async () => {
  const { parts, clock, store } = await openTestEngine({
    limits: { auditRetentionMs: 30 * DAY_MS },
  });
  const { repositories } = parts;
  const tenants = ["ten_a", "ten_b"];
  for (const id of tenants) {
    const tenant: Tenant = {
      ...{ id, version: 1, domain: id, plan: "test", timezone: "UTC" },
      ...{ status: "active", createdAtMs: 0, updatedAtMs: 0 },
    };
    await store.commit([{ writes: [repositories.tenants.insert(tenant)] }]);
  }
  const startMs = clock.nowMs();
  const note = async (tenantId: string, atMs: number): Promise<void> => {
    const entry = { atMs, action: "worker.created", text: "{}" };
    await store.commit([{ writes: [{ kind: "audit", tenantId, entry }] }]);
  };
  for (let day = 0; day < 40; day++) {
    for (const id of tenants) await note(id, startMs + day * DAY_MS);
  }
  for (let index = 0; index < 2_500; index++) await note("ten_c", startMs);
  const left = async (tenantId: string): Promise<number> =>
    (await store.audit({ tenantId, limit: 9_999 })).length;

  const trimmer = new AuditTrimmer(parts);
  trimmer.start();
  await clock.advance(DAY_MS);
  assertEquals([await left("ten_a"), await left("ten_b")], [40, 40]);
  await clock.advance(39 * DAY_MS);
  assertEquals([await left("ten_a"), await left("ten_b")], [30, 30]);
  // It is no tenant, so nothing says how long its entries are kept.
  assertEquals(await left("ten_c"), 2_500);
  await clock.advance(400 * DAY_MS);
  assertEquals([await left("ten_a"), await left("ten_b")], [1, 1]);
  await trimmer.stop();
});
