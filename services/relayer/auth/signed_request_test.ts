import { Buffer } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { RequestHeaders } from "../../shared/http1/head.ts";
import {
  canonicalRequest,
  readSignedHead,
  SignatureVerifier,
} from "./signed_request.ts";
import { makeSigner } from "./testing/signer.ts";

type SignedHeadOutcome = ReturnType<typeof readSignedHead>;

type SignedParts = Parameters<typeof canonicalRequest>[0];

const MESSAGE = new TextEncoder().encode("1700000000.GET./.00");

Deno.test("verify() takes the signature of the key, and no other", () => {
  const verifier = new SignatureVerifier();
  const ann = makeSigner(1);
  const ben = makeSigner(2);
  const signature = ann.sign(MESSAGE);
  const { publicKey } = ann;
  const message = MESSAGE;
  assert(verifier.verify({ publicKey, message, signature }));
  assert(
    !verifier.verify({ publicKey: ben.publicKey, message, signature }),
  );
  for (const index of [0, 31, 32, 63]) {
    const changed = Uint8Array.from(signature);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert(!verifier.verify({ publicKey, message, signature: changed }));
  }
  const other = MESSAGE.slice(1);
  assert(!verifier.verify({ publicKey, message: other, signature }));
});

Deno.test("verify() takes the vector of RFC 8032, 7.1, test 2", () => {
  const signature = Buffer.from(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" +
      "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    "hex",
  );
  const publicKey =
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
  const verifier = new SignatureVerifier();
  assert(
    verifier.verify({ publicKey, message: Uint8Array.of(0x72), signature }),
  );
});

Deno.test("verify() refuses what is neither a key nor a signature", () => {
  const verifier = new SignatureVerifier();
  const { publicKey, sign } = makeSigner(1);
  const signature = sign(MESSAGE);
  const message = MESSAGE;
  for (const key of ["", "00", "zz".repeat(32), "02".repeat(32)]) {
    assert(!verifier.verify({ publicKey: key, message, signature }));
    // The second time, the cache knows that the key is invalid.
    assert(!verifier.verify({ publicKey: key, message, signature }));
  }
  for (const length of [0, 63, 65, 128]) {
    const cut = new Uint8Array(length);
    assert(!verifier.verify({ publicKey, message, signature: cut }));
  }
});

Deno.test("verify() refuses a signature with its scalar written another way", () => {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const verifier = new SignatureVerifier();
  const { publicKey, sign } = makeSigner(1);
  const signature = sign(MESSAGE);
  const scalar = littleEndian(signature.subarray(32)) + order;
  const other = Uint8Array.from(signature);
  other.set(toBytes(scalar), 32);
  assert(!verifier.verify({ publicKey, message: MESSAGE, signature: other }));
});

Deno.test("verify() refuses keys under which anybody can sign", () => {
  const neutral = toBytes(1n);
  const forged = new Uint8Array([...neutral, ...toBytes(0n)]);
  const hex = Buffer.from(neutral).toString("hex");
  const x = Buffer.from(neutral).toString("base64url");
  const key = createPublicKey({
    key: { kty: "OKP", crv: "Ed25519", x },
    format: "jwk",
  });
  // The runtime alone accepts the signature; that is why the check for small
  // order exists.
  assertEquals(verify(null, MESSAGE, key, forged), true);
  const verifier = new SignatureVerifier();
  assert(
    !verifier.verify({ publicKey: hex, message: MESSAGE, signature: forged }),
  );
});

Deno.test("verify() still works when it has forgotten keys", () => {
  const verifier = new SignatureVerifier(4);
  for (let round = 0; round < 3; round++) {
    for (let seed = 1; seed <= 10; seed++) {
      const { publicKey, sign } = makeSigner(seed);
      const signature = sign(MESSAGE);
      assert(verifier.verify({ publicKey, message: MESSAGE, signature }));
    }
  }
});

function littleEndian(bytes: Uint8Array): bigint {
  return [...bytes].reverse().reduce(
    (sum, byte) => (sum << 8n) | BigInt(byte),
    0n,
  );
}

function toBytes(value: bigint): Uint8Array {
  return Uint8Array.from(
    { length: 32 },
    (_, index) => Number((value >> BigInt(8 * index)) & 255n),
  );
}

