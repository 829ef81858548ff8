import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  associatedData,
  open,
  type OpenOutcome,
  openSecret,
  seal,
  sealedKeyId,
  sealSecret,
  type SecretRow,
} from "./envelope.ts";
import { MasterKeys, SealingKey } from "./master_keys.ts";
import {
  createTenantKey,
  CURRENT_KEY_ID,
  planRewrap,
  unwrapTenantKey,
} from "./tenant_key.ts";
import { flipBit, keyNamed } from "./testing/keys.ts";

Deno.test("associatedData() tells lists apart whose texts joined are the same", () => {
  const lists = [
    ["a|b", "c"],
    ["a", "b|c"],
    ["a", "b", "c"],
    ["ab", "c"],
    ["a", "bc"],
    ["abc"],
    ["abc", ""],
    ["", "abc"],
    [],
    [""],
    ["\0\0\0\x01a"],
  ];
  const encoded = lists.map((list) => associatedData(list).toHex());
  assertEquals(new Set(encoded).size, lists.length);
});

Deno.test("associatedData() is the length and the UTF-8 of each text", () => {
  assertEquals(associatedData(["é", "x"]).toHex(), "00000002c3a90000000178");
});

Deno.test("associatedData() never gives the same for different lists", () => {
  const random = new SeededRandom(4);
  const text = () =>
    random.list(4, () => random.pick(["a", "\0", "|"])).join("");
  for (let round = 0; round < 5_000; round++) {
    const left = random.list(4, text);
    const right = random.list(4, text);
    if (JSON.stringify(left) === JSON.stringify(right)) continue;
    assertNotEquals(
      associatedData(left).toHex(),
      associatedData(right).toHex(),
    );
  }
});

Deno.test("associatedData() refuses half a surrogate pair", () => {
  assertThrows(
    () => associatedData(["a\ud800"]),
    TypeError,
    "not valid Unicode",
  );
});

const KEY = keyNamed("k1");
const PLACE = new TextEncoder().encode("here");

Deno.test("open() gives back what seal() was given, of any length", () => {
  const random = new SeededRandom(1);
  for (const length of [0, 1, 15, 16, 17, 31, 32, 33, 1_000, 16_384]) {
    const plaintext = random.bytes(length);
    const outcome = openHere(sealHere(plaintext));
    assert(outcome.kind === "ok");
    assertEquals(outcome.bytes, plaintext);
  }
});

Deno.test("seal() gives another text each time, in letters of URLs", () => {
  const plaintext = new Uint8Array(20);
  const texts = Array.from({ length: 1_000 }, () => sealHere(plaintext));
  assertEquals(new Set(texts).size, texts.length);
  const nonces = texts.map((text) => toBytes(text).slice(4, 16).toHex());
  assertEquals(new Set(nonces).size, texts.length);
  for (const text of texts) assertMatch(text, /^[A-Za-z0-9_-]+$/);
});

Deno.test("seal() is AES-256-GCM in the layout it documents", async () => {
  const plaintext = new TextEncoder().encode("the value");
  const bytes = toBytes(sealHere(plaintext));
  assertEquals(
    [...bytes.slice(0, 4)],
    [1, 2, ..."k1"].map((part) =>
      typeof part === "string" ? part.charCodeAt(0) : part
    ),
  );
  // Another implementation of AES-GCM opens the text.
  const key = await crypto.subtle.importKey(
    "raw",
    new Uint8Array(KEY.secret.export()),
    "AES-GCM",
    false,
    ["decrypt"],
  );
  const opened = await crypto.subtle.decrypt(
    {
      name: "AES-GCM",
      iv: bytes.slice(4, 16),
      additionalData: Uint8Array.of(...bytes.slice(0, 4), ...PLACE),
    },
    key,
    bytes.slice(16),
  );
  assertEquals(new Uint8Array(opened), plaintext);
});

Deno.test("open() fails with any bit flipped", () => {
  const sealed = sealHere(new TextEncoder().encode("s3cret value"));
  const bits = toBytes(sealed).length * 8;
  for (let bit = 0; bit < bits; bit++) {
    const changed = flipBit(sealed, bit);
    assertNotEquals(changed, sealed);
    const outcome = openHere(changed);
    assertNotOk(outcome);
    const isKeyId = bit >= 8 && bit < 32;
    if (!isKeyId) assertEquals(outcome.kind, "tampered", `bit ${bit}`);
    // The id is authenticated, so finding the key by a changed id does not
    // help.
    assertEquals(
      open(changed, () => KEY, PLACE),
      { kind: "tampered" },
      `bit ${bit}`,
    );
  }
});

