import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import type { RecalledMemory } from "../../recall/recall_request.ts";
import { ANN, createRecall } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";

const TEA: RecalledMemory = {
  id: "m1",
  blobId: "b1",
  text: "I like tea",
  distance: 0.25,
  createdAtMs: 1_700_000_000_000,
  importance: 0.5,
  metadata: {},
};

Deno.test("POST /api/recall hands a plain question on with its defaults", async () => {
  const { call, recall } = openTestRelayer();
  const { status, json } = await call("POST", "/api/recall", {
    body: { query: "tea" },
  });
  assertEquals(status, 200);
  assertEquals(json, { results: [], total: 0 });
  const { signal, pausing, ...request } = recall.requests[0] ?? {};
  assertEquals(signal?.aborted, false);
  assert(pausing !== undefined);
  assertEquals(withoutUndefined(request), {
    owner: ANN.owner,
    namespace: "default",
    query: "tea",
    limit: 10,
    ordering: { kind: "relevance" },
    deadlineMs: 60_000,
  });
});

Deno.test("POST /api/recall shows memories as clients know them", async () => {
  const { call, recall } = openTestRelayer();
  recall.outcome = {
    kind: "ok",
    memories: [TEA, {
      ...TEA,
      id: "m2",
      score: 1.5,
      metadata: { project: "x" },
    }],
    dropped: 3,
    omittedIds: [],
    readBytes: 0,
    isPartial: true,
  };
  const { json } = await call("POST", "/api/recall", {
    body: { query: "tea" },
  });
  const shown = {
    blob_id: "b1",
    text: "I like tea",
    distance: 0.25,
    created_at: "2023-11-14T22:13:20.000Z",
  };
  assertEquals(json, {
    results: [
      { id: "m1", ...shown },
      { id: "m2", ...shown, score: 1.5, metadata: { project: "x" } },
    ],
    total: 2,
    dropped_count: 3,
    partial: true,
  });
});

Deno.test("POST /api/recall hands on what ranks, and shows relevance and what it is made of", async () => {
  const { call, recall } = openTestRelayer();
  recall.outcome = createRecall([{
    ...TEA,
    relevance: 0.123456,
    explanation: { parts: { words: 2.000049 }, matched: ["tea"] },
  }]);
  const { json } = await call("POST", "/api/recall", {
    body: { query: "tea", ranking: "fused", explain: true },
  });
  const { ranking, explain } = recall.requests[0] ?? {};
  assertEquals({ ranking, explain }, { ranking: "fused", explain: true });
  const { results: [shown] } = json as { results: Record<string, unknown>[] };
  assertEquals(shown?.["relevance"], 0.1235);
  assertEquals(shown?.["explanation"], {
    parts: { words: 2 },
    matched: ["tea"],
  });
  const refused = await call("POST", "/api/recall", {
    body: { query: "tea", ranking: "best" },
  });
  assertEquals(refused.status, 400);
  assert(JSON.stringify(refused.json).includes("ranking"));
});

Deno.test("POST /api/recall names what it had no room for, and gives that by its ids", async () => {
  const { call, recall } = openTestRelayer();
  recall.outcome = createRecall([TEA], { omittedIds: ["m2", "m3"] });
  const { json } = await call("POST", "/api/recall", {
    body: { query: "tea" },
  });
  const { results: _results, ...rest } = json as Record<string, unknown>;
  assertEquals(rest, {
    total: 1,
    truncated: true,
    omitted_ids: ["m2", "m3"],
  });
  const body = { query: "tea", ids: ["m2", "m3"] };
  assertEquals((await call("POST", "/api/recall", { body })).status, 200);
  const { ids, limit } = recall.requests.at(-1) ?? {};
  assertEquals([ids, limit], [["m2", "m3"], 2]);
  const many = Array.from({ length: 101 }, (_, at) => `m${at}`);
  for (const ids of [[], many, ["a b"], "m2", [1]]) {
    const body = { query: "tea", ids };
    assertEquals((await call("POST", "/api/recall", { body })).status, 400);
  }
});

Deno.test("POST /api/recall costs points by the bytes that were read and answered with", async () => {
  const { call, recall, spent } = openTestRelayer({ pointBytes: 1_000 });
  const text = "x".repeat(2_500);
  recall.outcome = createRecall([{ ...TEA, text }], { readBytes: 1_600 });
  await call("POST", "/api/recall", {
    body: { query: "tea", filler: "y".repeat(1_000) },
  });
  // The route costs 1 point, the body 1, and the 1,600 bytes read with about
  // 2,650 bytes answered cost 4.
  assertEquals(spent.map(({ points }) => points), [1, 1, 4]);
});

Deno.test("POST /api/recall costs nothing by bytes when a point has none", async () => {
  const { call, recall, spent } = openTestRelayer({ pointBytes: 0 });
  recall.outcome = createRecall([TEA], { readBytes: 1e9 });
  await call("POST", "/api/recall", { body: { query: "tea" } });
  assertEquals(spent.map(({ points }) => points), [1]);
});