const EMPTY_BODY =
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Deno.test("canonicalRequest() joins six fields with full stops", () => {
  assertEquals(
    canonicalRequest({
      timestamp: "1700000000",
      method: "GET",
      target: "/v1/owners/0x1/memories?limit=5",
      bodyDigest: EMPTY_BODY,
      nonce: "8f14e45f-ceea-4e7a-9c1e-3b1f4c1d2e3f",
      accountId: "0xabc",
    }),
    `1700000000.GET./v1/owners/0x1/memories?limit=5.${EMPTY_BODY}` +
      ".8f14e45f-ceea-4e7a-9c1e-3b1f4c1d2e3f.0xabc",
  );
});

Deno.test("canonicalRequest() keeps the last full stop when there is no account", () => {
  const text = canonicalRequest({
    timestamp: "1",
    method: "GET",
    target: "/",
    bodyDigest: EMPTY_BODY,
    nonce: "8f14e45f-ceea-4e7a-9c1e-3b1f4c1d2e3f",
    accountId: "",
  });
  assertEquals(text.endsWith("3b1f4c1d2e3f."), true);
});

Deno.test("canonicalRequest() joins four fields when there is no nonce", () => {
  assertEquals(
    canonicalRequest({
      timestamp: "1700000000",
      method: "POST",
      target: "/api/recall",
      bodyDigest: EMPTY_BODY,
      nonce: undefined,
      accountId: "",
    }),
    `1700000000.POST./api/recall.${EMPTY_BODY}`,
  );
});

Deno.test("canonicalRequest() gives different requests different texts", () => {
  const random = new SeededRandom(11);
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => random.pick([..."0a"])).join("");
  // Few different letters, so that paths often contain what looks like other
  // fields.
  const path = (): string =>
    "/" + random.list(8, () => random.pick(["0", "a", ".", "/", hex(8)]))
      .join("");
  const request = (): SignedParts => ({
    timestamp: random.pick(["0", "00", "10"]),
    method: random.pick(["GET", "G.T", "G"]),
    target: path(),
    bodyDigest: hex(64),
    nonce: `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`,
    accountId: random.pick(["", "0x0", "0"]),
  });
  const seen = new Map<string, string>();
  for (let round = 0; round < 3_000; round++) {
    const parts = request();
    const fields = JSON.stringify(parts);
    const known = seen.get(canonicalRequest(parts));
    assertEquals(known ?? fields, fields);
    seen.set(canonicalRequest(parts), fields);
    const legacy = canonicalRequest({ ...parts, nonce: undefined });
    assertNotEquals(canonicalRequest(parts), legacy);
  }
});

const NOW_S = 1_800_000_000;
const GOOD = {
  "x-public-key": "ab".repeat(32),
  "x-signature": "cd".repeat(64),
  "x-timestamp": String(NOW_S),
  "x-nonce": "8f14e45f-ceea-4e7a-9c1e-3b1f4c1d2e3f",
  "x-account-id": "0xabc",
};

Deno.test("readSignedHead() reads what a client sends", () => {
  const outcome = read({
    ...GOOD,
    "x-public-key": "AB".repeat(32),
    "x-account-id": "0xABC",
  });
  assertEquals(outcome.kind, "ok");
  if (outcome.kind !== "ok") return;
  assertEquals(outcome.head.publicKey, "ab".repeat(32));
  assertEquals(outcome.head.signature.byteLength, 64);
  assertEquals(outcome.head.accountId, `0x${"0".repeat(61)}abc`);
  // The signed text has the header as it was sent.
  assertEquals(outcome.head.accountHeader, "0xABC");
});

Deno.test("readSignedHead() checks in the order of the protocol", () => {
  const wrongs: readonly (readonly [Record<string, string>, string])[] = [
    [{ "x-public-key": "" }, "ERR_MISSING_HEADERS"],
    [{ "x-nonce": "-" }, "ERR_CLIENT_TOO_OLD"],
    [{ "x-nonce": "x" }, "ERR_NONCE_FORMAT"],
    [{ "x-timestamp": "NaN" }, "ERR_TIMESTAMP_FORMAT"],
    [{ "x-timestamp": "1" }, "ERR_TIMESTAMP_OUT_OF_BOUNDS"],
    [{ "x-public-key": "zz" }, "ERR_PUBLIC_KEY_FORMAT"],
    [{ "x-signature": "zz" }, "ERR_SIGNATURE_FORMAT"],
    [{ "x-account-id": "0xyz" }, "ERR_ACCOUNT_FORMAT"],
  ];
  for (const [first, [wrong, code]] of wrongs.entries()) {
    // All fields that are checked later are wrong as well.
    const headers = wrongs.slice(first + 1).reduceRight(
      (all, [later]) => ({ ...all, ...later }),
      { ...GOOD },
    );
    assertEquals(getCode(read({ ...headers, ...wrong })), code);
  }
});

