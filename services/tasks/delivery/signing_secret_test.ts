import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  newSigningKey,
  newSigningSecret,
  parseSigningSecret,
  parseVerifyingKey,
} from "./signing_secret.ts";

/** The key pair that the documentation of other senders shows. */
const KEY_PAIR =
  "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const PUBLIC_KEY = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

function secretOf(length: number): string {
  return `whsec_${Buffer.alloc(length, 7).toString("base64")}`;
}

Deno.test("newSigningSecret() makes 32 random bytes", () => {
  assertMatch(newSigningSecret(), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert(newSigningSecret() !== newSigningSecret());
  const random = new SeededRandom(1);
  const randomBytes = (length: number): Uint8Array => random.bytes(length);
  const parsed = parseSigningSecret(newSigningSecret({ randomBytes }));
  assert(parsed.kind === "ok" && parsed.key.kind === "symmetric");
  assertEquals(
    new Uint8Array(parsed.key.key),
    new SeededRandom(1).bytes(32),
  );
});

Deno.test("newSigningKey() makes a pair whose public half can be read", () => {
  const parsed = parseSigningSecret(newSigningKey());
  assert(parsed.kind === "ok" && parsed.key.kind === "asymmetric");
  assertEquals(parseVerifyingKey(parsed.key.publicKeyText).kind, "ok");
});

Deno.test("parseSigningSecret() takes 24 to 64 bytes", () => {
  for (const length of [24, 25, 32, 64]) {
    assertEquals(parseSigningSecret(secretOf(length)).kind, "ok");
    assertEquals(parseVerifyingKey(secretOf(length)).kind, "ok");
  }
  for (const length of [0, 23, 65]) {
    assertEquals(parseSigningSecret(secretOf(length)).kind, "invalid");
  }
});

Deno.test("parseSigningSecret() derives and checks the public half", () => {
  const parsed = parseSigningSecret(`whsk_${KEY_PAIR}`);
  assert(parsed.kind === "ok" && parsed.key.kind === "asymmetric");
  assertEquals(parsed.key.publicKeyText, PUBLIC_KEY);
  const seed = Buffer.from(KEY_PAIR, "base64").subarray(0, 32);
  const short = parseSigningSecret(`whsk_${seed.toString("base64")}`);
  assert(short.kind === "ok" && short.key.kind === "asymmetric");
  assertEquals(short.key.publicKeyText, PUBLIC_KEY);
  const mixed = Buffer.concat([seed, seed]).toString("base64");
  assertEquals(parseSigningSecret(`whsk_${mixed}`), {
    kind: "invalid",
    reason: "Cannot read signing key: its public half belongs to another key",
  });
});

Deno.test("parseSigningSecret() refuses what it can't read, and tells nothing of it", () => {
  const texts = [
    ...["", "s3cret", "whsec_", "whsec_s3cret", "whsk_s3cret", PUBLIC_KEY],
    ...[`${secretOf(32)} `, secretOf(32).replace("=", ""), "WHSEC_AAAA"],
    `whsec_${"_-".repeat(16)}`,
  ];
  for (const text of texts) {
    const outcome = parseSigningSecret(text);
    assert(outcome.kind === "invalid", text);
    assert(!outcome.reason.includes("s3cret"));
  }
});

Deno.test("parseVerifyingKey() refuses private keys and wrong lengths", () => {
  for (const text of [`whsk_${KEY_PAIR}`, `whpk_${KEY_PAIR}`, "whpk_", "x"]) {
    assertEquals(parseVerifyingKey(text).kind, "invalid", text);
  }
});
