import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { MemError } from "./errors.ts";
import { readRecallArguments, recall } from "./recall.ts";
import type { RecallOptions } from "./recall_types.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";
import { StubRelayer } from "./testing/stub_relayer.ts";

const ROUTE = "POST /api/recall";
const HITS = [
  { blob_id: "b1", text: "one", distance: 0.1 },
  { blob_id: "b2", text: "two", distance: 0.5 },
];

function partsWith(json: unknown = { results: HITS, total: 2 }): StubParts {
  const parts = stubParts();
  parts.exchange.on(ROUTE, { json });
  return parts;
}

async function sent(options: RecallOptions, parts = partsWith()) {
  await recall(parts, ["q", options]);
  return parts.exchange.requestTo(ROUTE);
}

Deno.test("recall() sends a plain question and nothing that is unset", async () => {
  const { body, timeoutMs } = await sent({});
  assertEquals(body, {
    query: "q",
    limit: 10,
    namespace: "default",
    deadline_ms: 14_000,
  });
  assertEquals(timeoutMs, 15_000);
});

Deno.test("recall() refuses an unknown weight before anything is sent", async () => {
  const parts = partsWith();
  const scoringWeights = { semantic: 1, recencyHalflife: 3 };
  const error = await assertRejects(
    () => sent({ scoringWeights }, parts),
    TypeError,
  );
  assertEquals(
    error.message,
    'Cannot use scoringWeights: there is no weight "recencyHalflife", but ' +
      "semantic, recency, recencyHalfLifeDays, importance",
  );
  assertEquals(parts.exchange.requests.length, 0);
});

Deno.test("recall() sends order, weights, filter and namespace", async () => {
  const { body } = await sent({
    namespace: "notes",
    limit: 4,
    sort: "recent",
    scoringWeights: { recency: 2, recencyHalfLifeDays: 7 },
    filter: { person: "Ada", n: 1, ok: true },
  });
  assertEquals(body, {
    query: "q",
    limit: 4,
    namespace: "notes",
    deadline_ms: 14_000,
    sort: "recent",
    scoring_weights: { recency: 2, recency_half_life_days: 7 },
    filter: { person: "Ada", n: 1, ok: true },
  });
});

Deno.test("recall() sends ranking and explain, or the client's ranking, to a relayer that knows them", async () => {
  const sentBy = async (
    options: RecallOptions,
    changes: Partial<StubParts> = {},
  ) => {
    const exchange = new StubRelayer()
      .on(ROUTE, { json: { results: HITS, total: 2 } });
    const { body } = await sent(options, stubParts({ exchange, ...changes }));
    const { ranking, explain } = Object(body);
    return { ranking, explain };
  };
  const nothing = { ranking: undefined, explain: undefined };
  const fused = { ...nothing, ranking: "fused" as const };
  const semantic = { ...nothing, ranking: "semantic" as const };
  const canRank = () => Promise.resolve(false);
  assertEquals(await sentBy({ explain: false }), nothing);
  assertEquals(await sentBy(fused), fused);
  assertEquals(await sentBy({}, fused), fused);
  assertEquals(await sentBy(semantic, fused), semantic);
  const explained = { ...fused, explain: true };
  assertEquals(await sentBy(explained), explained);
  assertEquals(await sentBy({ explain: true }), { ...nothing, explain: true });
  assertEquals(await sentBy(explained, { canRank }), nothing);
  assertEquals(await sentBy({}, { ...fused, canRank }), nothing);
});

Deno.test("recall() asks what the relayer knows only where a ranking is wanted, and fails with that", async () => {
  const canRank = () => Promise.reject(new MemError("unreachable"));
  const exchange = partsWith().exchange;
  const parts = stubParts({ exchange, canRank });
  assertEquals((await recall(parts, ["q"])).total, 2);
  await assertRejects(
    () => recall(parts, ["q", { ranking: "fused" }]),
    MemError,
    "unreachable",
  );
  assertEquals(exchange.requests.length, 1);
});

