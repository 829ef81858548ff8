import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createAccessToken, readAccessToken } from "./access_token.ts";
import { isSignedBy } from "./cryptography.ts";
import { delegateKeyToPublicKey } from "./private_key.ts";

const KEY = "07".repeat(32);
const CLOCK = {
  nowMs: () => 1_800_000_000_999,
  setTimer: () => ({ cancel() {} }),
};
const BASE = { key: KEY, accountId: "0xa11ce", clock: CLOCK } as const;

Deno.test("createAccessToken() signs what the token permits", async () => {
  const made = await createAccessToken({
    ...BASE,
    access: "read",
    namespaces: ["ä", "b", "ä"],
    expiresInMs: 60_000,
  });
  const { token, ...claims } = made;
  assertEquals(readAccessToken(token), claims);
  assertEquals([claims.issuedAtMs, claims.expiresAtMs], [
    1_800_000_000_000,
    1_800_000_060_000,
  ]);
  assertEquals(claims.namespaces, ["ä", "b"]);
  const [header = "", payload = "", signature = ""] = token.split(".");
  assertEquals(
    await isSignedBy({
      publicKey: Uint8Array.from(await delegateKeyToPublicKey(KEY)),
      bytes: new TextEncoder().encode(`${header}.${payload}`),
      signature: Uint8Array.fromBase64(signature, { alphabet: "base64url" }),
    }),
    true,
  );
});

Deno.test("createAccessToken() makes tokens of 30 days with ids of their own", async () => {
  const one = await createAccessToken({ ...BASE, access: "write" });
  const two = await createAccessToken({ ...BASE, access: "write" });
  assertEquals(one.expiresAtMs - one.issuedAtMs, 30 * 86_400_000);
  assertEquals(one.id === two.id, false);
  assertEquals("namespaces" in readAccessToken(one.token), false);
});

Deno.test("createAccessToken() lets another one sign, which keeps its key", async () => {
  const publicKey = await delegateKeyToPublicKey(KEY);
  let signed = 0;
  const key = {
    publicKey,
    sign: () => Promise.resolve(new Uint8Array(64).fill(++signed)),
  };
  const { token } = await createAccessToken({ ...BASE, key, access: "read" });
  assertEquals([signed, token.endsWith(".AQEB" + "AQEB".repeat(20) + "AQ")], [
    1,
    true,
  ]);
});

Deno.test("createAccessToken() refuses options that no relayer would take", async () => {
  const cases = [
    [{ accountId: "my account" }, "accountId"],
    [{ access: "admin" }, "access"],
    [{ expiresInMs: 0 }, "expiresInMs"],
    [{ expiresInMs: 401 * 86_400_000 }, "expiresInMs"],
    [{ namespaces: [] }, "namespaces"],
    [{ namespaces: [""] }, "namespace"],
    [{ namespaces: ["a\n"] }, "namespace"],
    [{ namespaces: ["ü".repeat(128)] }, "namespace"],
    [
      { namespaces: Array.from({ length: 300 }, (_, n) => `namespace ${n}`) },
      "4096 characters",
    ],
  ] as const;
  for (const [members, told] of cases) {
    const options = { ...BASE, access: "read", ...members };
    await assertRejects(
      () =>
        createAccessToken(options as Parameters<typeof createAccessToken>[0]),
      TypeError,
      told,
    );
  }
});

Deno.test("readAccessToken() refuses other texts, and shows none of them", async () => {
  const { token } = await createAccessToken({ ...BASE, access: "read" });
  const [header = "", payload = "", signature = ""] = token.split(".");
  const others = [
    "",
    "secret",
    KEY,
    `${header}.${payload}`,
    `${header}..${signature}`,
    `${btoa('{"alg":"none"}')}.${payload}.${signature}`,
    `${header}.${btoa("[]")}.${signature}`,
    `${header}.${btoa('{"scope":"read"}')}.${signature}`,
  ];
  for (const text of others) {
    const error = assertThrows(() => readAccessToken(text), TypeError);
    assertEquals(text !== "" && error.message.includes(text), false);
  }
});
