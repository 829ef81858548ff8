import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { open, type OpenOutcome, seal, sealedKeyId } from "./envelope.ts";
import type { SealingKey } from "./master_keys.ts";
import { flipBit, keyNamed } from "./testing/keys.ts";

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
  const nonces = texts.map((text) => bytesOf(text).slice(4, 16).toHex());
  assertEquals(new Set(nonces).size, texts.length);
  for (const text of texts) assertMatch(text, /^[A-Za-z0-9_-]+$/);
});

Deno.test("seal() is AES-256-GCM in the layout it documents", async () => {
  const plaintext = new TextEncoder().encode("the value");
  const bytes = bytesOf(sealHere(plaintext));
  assertEquals(
    [...bytes.slice(0, 4)],
    [1, 2, ..."k1"].map((part) =>
      typeof part === "string" ? part.charCodeAt(0) : part
    ),
  );
  // Another implementation opens it.
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
  const bits = bytesOf(sealed).length * 8;
  for (let bit = 0; bit < bits; bit++) {
    const changed = flipBit(sealed, bit);
    assertNotEquals(changed, sealed);
    const outcome = openHere(changed);
    assertNotOk(outcome);
    const isKeyId = bit >= 8 && bit < 32;
    if (!isKeyId) assertEquals(outcome.kind, "tampered", `bit ${bit}`);
    // The id is authenticated: it doesn't help that the key is found all the same.
    assertEquals(
      open(changed, { findKey: () => KEY, associatedData: PLACE }),
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
    const outcome = open(sealed, { findKey: findOwnKey, associatedData });
    assertEquals(outcome, { kind: "tampered" });
  }
});

Deno.test("open() tells an unknown key from a changed text", () => {
  const sealed = sealHere(new Uint8Array(4));
  assertEquals(
    open(sealed, { findKey: () => undefined, associatedData: PLACE }),
    {
      kind: "wrong_key",
      keyId: "k1",
    },
  );
  const other = keyNamed("k1");
  assertEquals(open(sealed, { findKey: () => other, associatedData: PLACE }), {
    kind: "tampered",
  });
});

Deno.test("open() takes texts that were never sealed for tampered ones", () => {
  const random = new SeededRandom(9);
  for (let round = 0; round < 2_000; round++) {
    const bytes = random.bytes(random.below(60));
    if (random.chance(0.7)) {
      bytes.set([1, random.below(6)].slice(0, bytes.length));
    }
    const text = bytes.toBase64({ alphabet: "base64url", omitPadding: true });
    assertNotOk(open(text, { findKey: () => KEY, associatedData: PLACE }));
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
    const key = { ...KEY, id };
    assertThrows(
      () => seal(new Uint8Array(1), { key, associatedData: PLACE }),
      RangeError,
      "no key id",
    );
  }
});

function findOwnKey(id: string): SealingKey | undefined {
  return id === KEY.id ? KEY : undefined;
}

function sealHere(plaintext: Uint8Array): string {
  return seal(plaintext, { key: KEY, associatedData: PLACE });
}

function openHere(sealed: string): OpenOutcome {
  return open(sealed, { findKey: findOwnKey, associatedData: PLACE });
}

function bytesOf(sealed: string): Uint8Array {
  return Uint8Array.fromBase64(sealed, { alphabet: "base64url" });
}

function assertNotOk(outcome: OpenOutcome): void {
  assertNotEquals(outcome.kind, "ok");
}
