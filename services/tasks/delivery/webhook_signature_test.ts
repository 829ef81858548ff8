import { Buffer } from "node:buffer";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  newSigningKey,
  newSigningSecret,
  parseSigningSecret,
  signWebhook,
} from "./webhook_signature.ts";
import {
  parseVerifyingKey,
  type VerifyingKey,
  verifyWebhook,
} from "./testing/verify_webhook.ts";

type WebhookMessage = Parameters<typeof signWebhook>[0];
type SigningSecret = Parameters<typeof signWebhook>[1][number];

/** The key pair in the documentation of other senders. */
const KEY_PAIR =
  "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const PUBLIC_KEY = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

function createSecret(length: number): string {
  return `whsec_${Buffer.alloc(length, 7).toString("base64")}`;
}

Deno.test("newSigningSecret() makes 32 random bytes", () => {
  assertMatch(newSigningSecret(), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert(newSigningSecret() !== newSigningSecret());
  const random = new SeededRandom(1);
  const randomBytes = (length: number): Uint8Array => random.bytes(length);
  const parsed = parseSigningSecret(newSigningSecret(randomBytes));
  assert(parsed?.kind === "symmetric");
  assertEquals(
    new Uint8Array(parsed.key),
    new SeededRandom(1).bytes(32),
  );
});

Deno.test("newSigningKey() makes a pair whose public half can be read", () => {
  const parsed = parseSigningSecret(newSigningKey());
  assert(parsed?.kind === "asymmetric");
  assertEquals(parseVerifyingKey(parsed.publicKeyText).kind, "ok");
});

Deno.test("parseSigningSecret() accepts 24 to 64 bytes", () => {
  for (const length of [24, 25, 32, 64]) {
    assertEquals(parseSigningSecret(createSecret(length))?.kind, "symmetric");
    assertEquals(parseVerifyingKey(createSecret(length)).kind, "ok");
  }
  for (const length of [0, 23, 65]) {
    assertEquals(parseSigningSecret(createSecret(length)), undefined);
  }
});

Deno.test("parseSigningSecret() derives and checks the public half", () => {
  const parsed = parseSigningSecret(`whsk_${KEY_PAIR}`);
  assert(parsed?.kind === "asymmetric");
  assertEquals(parsed.publicKeyText, PUBLIC_KEY);
  const seed = Buffer.from(KEY_PAIR, "base64").subarray(0, 32);
  const short = parseSigningSecret(`whsk_${seed.toString("base64")}`);
  assert(short?.kind === "asymmetric");
  assertEquals(short.publicKeyText, PUBLIC_KEY);
  const mixed = Buffer.concat([seed, seed]).toString("base64");
  assertEquals(parseSigningSecret(`whsk_${mixed}`), undefined);
});

Deno.test("parseSigningSecret() refuses what it can't read", () => {
  const texts = [
    ...["", "s3cret", "whsec_", "whsec_s3cret", "whsk_s3cret", PUBLIC_KEY],
    ...[
      `${createSecret(32)} `,
      createSecret(32).replace("=", ""),
      "WHSEC_AAAA",
    ],
    `whsec_${"_-".repeat(16)}`,
  ];
  for (const text of texts) {
    assertEquals(parseSigningSecret(text), undefined, text);
  }
});

Deno.test("parseVerifyingKey() refuses private keys and wrong lengths", () => {
  for (const text of [`whsk_${KEY_PAIR}`, `whpk_${KEY_PAIR}`, "whpk_", "x"]) {
    assertEquals(parseVerifyingKey(text).kind, "invalid", text);
  }
});

/**
 * The test vectors that the libraries of Standard Webhooks and other senders
 * share.
 */
const VECTOR: WebhookMessage = {
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  atMs: 1_614_265_330_000,
  body: '{"test": 2432232314}',
};
const SHARED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SHARED_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const PRIVATE =
  "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const PUBLIC = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";
const PAIR_SIGNATURE =
  "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";

function signing(text: string): SigningSecret {
  const secret = parseSigningSecret(text);
  assert(secret !== undefined);
  return secret;
}

function verifying(text: string): VerifyingKey {
  const outcome = parseVerifyingKey(text);
  assert(outcome.kind === "ok");
  return outcome.key;
}

/**
 * The verdict of a receiver with these keys on the vector with this signature.
 */
function getVerdict(
  signature: string,
  ...keys: readonly string[]
): string {
  const verdict = verifyWebhook({
    headers: {
      "webhook-id": VECTOR.id,
      "webhook-timestamp": "1614265330",
      "webhook-signature": signature,
    },
    body: VECTOR.body,
  }, { keys: keys.map(verifying), nowMs: VECTOR.atMs });
  return verdict.kind === "ok" ? "ok" : verdict.code;
}

Deno.test("signWebhook() gives the signatures of the public vectors", () => {
  assertEquals(signWebhook(VECTOR, [signing(SHARED)]), {
    "webhook-id": VECTOR.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": SHARED_SIGNATURE,
  });
  const both = signWebhook(VECTOR, [signing(PRIVATE), signing(SHARED)]);
  assertEquals(
    both["webhook-signature"],
    `${PAIR_SIGNATURE} ${SHARED_SIGNATURE}`,
  );
});

Deno.test("signWebhook() signs whole seconds", () => {
  const later = signWebhook({ ...VECTOR, atMs: VECTOR.atMs + 999 }, [
    signing(SHARED),
  ]);
  assertEquals(later["webhook-signature"], SHARED_SIGNATURE);
});

Deno.test("signWebhook() throws without a secret and for an id that is no header", () => {
  assertThrows(() => signWebhook(VECTOR, []), RangeError);
  for (const id of ["", "a b", "a\nb", "ä", "a".repeat(256)]) {
    const sign = (): unknown =>
      signWebhook({ ...VECTOR, id }, [signing(SHARED)]);
    assertThrows(sign, RangeError);
  }
});

Deno.test("verifyWebhook() accepts one valid signature of the list", () => {
  const other = newSigningSecret();
  assertEquals(getVerdict(SHARED_SIGNATURE, SHARED), "ok");
  assertEquals(getVerdict(PAIR_SIGNATURE, PUBLIC), "ok");
  assertEquals(getVerdict(SHARED_SIGNATURE, other, SHARED), "ok");
  assertEquals(getVerdict(`v1,AAAA x v9,z ${SHARED_SIGNATURE}`, SHARED), "ok");
  assertEquals(getVerdict(SHARED_SIGNATURE, other), "no_match");
  assertEquals(getVerdict(SHARED_SIGNATURE, PUBLIC), "no_match");
  assertEquals(getVerdict(SHARED_SIGNATURE), "no_match");
  for (const bad of ["v1", "v1,", "v1a,AAAA", ",", " ", "v1a", "v1 ,"]) {
    assertEquals(getVerdict(bad, SHARED, PUBLIC), "no_match", bad);
  }
  const renamed = SHARED_SIGNATURE.replace("v1,", "v1a,");
  assertEquals(getVerdict(renamed, SHARED, PUBLIC), "no_match");
});

Deno.test("verifyWebhook() refuses what is too old, too new or without headers", () => {
  const headers = { ...signWebhook(VECTOR, [signing(SHARED)]) };
  const keys = [verifying(SHARED)];
  const at = (nowMs: number): unknown =>
    verifyWebhook({ headers, body: VECTOR.body }, { keys, nowMs });
  assertEquals(at(VECTOR.atMs + 300_000), { kind: "ok" });
  assertEquals(at(VECTOR.atMs - 300_000), { kind: "ok" });
  assertEquals(at(VECTOR.atMs + 300_001), {
    kind: "rejected",
    code: "too_old",
  });
  assertEquals(at(VECTOR.atMs - 300_001), {
    kind: "rejected",
    code: "too_new",
  });
  for (const name of Object.keys(headers)) {
    assertEquals(
      verifyWebhook(
        { headers: { ...headers, [name]: undefined }, body: VECTOR.body },
        { keys, nowMs: VECTOR.atMs },
      ),
      { kind: "rejected", code: "missing_header" },
    );
  }
  for (const timestamp of ["x", "1614265330.0", "-1", "1e9"]) {
    const changed = { ...headers, "webhook-timestamp": timestamp };
    assertEquals(
      verifyWebhook({ headers: changed, body: VECTOR.body }, {
        keys,
        nowMs: VECTOR.atMs,
      }),
      { kind: "rejected", code: "bad_timestamp" },
    );
  }
});

Deno.test("verifyWebhook() accepts what was signed, and nothing else, whatever it is", () => {
  const random = new SeededRandom(2_024);
  const texts = ["", "{}", "ä😀", '{"a":"\\u0000"}', "a.b.c", " "];
  for (let round = 0; round < 200; round++) {
    const isPair = random.chance(0.5);
    const randomBytes = (length: number): Uint8Array => random.bytes(length);
    const key = signing(
      isPair ? newSigningKey(randomBytes) : newSigningSecret(randomBytes),
    );
    const check: VerifyingKey = key.kind === "symmetric"
      ? key
      : verifying(key.publicKeyText);
    const atMs = random.below(4_000_000_000) * 1_000;
    const body = random.pick(texts) + random.pick(texts);
    const headers = { ...signWebhook({ id: "tsk_1.0", atMs, body }, [key]) };
    const options = { keys: [check], nowMs: atMs };
    assertEquals(verifyWebhook({ headers, body }, options).kind, "ok");
    const changed = { headers, body: `${body} ` };
    assertEquals(verifyWebhook(changed, options).kind, "rejected");
    const renamed = { headers: { ...headers, "webhook-id": "tsk_1.1" }, body };
    assertEquals(verifyWebhook(renamed, options).kind, "rejected");
  }
});
