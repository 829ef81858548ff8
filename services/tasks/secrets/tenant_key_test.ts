import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { associatedData, seal, sealedKeyId } from "./envelope.ts";
import { MasterKeys, type SealingKey } from "./master_keys.ts";
import {
  createTenantKey,
  planRewrap,
  unwrapTenantKey,
  type WrappedKey,
} from "./tenant_key.ts";
import { createRing, flipBit, keyNamed } from "./testing/keys.ts";

const TENANT = "ten_1";

Deno.test("unwrapTenantKey() gives back the key that was made", () => {
  const options = { tenantId: TENANT, masterKeys: createRing("m1") };
  const { key, wrapped } = createTenantKey(options);
  assertEquals(key.secret.symmetricKeySize, 32);
  const outcome = unwrapTenantKey(wrapped, options);
  assert(outcome.kind === "ok");
  assertSameKey(outcome.key, key);
});

Deno.test("createTenantKey() makes another key with another id each time", () => {
  const options = { tenantId: TENANT, masterKeys: createRing("m1") };
  const keys = Array.from({ length: 50 }, () => createTenantKey(options).key);
  assertEquals(new Set(keys.map(({ id }) => id)).size, 50);
  assertEquals(new Set(keys.map(toHex)).size, 50);
});

Deno.test("unwrapTenantKey() fails for another tenant", () => {
  const masterKeys = createRing("m1");
  const { wrapped } = createTenantKey({ tenantId: TENANT, masterKeys });
  const outcome = unwrapTenantKey(wrapped, { tenantId: "ten_2", masterKeys });
  assertEquals(outcome, { kind: "tampered" });
});

Deno.test("unwrapTenantKey() fails with any bit flipped", () => {
  const options = { tenantId: TENANT, masterKeys: createRing("m1") };
  const { wrapped } = createTenantKey(options);
  const bits =
    Uint8Array.fromBase64(wrapped, { alphabet: "base64url" }).length * 8;
  for (let bit = 0; bit < bits; bit++) {
    const outcome = unwrapTenantKey(flipBit(wrapped, bit), options);
    assertNotEquals(outcome.kind, "ok", `bit ${bit}`);
  }
});

Deno.test("unwrapTenantKey() names the master key that is missing", () => {
  const { wrapped } = createTenantKey({
    tenantId: TENANT,
    masterKeys: createRing("lost"),
  });
  const outcome = unwrapTenantKey(wrapped, {
    tenantId: TENANT,
    masterKeys: createRing("m1", "m2"),
  });
  assertEquals(outcome, { kind: "wrong_key", keyId: "lost" });
});

Deno.test("unwrapTenantKey() accepts no key of another length", () => {
  const masterKeys = createRing("m1");
  for (const length of [0, 16, 31, 33]) {
    const wrapped = seal(
      new Uint8Array(length),
      masterKeys.current,
      associatedData(["tenant key", TENANT]),
    );
    const outcome = unwrapTenantKey(wrapped, { tenantId: TENANT, masterKeys });
    assertEquals(outcome, { kind: "tampered" });
  }
});

function toHex(key: SealingKey): string {
  return new Uint8Array(key.secret.export()).toHex();
}

function assertSameKey(actual: SealingKey, expected: SealingKey): void {
  assertEquals(actual.id, expected.id);
  assertEquals(toHex(actual), toHex(expected));
}

/** A tenant's key, and its stored form. */
function stored(
  masterKeys: MasterKeys,
  patch: Partial<WrappedKey> = {},
): { readonly record: WrappedKey; readonly key: SealingKey } {
  const { key, wrapped } = createTenantKey({ tenantId: TENANT, masterKeys });
  return {
    record: { tenantId: TENANT, id: "data", version: 1, wrapped, ...patch },
    key,
  };
}

Deno.test("planRewrap() wraps the same key by the current master key, once", () => {
  const old = keyNamed("k1");
  const ring = new MasterKeys(keyNamed("k2"), [old]);
  const { record, key } = stored(new MasterKeys(old));
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
  assertSameKey(opened.key, key);
  assertEquals(planRewrap(step.next, { masterKeys: ring }), {
    kind: "current",
  });
});

Deno.test("planRewrap() leaves a key that no master key opens as it is", () => {
  const { record } = stored(createRing("k1"));
  // The key is lost also when another master key has the same id.
  for (
    const masterKeys of [
      createRing("k2"),
      createRing("k2", "k1"),
      createRing("k1"),
    ]
  ) {
    assertEquals(planRewrap(record, { masterKeys }), {
      kind: "lost",
      masterKeyId: "k1",
      isReplaced: false,
    });
  }
  const ring = createRing("k1");
  const ofAnother = { ...stored(ring).record, tenantId: "ten_2" };
  assertEquals(planRewrap(ofAnother, { masterKeys: ring }).kind, "lost");
  const broken = { ...record, wrapped: "?" };
  assertEquals(planRewrap(broken, { masterKeys: createRing("k2") }), {
    kind: "lost",
    masterKeyId: undefined,
    isReplaced: false,
  });
});

Deno.test("planRewrap() replaces a lost key when told to, and keeps it", () => {
  const { record } = stored(createRing("k1"), { version: 4 });
  const masterKeys = createRing("k2");
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
  const ring = createRing("k2", "k1");
  const { record } = stored(ring);
  const options = { masterKeys: ring, replacesLost: true };
  assertEquals(planRewrap(record, options), { kind: "current" });
});
