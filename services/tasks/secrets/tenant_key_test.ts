import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { sealedKeyId } from "./envelope.ts";
import { MasterKeys, type SealingKey } from "./master_keys.ts";
import {
  createTenantKey,
  rewrapTenantKey,
  unwrapTenantKey,
} from "./tenant_key.ts";
import { seal } from "./envelope.ts";
import { associatedData } from "./associated_data.ts";
import { flipBit, keyNamed, ringOf } from "./testing/keys.ts";

const TENANT = "ten_1";

Deno.test("unwrapTenantKey() gives back the key that was made", () => {
  const options = { tenantId: TENANT, masterKeys: ringOf("m1") };
  const { key, wrapped } = createTenantKey(options);
  assertEquals(key.secret.symmetricKeySize, 32);
  const outcome = unwrapTenantKey(wrapped, options);
  assert(outcome.kind === "ok");
  assertSameKey(outcome.key, key);
});

Deno.test("createTenantKey() makes another key with another id each time", () => {
  const options = { tenantId: TENANT, masterKeys: ringOf("m1") };
  const keys = Array.from({ length: 50 }, () => createTenantKey(options).key);
  assertEquals(new Set(keys.map(({ id }) => id)).size, 50);
  assertEquals(new Set(keys.map(hexOf)).size, 50);
});

Deno.test("unwrapTenantKey() fails for another tenant", () => {
  const masterKeys = ringOf("m1");
  const { wrapped } = createTenantKey({ tenantId: TENANT, masterKeys });
  const outcome = unwrapTenantKey(wrapped, { tenantId: "ten_2", masterKeys });
  assertEquals(outcome, { kind: "tampered" });
});

Deno.test("unwrapTenantKey() fails with any bit flipped", () => {
  const options = { tenantId: TENANT, masterKeys: ringOf("m1") };
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
    masterKeys: ringOf("lost"),
  });
  const outcome = unwrapTenantKey(wrapped, {
    tenantId: TENANT,
    masterKeys: ringOf("m1", "m2"),
  });
  assertEquals(outcome, { kind: "wrong_key", keyId: "lost" });
});

Deno.test("unwrapTenantKey() takes no key of another length", () => {
  const masterKeys = ringOf("m1");
  for (const length of [0, 16, 31, 33]) {
    const wrapped = seal(new Uint8Array(length), {
      key: masterKeys.current,
      associatedData: associatedData(["tenant key", TENANT]),
    });
    const outcome = unwrapTenantKey(wrapped, { tenantId: TENANT, masterKeys });
    assertEquals(outcome, { kind: "tampered" });
  }
});

Deno.test("rewrapTenantKey() wraps the same key by the current master key", () => {
  const old = keyNamed("old");
  const { key, wrapped } = createTenantKey({
    tenantId: TENANT,
    masterKeys: new MasterKeys(old),
  });
  const current = keyNamed("new");
  const both = { tenantId: TENANT, masterKeys: new MasterKeys(current, [old]) };
  const outcome = rewrapTenantKey(wrapped, both);
  assert(outcome.kind === "rewrapped");
  assertEquals(sealedKeyId(outcome.wrapped), "new");
  // The old master key can go now.
  const unwrapped = unwrapTenantKey(outcome.wrapped, {
    tenantId: TENANT,
    masterKeys: new MasterKeys(current),
  });
  assert(unwrapped.kind === "ok");
  assertSameKey(unwrapped.key, key);
  assertEquals(rewrapTenantKey(outcome.wrapped, both), { kind: "current" });
});

Deno.test("rewrapTenantKey() fails for what doesn't open", () => {
  const masterKeys = ringOf("m1");
  const options = { tenantId: TENANT, masterKeys };
  const { wrapped } = createTenantKey(options);
  const other = { tenantId: "ten_2", masterKeys };
  assertEquals(rewrapTenantKey(wrapped, other), { kind: "tampered" });
  assertEquals(
    rewrapTenantKey(wrapped, { tenantId: TENANT, masterKeys: ringOf("m2") }),
    { kind: "wrong_key", keyId: "m1" },
  );
});

function hexOf(key: SealingKey): string {
  return new Uint8Array(key.secret.export()).toHex();
}

function assertSameKey(actual: SealingKey, expected: SealingKey): void {
  assertEquals(actual.id, expected.id);
  assertEquals(hexOf(actual), hexOf(expected));
}
