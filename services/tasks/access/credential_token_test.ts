import { createHash } from "node:crypto";
import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
} from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  digestMatches,
  hashSecret,
  mintToken,
  mintWorkerCredential,
  parseToken,
  parseWorkerLogin,
} from "./credential_token.ts";

function randomBytes(seed: number): (length: number) => Uint8Array {
  const random = new SeededRandom(seed);
  return (length) => random.bytes(length);
}

Deno.test("mintToken() makes a key that parseToken() accepts apart again", () => {
  for (let seed = 0; seed < 200; seed++) {
    const key = mintToken("dk", randomBytes(seed));
    assertMatch(key.text, /^dk_[0-9A-Za-z]{16}_[0-9A-Za-z]{49}$/);
    const { prefix, id, secret } = key;
    assertEquals(parseToken(key.text), { prefix, id, secret });
    assertEquals(key.text.slice(0, 19), id);
    assertEquals(key.digest, createHash("sha256").update(secret).digest("hex"));
  }
});

Deno.test("mintToken() makes another one each time", () => {
  const texts = new Set(
    Array.from({ length: 1_000 }, () => mintToken("dk").text),
  );
  assertEquals(texts.size, 1_000);
});

Deno.test("mintToken() favours no character", () => {
  const counts = new Map<string, number>();
  const bytes = randomBytes(23);
  const rounds = 3_000;
  for (let round = 0; round < rounds; round++) {
    for (const letter of mintToken("dk", bytes).secret) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
  }
  const expected = rounds * 43 / 62;
  assertEquals(counts.size, 62);
  for (const [letter, count] of counts) {
    // Five standard deviations and a little.
    assert(Math.abs(count - expected) < 250, `${letter}: ${count}`);
  }
});

Deno.test("parseToken() notices every change of one character, and every swap", () => {
  const { text } = mintToken("dk", randomBytes(1));
  for (let place = 0; place < text.length; place++) {
    for (const other of "0aZ_") {
      if (text[place] === other) continue;
      const wrong = text.slice(0, place) + other + text.slice(place + 1);
      assertEquals(parseToken(wrong), undefined, wrong);
    }
    const [left, right] = [text[place], text[place + 1]];
    if (right === undefined || left === right) continue;
    const swapped = `${text.slice(0, place)}${right}${left}${
      text.slice(place + 2)
    }`;
    assertEquals(parseToken(swapped), undefined, swapped);
  }
});

Deno.test("parseToken() accepts nothing around a token, and no other prefix", () => {
  const { text } = mintToken("wk", randomBytes(2));
  assertEquals(parseToken(text)?.prefix, "wk");
  for (
    const wrong of ["", ` ${text}`, `${text}\n`, text.slice(0, -1), `${text}0`]
  ) {
    assertEquals(parseToken(wrong), undefined);
  }
  assertEquals(parseToken(text.replace("wk", "dk")), undefined);
});

Deno.test("mintToken() ends a token in its CRC-32 to the base of 62", () => {
  const { text } = mintToken("dk", (length) => new Uint8Array(length));
  // The token is written out, so that tokens of earlier versions stay valid.
  assertEquals(text, `dk_${"0".repeat(16)}_${"0".repeat(43)}2fOjOb`);
});

Deno.test("digestMatches() accepts the same digest and no other", () => {
  const digest = hashSecret("secret");
  assert(digestMatches(digest, hashSecret("secret")));
  for (let place = 0; place < digest.length; place++) {
    const other = digest[place] === "0" ? "1" : "0";
    const wrong = digest.slice(0, place) + other + digest.slice(place + 1);
    assert(!digestMatches(wrong, digest));
  }
  assert(!digestMatches(digest, ""));
  assert(!digestMatches(digest, digest.slice(1)));
  assert(!digestMatches(digest, undefined));
  // The digest that stands in for a missing one matches no secret.
  assert(!digestMatches("0".repeat(64), undefined));
});

Deno.test("parseWorkerLogin() accepts key and secret however a client joins them", () => {
  const credential = mintWorkerCredential("acme", randomBytes(3));
  assertEquals(credential.key, `acme:${credential.id}`);
  const token = parseToken(credential.secret);
  assert(token !== undefined);
  assertEquals(token.id, credential.id);
  assertEquals(credential.digest, hashSecret(token.secret));
  const login = parseWorkerLogin(`${credential.key}:${credential.secret}`);
  assertEquals(login, { token, tenant: "acme" });
  const upper = `ACME:${credential.id}:${credential.secret}`;
  assertEquals(parseWorkerLogin(upper)?.tenant, "acme");
});

Deno.test("parseWorkerLogin() refuses a key and a secret that do not belong together", () => {
  const one = mintWorkerCredential("acme", randomBytes(4));
  const two = mintWorkerCredential("acme", randomBytes(5));
  const api = mintToken("dk", randomBytes(6));
  assertNotEquals(one.id, two.id);
  const cases = [
    "",
    ":",
    "::",
    one.secret,
    `${one.key}:`,
    `${one.id}:${one.secret}`,
    `:${one.id}:${one.secret}`,
    `a.b:${one.id}:${one.secret}`,
    `${one.key}:${two.secret}`,
    `${one.key}:${one.secret}:`,
    `x:${one.key}:${one.secret}`,
    `acme:${api.id}:${api.text}`,
  ];
  for (const text of cases) {
    assertEquals(parseWorkerLogin(text), undefined, text);
  }
});