Deno.test("open() fails with any letter changed, added or removed", () => {
  // 3 and 1 bytes beyond a multiple of 3 leave bits of the last letter unused.
  for (const length of [9, 10, 11]) {
    const sealed = sealHere(new Uint8Array(length));
    for (let at = 0; at < sealed.length; at++) {
      const rest = sealed.slice(at + 1);
      for (const letter of "AQgwBx_-=+ \n") {
        if (letter === sealed[at]) continue;
        assertNotOk(openHere(sealed.slice(0, at) + letter + rest));
      }
      assertNotOk(openHere(sealed.slice(0, at) + rest));
      assertNotOk(openHere(sealed.slice(0, at)));
    }
    for (const more of ["A", "=", "==", "\n", " "]) {
      assertEquals(openHere(sealed + more), { kind: "tampered" });
      assertEquals(openHere(more + sealed), { kind: "tampered" });
    }
  }
});

Deno.test("open() fails with other associated data", () => {
  const sealed = sealHere(new Uint8Array(4));
  for (const place of ["", "her", "here ", "there"]) {
    const associatedData = new TextEncoder().encode(place);
    const outcome = open(sealed, findOwnKey, associatedData);
    assertEquals(outcome, { kind: "tampered" });
  }
});

Deno.test("open() tells an unknown key from a changed text", () => {
  const sealed = sealHere(new Uint8Array(4));
  assertEquals(
    open(sealed, () => undefined, PLACE),
    {
      kind: "wrong_key",
      keyId: "k1",
    },
  );
  const other = keyNamed("k1");
  assertEquals(open(sealed, () => other, PLACE), {
    kind: "tampered",
  });
});

Deno.test("open() calls texts that were never sealed tampered", () => {
  const random = new SeededRandom(9);
  for (let round = 0; round < 2_000; round++) {
    const bytes = random.bytes(random.below(60));
    if (random.chance(0.7)) {
      bytes.set([1, random.below(6)].slice(0, bytes.length));
    }
    const text = bytes.toBase64({ alphabet: "base64url", omitPadding: true });
    assertNotOk(open(text, () => KEY, PLACE));
  }
  for (const text of ["", "value", "äöü", "\0", "AQ", "A", "AQJr"]) {
    assertEquals(openHere(text), { kind: "tampered" });
  }
});

Deno.test("sealedKeyId() reads the key's id and nothing else", () => {
  assertEquals(sealedKeyId(sealHere(new Uint8Array(1))), "k1");
  assertEquals(sealedKeyId("nonsense"), undefined);
  assertEquals(sealedKeyId(""), undefined);
});

Deno.test("seal() refuses a key without a fit id", () => {
  for (const id of ["", "a b", "é", "k".repeat(65)]) {
    const key = keyNamed(id);
    assertThrows(
      () => seal(new Uint8Array(1), key, PLACE),
      RangeError,
      "not a key id",
    );
  }
});

function findOwnKey(id: string): SealingKey | undefined {
  return id === KEY.id ? KEY : undefined;
}

function sealHere(plaintext: Uint8Array): string {
  return seal(plaintext, KEY, PLACE);
}

function openHere(sealed: string): OpenOutcome {
  return open(sealed, findOwnKey, PLACE);
}

function toBytes(sealed: string): Uint8Array {
  return Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
}

function assertNotOk(outcome: OpenOutcome): void {
  assertNotEquals(outcome.kind, "ok");
}

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
  const rewrapped = planRewrap({
    tenantId: ROW.tenantId,
    id: CURRENT_KEY_ID,
    version: 1,
    wrapped,
  }, {
    masterKeys: new MasterKeys(current, [old]),
  });
  assert(rewrapped.kind === "rewrapped");
  const unwrapped = unwrapTenantKey(rewrapped.next.wrapped, {
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
  // Without the wrapped key, the master keys can only wrap a new key, which
  // does not open the secret.
  const { key } = createTenantKey(options);
  assertEquals(openSecret(sealed, { row: ROW, key }), {
    kind: "wrong_key",
    keyId: shredded.id,
  });
  const bytes = key.secret.export();
  const disguised = new SealingKey(bytes, { id: shredded.id });
  assertEquals(openSecret(sealed, { row: ROW, key: disguised }), {
    kind: "tampered",
  });
});

Deno.test("sealSecret() refuses half a surrogate pair", () => {
  const key = keyNamed("t1");
  assertThrows(
    () => sealSecret("a\udc00", { row: ROW, key }),
    TypeError,
    "not valid Unicode",
  );
});
