import { assertEquals } from "@std/assert";
import {
  callbackWorker,
  internalTenant,
  Liveness,
  tenantOfInternal,
} from "./workers.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("Workers.find() finds a worker by id or by name in any case, of its tenant alone", async () => {
  const { parts, worker } = await openTestEngine();
  const mailer = await worker({ name: "Mailer" });
  for (const name of [mailer.id, "mailer", "MAILER"]) {
    assertEquals((await parts.workers.find(TENANT_ID, name))?.id, mailer.id);
    assertEquals(await parts.workers.find("ten_other", name), undefined);
  }
});

Deno.test("Workers.get() gives the service's own worker to no tenant", async () => {
  const { parts } = await openTestEngine();
  const own = callbackWorker(TENANT_ID);
  const internal = internalTenant(TENANT_ID);
  assertEquals(tenantOfInternal(internal), TENANT_ID);
  assertEquals(tenantOfInternal(TENANT_ID), undefined);
  assertEquals((await parts.workers.get(internal, own.id))?.isInternal, true);
  assertEquals(await parts.workers.get(TENANT_ID, own.id), undefined);
  assertEquals(await parts.workers.get(internal, "wrk_other"), undefined);
});

const WORKER = { tenantId: "t", workerId: "w" };

Deno.test("Liveness remembers when a worker and its instances were seen", () => {
  const liveness = new Liveness();
  assertEquals(liveness.of(WORKER), undefined);
  liveness.seen(WORKER, { nowMs: 1 });
  liveness.seen(WORKER, { nowMs: 2, instance: "a" });
  liveness.seen(WORKER, { nowMs: 3, instance: "b" });
  liveness.seen({ ...WORKER, tenantId: "u" }, { nowMs: 9 });
  const life = liveness.of(WORKER);
  assertEquals(life?.lastSeenAtMs, 3);
  assertEquals([...life?.instances ?? []], [["a", 2], ["b", 3]]);
});

Deno.test("Liveness keeps the instances that were seen last", () => {
  const liveness = new Liveness();
  for (let index = 0; index < 100; index++) {
    liveness.seen(WORKER, { nowMs: index, instance: `i${index}` });
  }
  liveness.seen(WORKER, { nowMs: 100, instance: "i0" });
  liveness.seen(WORKER, { nowMs: 101, instance: "new" });
  const instances = new Map(liveness.of(WORKER)?.instances);
  assertEquals(instances.size, 100);
  assertEquals([instances.has("i0"), instances.has("i1")], [true, false]);
});

Deno.test("Liveness keeps the workers that were seen last", () => {
  const liveness = new Liveness();
  liveness.seen(WORKER, { nowMs: 0 });
  for (let index = 1; index < 10_000; index++) {
    liveness.seen({ tenantId: "t", workerId: `${index}` }, { nowMs: index });
  }
  liveness.seen(WORKER, { nowMs: 10_000 });
  liveness.seen({ tenantId: "t", workerId: "new" }, { nowMs: 10_001 });
  assertEquals(liveness.of(WORKER)?.lastSeenAtMs, 10_000);
  assertEquals(liveness.of({ tenantId: "t", workerId: "1" }), undefined);
});