Deno.test("recall() returns relevance and what it comes from", async () => {
  const explanation = { parts: { words: 2.5, speaker: 0 }, matched: ["tea"] };
  const json = {
    results: [
      { ...HITS[0], relevance: 0.7, explanation: { ...explanation, more: 1 } },
      { ...HITS[1], relevance: 1.2, explanation: { parts: { vector: 0.5 } } },
      { ...HITS[1], relevance: null, explanation: null },
    ],
    total: 3,
  };
  const { results } = await recall(partsWith(json), ["q"]);
  assertEquals(results, [
    { ...HITS[0]!, relevance: 0.7, explanation },
    {
      ...HITS[1]!,
      relevance: 1,
      explanation: { parts: { vector: 0.5 }, matched: [] },
    },
    HITS[1]!,
  ]);
  for (
    const wrong of [
      { relevance: "much" },
      { explanation: { parts: { words: "many" } } },
      { explanation: { parts: {}, matched: [1] } },
    ]
  ) {
    const answer = { results: [{ ...HITS[0], ...wrong }], total: 1 };
    await assertRejects(() => recall(partsWith(answer), ["q"]), MemError);
  }
});

Deno.test("recall() tells the relayer to end a second before the deadline", async () => {
  const deadlines: unknown[] = [];
  for (const timeoutMs of [5_000, 1_500.7, 1_000, 1]) {
    const request = await sent({ timeoutMs });
    assertEquals(request.timeoutMs, timeoutMs);
    deadlines.push((request.body as Record<string, unknown>)["deadline_ms"]);
  }
  assertEquals(deadlines, [4_000, 500, 1, 1]);
});

Deno.test("recall() has no deadline with timeoutMs 0", async () => {
  const { body, timeoutMs } = await sent({ timeoutMs: 0 });
  assertEquals(timeoutMs, Infinity);
  assertEquals(body, { query: "q", limit: 10, namespace: "default" });
});

Deno.test("recall() falls back to the client's deadline for one that is none", async () => {
  for (const timeoutMs of [-1, NaN]) {
    assertEquals((await sent({ timeoutMs })).timeoutMs, 15_000);
  }
});

Deno.test("recall() returns what it knows of a memory and leaves out the rest", async () => {
  const full = {
    id: "m1",
    blob_id: "b1",
    text: "one",
    distance: 0.1,
    created_at: "2026-07-01T00:00:00Z",
    score: 0.9,
    metadata: { person: "Ada" },
  };
  const parts = partsWith({
    results: [{ ...full, more: 1 }, { ...HITS[1], metadata: {}, score: null }],
    total: 2,
    dropped_count: 3,
  });
  assertEquals(await recall(parts, ["q"]), {
    results: [full, HITS[1]!],
    total: 2,
    dropped_count: 3,
  });
});

Deno.test("recall() takes an answer without a total and with nothing dropped", async () => {
  const parts = partsWith({ results: HITS, dropped_count: 0 });
  assertEquals(await recall(parts, ["q"]), { results: HITS, total: 2 });
});

Deno.test("recall() names what the answer had no room for, and asks for that by ids", async () => {
  const parts = partsWith({
    results: HITS,
    total: 2,
    truncated: true,
    omitted_ids: ["m3", "m4"],
  });
  const result = await recall(parts, ["q"]);
  assertEquals(result, {
    results: HITS,
    total: 2,
    truncated: true,
    omitted_ids: ["m3", "m4"],
  });
  const { body } = await sent({ ids: result.omitted_ids });
  assertEquals(body, {
    query: "q",
    limit: 2,
    namespace: "default",
    deadline_ms: 14_000,
    ids: ["m3", "m4"],
  });
  const whole = partsWith({ results: HITS, total: 2, truncated: false });
  assertEquals(await recall(whole, ["q"]), { results: HITS, total: 2 });
  const nameless = partsWith({ results: HITS, total: 2, truncated: true });
  await assertRejects(() => recall(nameless, ["q"]), MemError, "omitted_ids");
});

Deno.test("recall() leaves out what is at maxDistance or farther", async () => {
  const near = await recall(partsWith(), ["q", { maxDistance: 0.5 }]);
  assertEquals(near, { results: [HITS[0]!], total: 1 });
  const none = await recall(partsWith(), ["q", { maxDistance: 0 }]);
  assertEquals(none, { results: [], total: 0 });
});