Deno.test("POST /api/recall caps the limit", async () => {
  const { call, recall } = openTestRelayer();
  for (const [limit, taken] of [[1, 1], [100, 100], [101, 100], [1e9, 100]]) {
    await call("POST", "/api/recall", { body: { query: "tea", limit } });
    assertEquals(recall.requests.at(-1)?.limit, taken);
  }
});

Deno.test("POST /api/recall chooses the order as the contract says", async () => {
  const { call, recall } = openTestRelayer();
  const weights = {
    semantic: 1,
    recency: 0,
    recencyHalfLifeDays: 30,
    importance: 0,
  };
  const cases = [
    [{}, { kind: "relevance" }],
    [{ sort: "relevance" }, { kind: "relevance" }],
    [{ sort: "recent" }, { kind: "recent" }],
    [{ sort: "relevance", scoring_weights: { recency: 1 } }, {
      kind: "relevance",
    }],
    [{ sort: "recent", scoring_weights: { recency: 1 } }, { kind: "recent" }],
    [{ scoring_weights: { semantic: 5 } }, { kind: "relevance" }],
    [{ scoring_weights: {} }, { kind: "relevance" }],
    [{ scoring_weights: { recency: 2 } }, {
      kind: "weighed",
      weights: { ...weights, recency: 2 },
    }],
    [{
      scoring_weights: {
        semantic: 0,
        importance: 100,
        recency_half_life_days: 365,
      },
    }, {
      kind: "weighed",
      weights: {
        semantic: 0,
        recency: 0,
        recencyHalfLifeDays: 365,
        importance: 100,
      },
    }],
  ] as const;
  for (const [members, ordering] of cases) {
    const what = JSON.stringify(members);
    const { status } = await call("POST", "/api/recall", {
      body: { query: "tea", ...members },
    });
    assertEquals(status, 200, what);
    assertEquals(recall.requests.at(-1)?.ordering, ordering, what);
  }
});

Deno.test("POST /api/recall hands filters on", async () => {
  const { call, recall } = openTestRelayer();
  await call("POST", "/api/recall", {
    body: { query: "tea", filter: { project: "x", done: true } },
  });
  assertEquals(recall.requests[0]?.filter, { project: "x", done: true });
});

Deno.test("POST /api/recall says where the time ran out", async () => {
  const { call, recall } = openTestRelayer();
  recall.outcome = { kind: "timeout", stage: "vector_search", elapsedMs: 12.4 };
  const { status, json } = await call("POST", "/api/recall", {
    body: { query: "tea", deadline_ms: 5 },
  });
  assertEquals(status, 504);
  const error = "Cannot recall: the deadline was over after 12 ms";
  assertEquals(json, {
    error,
    message: error,
    code: "RECALL_TIMEOUT",
    stage: "vector_search",
    elapsed_ms: 12,
  });
});

Deno.test("POST /api/recall counts what letting the caller in took", async () => {
  const relayer = openTestRelayer();
  const { clock, models, parts, recall } = relayer;
  const take = parts.rateLimits.take.bind(parts.rateLimits);
  let admissionMs = 400;
  parts.rateLimits.take = (caller, points) => {
    clock.advance(admissionMs);
    return take(caller, points);
  };
  models.rate = { kind: "ok" };
  const body = { query: "tea", deadline_ms: 1_000 };
  await relayer.call("POST", "/api/recall", { body });
  assertAlmostEquals(recall.requests[0]?.deadlineMs ?? 0, 600);
  admissionMs = 1_000;
  const late = await relayer.call("POST", "/api/recall", { body });
  assertEquals(late.status, 504);
  assertEquals((late.json as { stage: string }).stage, "auth");
  assertEquals(recall.requests.length, 1);
});

Deno.test("POST /api/recall says what it needs when the owner's key cannot be had", async () => {
  const { call, recall } = openTestRelayer();
  const send = () => call("POST", "/api/recall", { body: { query: "tea" } });
  recall.outcome = { kind: "locked", why: "session_required" };
  const locked = await send();
  assertEquals(locked.status, 403);
  assertEquals((locked.json as { code: string }).code, "SESSION_REQUIRED");
  recall.outcome = { kind: "locked", why: "refused" };
  const refused = await send();
  assertEquals(refused.status, 403);
  assertEquals((refused.json as { code: string }).code, "KEY_REFUSED");
  recall.outcome = { kind: "locked", why: "key_servers_away" };
  const { status, headers } = await send();
  assertEquals(
    [status, headers["retry-after"], headers["x-auth-error"]],
    [503, "5", "KEY_SERVERS_UNAVAILABLE"],
  );
});

Deno.test("POST /api/recall answers 503 when a part does not answer", async () => {
  const { call, recall } = openTestRelayer();
  recall.outcome = { kind: "unavailable", retryAfterMs: 1_500 };
  const { status, headers } = await call("POST", "/api/recall", {
    body: { query: "tea" },
  });
  assertEquals([status, headers["retry-after"]], [503, "2"]);
});
