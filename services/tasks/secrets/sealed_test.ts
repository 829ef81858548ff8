import {
  assert,
  assertEquals,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { MasterKeys } from "./master_keys.ts";
import { openSecret, sealSecret, type SecretRow } from "./sealed.ts";
import {
  createTenantKey,
  rewrapTenantKey,
  unwrapTenantKey,
} from "./tenant_key.ts";
import { flipBit, keyNamed } from "./testing/keys.ts";

const ROW: SecretRow = {
  tenantId: "ten_1",
  workerId: "wrk_1",
  name: "API_KEY",
  version: 3,
};

Deno.test("openSecret() gives back the value", () => {
  const key = keyNamed("t1");
  for (
    const value of ["x", "pässwörd", "\uFEFFmark", "\0\n\r", "🔑".repeat(4_096)]
  ) {
    const sealed = sealSecret(value, { row: ROW, key });
    assertEquals(openSecret(sealed, { row: ROW, key }), { kind: "ok", value });
  }
});

Deno.test("sealSecret() gives another text for the same value each time", () => {
  const options = { row: ROW, key: keyNamed("t1") };
  assertNotEquals(sealSecret("same", options), sealSecret("same", options));
});

Deno.test("openSecret() fails for what was moved to another row", () => {
  const key = keyNamed("t1");
  const sealed = sealSecret("value", { row: ROW, key });
  const rows: SecretRow[] = [
    { ...ROW, tenantId: "ten_2" },
    { ...ROW, workerId: "wrk_2" },
    { ...ROW, name: "API_KEYS" },
    { ...ROW, name: "API_KE" },
    { ...ROW, version: 2 },
    { ...ROW, version: 4 },
    { ...ROW, version: 33 },
    { ...ROW, tenantId: ROW.workerId, workerId: ROW.tenantId },
  ];
  for (const row of rows) {
    assertEquals(openSecret(sealed, { row, key }), { kind: "tampered" });
  }
});

Deno.test("openSecret() fails between rows whose parts joined are the same", () => {
  const key = keyNamed("t1");
  const row = { ...ROW, tenantId: "a|b", workerId: "c" };
  const sealed = sealSecret("value", { row, key });
  const other = { ...ROW, tenantId: "a", workerId: "b|c" };
  assertEquals(openSecret(sealed, { row: other, key }), { kind: "tampered" });
});

Deno.test("openSecret() fails with any bit flipped", () => {
  const key = keyNamed("t1");
  const sealed = sealSecret("value of it", { row: ROW, key });
  const bits = Uint8Array.fromBase64(sealed, { alphabet: "base64url" }).length *
    8;
  for (let bit = 0; bit < bits; bit++) {
    const outcome = openSecret(flipBit(sealed, bit), { row: ROW, key });
    assertNotEquals(outcome.kind, "ok", `bit ${bit}`);
  }
});

Deno.test("openSecret() doesn't take a wrapped key for a secret", () => {
  const key = keyNamed("m1");
  const { wrapped } = createTenantKey({
    tenantId: ROW.tenantId,
    masterKeys: new MasterKeys(key),
  });
  assertEquals(openSecret(wrapped, { row: ROW, key }), { kind: "tampered" });
});

Deno.test("openSecret() opens old secrets after the master key was changed", () => {
  const old = keyNamed("old");
  const before = { tenantId: ROW.tenantId, masterKeys: new MasterKeys(old) };
  const { key, wrapped } = createTenantKey(before);
  const sealed = sealSecret("value", { row: ROW, key });
  const current = keyNamed("new");
  const rewrapped = rewrapTenantKey(wrapped, {
    tenantId: ROW.tenantId,
    masterKeys: new MasterKeys(current, [old]),
  });
  assert(rewrapped.kind === "rewrapped");
  const unwrapped = unwrapTenantKey(rewrapped.wrapped, {
    tenantId: ROW.tenantId,
    masterKeys: new MasterKeys(current),
  });
  assert(unwrapped.kind === "ok");
  const outcome = openSecret(sealed, { row: ROW, key: unwrapped.key });
  assertEquals(outcome, { kind: "ok", value: "value" });
});

Deno.test("openSecret() opens nothing once the tenant's key is destroyed", () => {
  const options = {
    tenantId: ROW.tenantId,
    masterKeys: new MasterKeys(keyNamed("m1")),
  };
  const shredded = createTenantKey(options).key;
  const sealed = sealSecret("value", { row: ROW, key: shredded });
  // With all master keys there is still nothing but another key to be had.
  const { key } = createTenantKey(options);
  assertEquals(openSecret(sealed, { row: ROW, key }), {
    kind: "wrong_key",
    keyId: shredded.id,
  });
  const disguised = { ...key, id: shredded.id };
  assertEquals(openSecret(sealed, { row: ROW, key: disguised }), {
    kind: "tampered",
  });
});

Deno.test("sealSecret() refuses half a surrogate pair", () => {
  const key = keyNamed("t1");
  assertThrows(
    () => sealSecret("a\udc00", { row: ROW, key }),
    TypeError,
    "no valid Unicode",
  );
});
