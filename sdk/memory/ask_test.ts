import { assertEquals, assertRejects } from "@std/assert";
import { ask } from "./ask.ts";
import { stubParts } from "./testing/stub_parts.ts";

const ROUTE = "POST /api/ask";
const ANSWER = {
  answer: "Tea.",
  memories_used: 1,
  memories: [{ blob_id: "b", text: "Ada drinks tea", distance: 0.2 }],
};

Deno.test("ask() returns the answer and what it was made from", async () => {
  const parts = stubParts();
  parts.exchange.on(ROUTE, { json: ANSWER });
  assertEquals(await ask(parts, "What?"), ANSWER);
  const { body, timeoutMs } = parts.exchange.requestTo(ROUTE);
  assertEquals(body, { question: "What?", limit: 5, namespace: "default" });
  assertEquals(timeoutMs, 60_000);
});

Deno.test("ask() sends limit, namespace and weights", async () => {
  const parts = stubParts();
  parts.exchange.on(ROUTE, { json: ANSWER });
  await ask(parts, "What?", {
    limit: 2,
    namespace: "n",
    scoringWeights: { importance: 1 },
  });
  assertEquals(parts.exchange.requestTo(ROUTE).body, {
    question: "What?",
    limit: 2,
    namespace: "n",
    scoring_weights: { importance: 1 },
  });
});

Deno.test("ask() sends nothing when an argument is wrong", async () => {
  const parts = stubParts();
  await assertRejects(() => ask(parts, 1 as never), TypeError);
  await assertRejects(() => ask(parts, "q", { limit: NaN }), TypeError);
  assertEquals(parts.exchange.requests, []);
});
