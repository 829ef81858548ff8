import { assert, assertEquals } from "@std/assert";
import { sealedKeyId } from "./envelope.ts";
import { MasterKeys } from "./master_keys.ts";
import { planRewrap, type WrappedKey } from "./rewrap_plan.ts";
import { createTenantKey, unwrapTenantKey } from "./tenant_key.ts";
import { keyNamed, ringOf } from "./testing/keys.ts";

const TENANT = "ten_1";

/** A tenant's key as it is stored, and its id. */
function stored(
  masterKeys: MasterKeys,
  patch: Partial<WrappedKey> = {},
): { readonly record: WrappedKey; readonly keyId: string } {
  const { key, wrapped } = createTenantKey({ tenantId: TENANT, masterKeys });
  return {
    record: { tenantId: TENANT, id: "data", version: 1, wrapped, ...patch },
    keyId: key.id,
  };
}

Deno.test("planRewrap() wraps the same key by the current master key, once", () => {
  const old = keyNamed("k1");
  const ring = new MasterKeys(keyNamed("k2"), [old]);
  const { record, keyId } = stored(new MasterKeys(old));
  const step = planRewrap(record, { masterKeys: ring });
  assert(step.kind === "rewrapped");
  assertEquals([step.next.id, step.next.version], ["data", 2]);
  assertEquals(sealedKeyId(step.next.wrapped), "k2");
  const alone = new MasterKeys(ring.current);
  const opened = unwrapTenantKey(step.next.wrapped, {
    tenantId: TENANT,
    masterKeys: alone,
  });
  assert(opened.kind === "ok");
  assertEquals(opened.key.id, keyId);
  assertEquals(planRewrap(step.next, { masterKeys: ring }), {
    kind: "current",
  });
});

Deno.test("planRewrap() leaves a key that no master key opens as it is", () => {
  const { record } = stored(ringOf("k1"));
  // Also when there is another master key of that name.
  for (const masterKeys of [ringOf("k2"), ringOf("k2", "k1"), ringOf("k1")]) {
    assertEquals(planRewrap(record, { masterKeys }), {
      kind: "lost",
      masterKeyId: "k1",
      isReplaced: false,
    });
  }
  const broken = { ...record, wrapped: "?" };
  assertEquals(planRewrap(broken, { masterKeys: ringOf("k2") }), {
    kind: "lost",
    masterKeyId: undefined,
    isReplaced: false,
  });
});

Deno.test("planRewrap() replaces a lost key when told to, and keeps it", () => {
  const { record } = stored(ringOf("k1"), { version: 4 });
  const masterKeys = ringOf("k2");
  const options = { masterKeys, replacesLost: true };
  const step = planRewrap(record, options);
  assert(step.kind === "replaced");
  assertEquals(step.kept, { ...record, id: "data.4", version: 1 });
  assertEquals([step.next.id, step.next.version], ["data", 5]);
  const opened = unwrapTenantKey(step.next.wrapped, {
    tenantId: TENANT,
    masterKeys,
  });
  assertEquals(opened.kind, "ok");
  assertEquals(planRewrap(step.next, options), { kind: "current" });
  assertEquals(planRewrap(step.kept, options), {
    kind: "lost",
    masterKeyId: "k1",
    isReplaced: true,
  });
});

Deno.test("planRewrap() replaces no key that opens", () => {
  const ring = ringOf("k2", "k1");
  const { record } = stored(ring);
  const options = { masterKeys: ring, replacesLost: true };
  assertEquals(planRewrap(record, options), { kind: "current" });
});
