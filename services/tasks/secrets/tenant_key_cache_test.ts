import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import type { SealingKey } from "./master_keys.ts";
import { createTenantKey } from "./tenant_key.ts";
import { TenantKeyCache } from "./tenant_key_cache.ts";
import { flipBit, ringOf } from "./testing/keys.ts";

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
