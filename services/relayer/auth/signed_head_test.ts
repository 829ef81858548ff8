import { assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { RequestHeaders } from "../../shared/http1/head.ts";
import {
  canonicalRequest,
  legacyCanonicalRequest,
  readSignedHead,
  type SignedHeadOutcome,
  type SignedParts,
} from "./signed_head.ts";

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

Deno.test("legacyCanonicalRequest() joins four fields", () => {
  assertEquals(
    legacyCanonicalRequest({
      timestamp: "1700000000",
      method: "POST",
      target: "/api/recall",
      bodyDigest: EMPTY_BODY,
    }),
    `1700000000.POST./api/recall.${EMPTY_BODY}`,
  );
});

Deno.test("canonicalRequest() gives different requests different texts", () => {
  const random = new SeededRandom(11);
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => random.pick([..."0a"])).join("");
  // Few letters, so that paths come to hold what looks like other fields.
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
    assertNotEquals(canonicalRequest(parts), legacyCanonicalRequest(parts));
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
  // What is signed is what was sent.
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
    // Everything that is checked later is wrong as well.
    const headers = wrongs.slice(first + 1).reduceRight(
      (all, [later]) => ({ ...all, ...later }),
      { ...GOOD },
    );
    assertEquals(codeOf(read({ ...headers, ...wrong })), code);
  }
});

Deno.test("readSignedHead() refuses a missing field of the first three", () => {
  for (const name of ["x-public-key", "x-signature", "x-timestamp"]) {
    assertEquals(
      codeOf(read({ ...GOOD, [name]: "-" })),
      "ERR_MISSING_HEADERS",
    );
  }
});

Deno.test("readSignedHead() refuses a field that was sent twice", () => {
  for (const name of Object.keys(GOOD)) {
    const headers = headersOf(GOOD);
    headers.add(name, headers.get(name) ?? "");
    assertEquals(
      codeOf(readSignedHead(headers, options())),
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
      codeOf(read({ ...GOOD, "x-timestamp": text })),
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
    assertEquals(codeOf(read({ ...GOOD, "x-timestamp": timestamp })), code);
  }
});

Deno.test("readSignedHead() refuses keys and signatures of other lengths", () => {
  for (const text of ["a", "ab".repeat(31), "ab".repeat(33), "0xab"]) {
    assertEquals(
      codeOf(read({ ...GOOD, "x-public-key": text })),
      "ERR_PUBLIC_KEY_FORMAT",
    );
  }
  for (const text of ["a", "ab".repeat(63), "ab".repeat(4_000)]) {
    assertEquals(
      codeOf(read({ ...GOOD, "x-signature": text })),
      "ERR_SIGNATURE_FORMAT",
    );
  }
  const long = `0x${"a".repeat(9_000)}`;
  assertEquals(
    codeOf(read({ ...GOOD, "x-account-id": long })),
    "ERR_ACCOUNT_FORMAT",
  );
});

Deno.test("readSignedHead() takes no nonce only where old clients are served, with the account they name", () => {
  const legacy = { ...GOOD, "x-nonce": "-", "x-account-id": "-" };
  assertEquals(codeOf(read(legacy)), "ERR_CLIENT_TOO_OLD");
  assertEquals(codeOf(read(legacy, true)), "ok");
  const named = { ...legacy, "x-account-id": "0x1" };
  assertEquals(codeOf(read(named, true)), "ok");
  assertEquals(codeOf(read(named)), "ERR_CLIENT_TOO_OLD");
  // An empty nonce is one, and none of the right form.
  assertEquals(
    codeOf(read({ ...legacy, "x-nonce": "" }, true)),
    "ERR_NONCE_FORMAT",
  );
});

/** "-" stands for a field that is not sent. */
function headersOf(fields: Readonly<Record<string, string>>): RequestHeaders {
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
  return readSignedHead(headersOf(fields), {
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

function codeOf(outcome: SignedHeadOutcome): string {
  return outcome.kind === "ok" ? "ok" : outcome.code;
}
