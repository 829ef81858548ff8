import { assertEquals } from "@std/assert";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";
import { callbackWorker, internalTenant, tenantOfInternal } from "./workers.ts";

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