Deno.test("readSignedHead() refuses a missing field of the first three", () => {
  for (const name of ["x-public-key", "x-signature", "x-timestamp"]) {
    assertEquals(
      getCode(read({ ...GOOD, [name]: "-" })),
      "ERR_MISSING_HEADERS",
    );
  }
});

Deno.test("readSignedHead() refuses a field that was sent twice", () => {
  for (const name of Object.keys(GOOD)) {
    const headers = createHeaders(GOOD);
    headers.add(name, headers.get(name) ?? "");
    assertEquals(
      getCode(readSignedHead(headers, options())),
      "ERR_REPEATED_HEADERS",
      name,
    );
  }
});

Deno.test("readSignedHead() takes whole seconds and nothing like them", () => {
  const texts = [
    "NaN",
    "Infinity",
    "-1",
    "+1800000000",
    "1.8e9",
    "1800000000.0",
    "0x6b49d200",
    "1800000000 ",
    "１８００００００００",
    "1".repeat(12),
    "9".repeat(4_000),
  ];
  for (const text of texts) {
    assertEquals(
      getCode(read({ ...GOOD, "x-timestamp": text })),
      "ERR_TIMESTAMP_FORMAT",
      text,
    );
  }
});

Deno.test("readSignedHead() bounds how far clocks may be apart, either way", () => {
  for (
    const [offset, code] of [
      [-301, "ERR_TIMESTAMP_OUT_OF_BOUNDS"],
      [-300, "ok"],
      [300, "ok"],
      [301, "ERR_TIMESTAMP_OUT_OF_BOUNDS"],
    ] as const
  ) {
    const timestamp = String(NOW_S + offset);
    assertEquals(getCode(read({ ...GOOD, "x-timestamp": timestamp })), code);
  }
});

Deno.test("readSignedHead() refuses keys and signatures of other lengths", () => {
  for (const text of ["a", "ab".repeat(31), "ab".repeat(33), "0xab"]) {
    assertEquals(
      getCode(read({ ...GOOD, "x-public-key": text })),
      "ERR_PUBLIC_KEY_FORMAT",
    );
  }
  for (const text of ["a", "ab".repeat(63), "ab".repeat(4_000)]) {
    assertEquals(
      getCode(read({ ...GOOD, "x-signature": text })),
      "ERR_SIGNATURE_FORMAT",
    );
  }
  const long = `0x${"a".repeat(9_000)}`;
  assertEquals(
    getCode(read({ ...GOOD, "x-account-id": long })),
    "ERR_ACCOUNT_FORMAT",
  );
});

Deno.test("readSignedHead() takes no nonce only where old clients are served, with the account they name", () => {
  const legacy = { ...GOOD, "x-nonce": "-", "x-account-id": "-" };
  assertEquals(getCode(read(legacy)), "ERR_CLIENT_TOO_OLD");
  assertEquals(getCode(read(legacy, true)), "ok");
  const named = { ...legacy, "x-account-id": "0x1" };
  assertEquals(getCode(read(named, true)), "ok");
  assertEquals(getCode(read(named)), "ERR_CLIENT_TOO_OLD");
  // An empty nonce counts as present, and has the wrong format.
  assertEquals(
    getCode(read({ ...legacy, "x-nonce": "" }, true)),
    "ERR_NONCE_FORMAT",
  );
});

/** Makes request headers; "-" stands for a field that is not sent. */
function createHeaders(
  fields: Readonly<Record<string, string>>,
): RequestHeaders {
  const headers = new RequestHeaders();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== "-") headers.add(name, value);
  }
  return headers;
}

function read(
  fields: Readonly<Record<string, string>>,
  isLegacyAllowed = false,
): SignedHeadOutcome {
  return readSignedHead(createHeaders(fields), {
    ...options(),
    isLegacyAllowed,
  });
}

function options(): {
  readonly nowMs: number;
  readonly windowMs: number;
  readonly isLegacyAllowed: boolean;
} {
  return { nowMs: NOW_S * 1_000, windowMs: 300_000, isLegacyAllowed: false };
}

function getCode(outcome: SignedHeadOutcome): string {
  return outcome.kind === "ok" ? "ok" : outcome.code;
}
