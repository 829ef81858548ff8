import { assertEquals, assertRejects } from "@std/assert";
import { SeededRandom } from "../../tests/support/seeded_random.ts";
import { encodeBase64 } from "./encodings.ts";
import {
  embed,
  recallManual,
  rememberManual,
  type RememberManualParams,
} from "./manual.ts";
import { stubParts } from "./testing/stub_parts.ts";

const STORED = { id: "m1", blob_id: "b1", owner: "0x1", namespace: "n" };
const vector = [0.5, -1];

Deno.test("rememberManual() sends bytes as base64, and base64 as it is", async () => {
  const parts = stubParts();
  parts.exchange.on("POST /api/remember/manual", { json: STORED });
  const encryptedData = Uint8Array.of(0, 255, 62, 63);
  assertEquals(await rememberManual(parts, { encryptedData, vector }), STORED);
  await rememberManual(parts, {
    encryptedData: "AP8+Pw==",
    vector: Float32Array.from(vector),
    namespace: "n",
  });
  assertEquals(parts.exchange.requests.map(({ body }) => body), [
    { encrypted_data: "AP8+Pw==", vector, namespace: "default" },
    { encrypted_data: "AP8+Pw==", vector, namespace: "n" },
  ]);
});

Deno.test("rememberManual() sends nothing when an argument is wrong", async () => {
  const parts = stubParts();
  const encryptedData = Uint8Array.of(1);
  for (
    const wrong of [
      { encryptedData: new Uint8Array(0), vector },
      { encryptedData: "", vector },
      { encryptedData: [1], vector },
      { encryptedData },
      { encryptedData, vector: [] },
      { encryptedData, vector: [NaN] },
      { encryptedData, vector: ["1"] },
      { encryptedData, vector: Float64Array.of(Infinity) },
      { encryptedData, vector, namespace: "" },
    ]
  ) {
    await assertRejects(
      () => rememberManual(parts, wrong as RememberManualParams),
      TypeError,
    );
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("recallManual() returns blobs and distances", async () => {
  const parts = stubParts();
  const hit = {
    id: "m1",
    blob_id: "b1",
    distance: 0.1,
    created_at: "2026-07-01T00:00:00Z",
    importance: 0.5,
    score: 0.9,
  };
  const bare = { blob_id: "b2", distance: 0.2 };
  parts.exchange.on("POST /api/recall/manual", {
    json: { results: [hit, { ...bare, importance: null }], total: 2 },
  });
  assertEquals(await recallManual(parts, { vector }), {
    results: [hit, bare],
    total: 2,
  });
  const scoringWeights = { recency: 1 };
  await recallManual(parts, {
    vector,
    limit: 3,
    namespace: "n",
    scoringWeights,
  });
  assertEquals(parts.exchange.requests.map(({ body }) => body), [
    { vector, limit: 10, namespace: "default" },
    { vector, limit: 3, namespace: "n", scoring_weights: scoringWeights },
  ]);
});

Deno.test("embed() returns the vector", async () => {
  const parts = stubParts();
  parts.exchange.on("POST /api/embed", { json: { vector } });
  assertEquals(await embed(parts, "tea"), vector);
  assertEquals(parts.exchange.requestTo("POST /api/embed").body, {
    text: "tea",
  });
  await assertRejects(() => embed(parts, 1 as never), TypeError);
});

Deno.test("encodeBase64() writes bytes of any length", () => {
  const random = new SeededRandom(3);
  for (const length of [0, 1, 2, 3, 8_191, 8_192, 8_193, 100_000]) {
    const bytes = Uint8Array.from({ length }, () => random.below(256));
    const text = encodeBase64(bytes);
    assertEquals(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), bytes);
  }
});
