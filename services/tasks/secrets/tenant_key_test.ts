import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { associatedData, seal, sealedKeyId } from "./envelope.ts";
import { MasterKeys, type SealingKey } from "./master_keys.ts";
import {
  createTenantKey,
  planRewrap,
  rewrapTenantKey,
  TenantKeyCache,
  unwrapTenantKey,
  type WrappedKey,
} from "./tenant_key.ts";
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

Deno.test("unwrapTenantKey() accepts no key of another length", () => {
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

Deno.test("TenantKeyCache.unwrap() unwraps a key once", () => {
  const masterKeys = ringOf("m1");
  const cache = new TenantKeyCache({ masterKeys });
  const { wrapped } = createTenantKey({ tenantId: "a", masterKeys });
  assertStrictEquals(
    keyFrom(cache, "a", wrapped),
    keyFrom(cache, "a", wrapped),
  );
});

Deno.test("TenantKeyCache.unwrap() follows the stored text", () => {
  const masterKeys = ringOf("m1");
  const cache = new TenantKeyCache({ masterKeys });
  const first = createTenantKey({ tenantId: "a", masterKeys });
  const second = createTenantKey({ tenantId: "a", masterKeys });
  assertEquals(keyFrom(cache, "a", first.wrapped).id, first.key.id);
  assertEquals(keyFrom(cache, "a", second.wrapped).id, second.key.id);
  assertNotEquals(first.key.id, second.key.id);
  assertEquals(cache.size, 1);
  const spoiled = flipBit(second.wrapped, 200);
  assertEquals(cache.unwrap("a", spoiled), { kind: "tampered" });
  assertEquals(cache.size, 0);
});

Deno.test("TenantKeyCache.unwrap() gives no tenant the key of another", () => {
  const masterKeys = ringOf("m1");
  const cache = new TenantKeyCache({ masterKeys });
  const { wrapped } = createTenantKey({ tenantId: "a", masterKeys });
  keyFrom(cache, "a", wrapped);
  assertEquals(cache.unwrap("b", wrapped), { kind: "tampered" });
});

Deno.test("TenantKeyCache holds the keys used last and no more than it may", () => {
  const masterKeys = ringOf("m1");
  const cache = new TenantKeyCache({ masterKeys, maxTenants: 3 });
  const wrapped = new Map(["a", "b", "c", "d"].map((tenantId) => [
    tenantId,
    createTenantKey({ tenantId, masterKeys }).wrapped,
  ]));
  const use = (tenantId: string) =>
    keyFrom(cache, tenantId, wrapped.get(tenantId) ?? "");
  const [a, b, c] = [use("a"), use("b"), use("c")];
  assertStrictEquals(use("a"), a);
  use("d");
  assertEquals(cache.size, 3);
  assertStrictEquals(use("a"), a);
  assertStrictEquals(use("c"), c);
  assert(use("b") !== b);
  assertEquals(cache.size, 3);
});

Deno.test("TenantKeyCache.forget() lets go of a key", () => {
  const masterKeys = ringOf("m1");
  const cache = new TenantKeyCache({ masterKeys });
  const { wrapped } = createTenantKey({ tenantId: "a", masterKeys });
  keyFrom(cache, "a", wrapped);
  cache.forget("a");
  cache.forget("a");
  assertEquals(cache.size, 0);
});

Deno.test("TenantKeyCache refuses to hold nothing", () => {
  for (const maxTenants of [0, -1, NaN]) {
    assertThrows(
      () => new TenantKeyCache({ masterKeys: ringOf("m1"), maxTenants }),
      RangeError,
      "positive whole number",
    );
  }
});

function keyFrom(
  cache: TenantKeyCache,
  ...[tenantId, wrapped]: [string, string]
): SealingKey {
  const outcome = cache.unwrap(tenantId, wrapped);
  assert(outcome.kind === "ok", outcome.kind);
  return outcome.key;
}

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