Deno.test("recall() cuts to a token budget and says so", async () => {
  const counter = (text: string) => text.length;
  const options = { maxTokens: 4, countTokens: counter };
  assertEquals(await recall(partsWith(), ["q", options]), {
    results: [HITS[0]!],
    total: 1,
    meta: { tokenEstimate: 3, truncated: true },
  });
  const whole = await recall(partsWith(), ["q", { maxTokens: 100 }]);
  assertEquals(whole.meta, { tokenEstimate: 2, truncated: false });
});

Deno.test("recall() sends nothing when an argument is wrong", async () => {
  const parts = partsWith();
  await assertRejects(() => recall(parts, ["q", "n" as never]), TypeError);
  assertEquals(parts.exchange.requests, []);
});

Deno.test("recall() refuses an answer that is none", async () => {
  for (
    const json of [
      undefined,
      {},
      { results: 1 },
      { results: [{ ...HITS[0], distance: "near" }] },
      { results: [null] },
    ]
  ) {
    await assertRejects(() => recall(partsWith(json ?? []), ["q"]), MemError);
  }
});

const read = (...args: Parameters<typeof readRecallArguments>[0]) => {
  const { query, limit, namespace } = readRecallArguments(args);
  return { query, limit, namespace };
};

Deno.test("readRecallArguments() reads every form", () => {
  const all = { query: "q", limit: 3, namespace: "n" };
  assertEquals(read({ query: "q", limit: 3, namespace: "n" }), all);
  assertEquals(read("q", { limit: 3, namespace: "n" }), all);
  assertEquals(read("q", 3, "n"), all);
  assertEquals(read("q", 3), { ...all, namespace: undefined });
  assertEquals(read("q", undefined, "n"), { ...all, limit: 10 });
  const plain: Parameters<typeof readRecallArguments>[0][] = [["q"], [{
    query: "q",
  }], ["q", {}]];
  for (const args of plain) {
    assertEquals(read(...args), {
      query: "q",
      limit: 10,
      namespace: undefined,
    });
  }
});

Deno.test("readRecallArguments() prefers topK to limit", () => {
  assertEquals(read({ query: "q", limit: 3, topK: 7 }).limit, 7);
  assertEquals(read("q", { topK: 7 }).limit, 7);
});

Deno.test("readRecallArguments() refuses a namespace as the second argument", () => {
  const error = assertThrows(
    () => read("q", "notes" as never),
    TypeError,
  );
  assertEquals(
    error.message,
    "Cannot recall: the second argument is not a namespace; write recall({ " +
      'query, namespace: "notes" })',
  );
});

Deno.test("readRecallArguments() refuses what would be left out in silence", () => {
  for (
    const args of [
      ["q", { limit: 1 }, "n"],
      [{ query: "q" }, 5],
      [{ query: "q" }, undefined, "n"],
      ["q", null],
      ["q", true],
      [undefined],
      [{}],
      [null],
      ["q", 3, ""],
      ["q", NaN],
      ["q", { limit: "3" }],
      ["q", { topK: Infinity }],
      ["q", { namespace: 3 }],
      ["q", { sort: "newest" }],
      ["q", { ranking: "best" }],
      ["q", { ranking: null }],
      ["q", { explain: "yes" }],
      ["q", { maxDistance: NaN }],
      ["q", { maxTokens: NaN }],
      ["q", { truncationStrategy: "tail" }],
      ["q", { countTokens: 4 }],
      ["q", { filter: { deep: {} } }],
      ["q", { filter: [] }],
      ["q", { ids: [] }],
      ["q", { ids: ["a b"] }],
      ["q", { ids: "m1" }],
      ["q", { scoringWeights: { recency: NaN } }],
      ["q", { scoringWeights: 1 }],
    ]
  ) {
    assertThrows(
      () =>
        readRecallArguments(
          args as unknown as Parameters<typeof readRecallArguments>[0],
        ),
      TypeError,
    );
  }
});

Deno.test("readRecallArguments() takes a budget without an end as none", () => {
  const { maxTokens } = readRecallArguments([
    { query: "q", maxTokens: Infinity },
  ]);
  assertEquals(maxTokens, undefined);
});
