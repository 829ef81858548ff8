import { assertEquals, assertNotEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import {
  canonicalRequest,
  legacyCanonicalRequest,
  type SignedParts,
} from "./canonical_request.ts";

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
