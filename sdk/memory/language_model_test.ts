import { assertEquals, assertRejects } from "@std/assert";
import {
  analyze,
  analyzeAndWait,
  type AnalyzeOptions,
  ask,
} from "./language_model.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";

const ANALYZE = "POST /api/analyze";

function accepting(facts: readonly object[] = []): StubParts {
  const parts = stubParts();
  parts.exchange.on(ANALYZE, {
    status: 202,
    json: {
      job_ids: facts.map((_, index) => `j${index}`),
      facts,
      fact_count: facts.length,
      status: "pending",
      owner: "0x1",
    },
  });
  return parts;
}

async function sent(options: AnalyzeOptions) {
  const parts = accepting();
  await analyze(parts, "text", options);
  return parts.exchange.requestTo(ANALYZE);
}

Deno.test("analyze() has 60 s and a body without what is unset", async () => {
  const { body, timeoutMs } = await sent({});
  assertEquals(body, { text: "text", namespace: "default" });
  assertEquals(timeoutMs, 60_000);
});

Deno.test("analyze() returns facts and their jobs", async () => {
  const parts = accepting([{ text: "f", id: "j0", job_id: "j0" }, {
    text: "g",
    id: "j1",
  }]);
  assertEquals(await analyze(parts, "text"), {
    job_ids: ["j0", "j1"],
    facts: [
      { text: "f", id: "j0", job_id: "j0" },
      { text: "g", id: "j1", job_id: "j1" },
    ],
    fact_count: 2,
    status: "pending",
    owner: "0x1",
  });
});

Deno.test("analyze() sends when it happened in RFC 3339", async () => {
  for (
    const [occurredAt, sentAs] of [
      [new Date(0), "1970-01-01T00:00:00.000Z"],
      ["2026-07-01T01:00:00+09:00", "2026-07-01T01:00:00+09:00"],
      ["2026-07-01", "2026-07-01T00:00:00.000Z"],
    ] as const
  ) {
    const { body } = await sent({ namespace: "n", occurredAt });
    assertEquals(body, {
      text: "text",
      namespace: "n",
      occurred_at: sentAs,
    });
  }
});

Deno.test("analyze() refuses a time that is none before anything is sent", async () => {
  const parts = accepting();
  for (const occurredAt of [new Date(NaN), "yesterday", "", 5, null, {}]) {
    await assertRejects(
      () => analyze(parts, "text", { occurredAt: occurredAt as Date }),
      TypeError,
    );
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("analyzeAndWait() waits for every fact", async () => {
  const facts = [{ text: "f", id: "j0", job_id: "j0" }];
  const parts = accepting(facts);
  parts.exchange.on("POST /api/remember/bulk/status", {
    json: { results: [{ job_id: "j0", status: "done", blob_id: "b" }] },
  });
  const outcome = await analyzeAndWait(parts, "text", { namespace: "n" });
  assertEquals(outcome, {
    results: [{
      id: "j0",
      job_id: "j0",
      blob_id: "b",
      namespace: "n",
      status: "done",
    }],
    total: 1,
    succeeded: 1,
    failed: 0,
    timedOut: 0,
    facts,
    owner: "0x1",
  });
});

Deno.test("analyzeAndWait() waits for nothing when there is no fact", async () => {
  const parts = accepting();
  const { total, facts } = await analyzeAndWait(parts, "text");
  assertEquals([total, facts], [0, []]);
  assertEquals(parts.exchange.requests.length, 1);
});

const ASK = "POST /api/ask";
const ANSWER = {
  answer: "Tea.",
  memories_used: 1,
  memories: [{ blob_id: "b", text: "Ada drinks tea", distance: 0.2 }],
};

Deno.test("ask() returns the answer and what it was made from", async () => {
  const parts = stubParts();
  parts.exchange.on(ASK, { json: ANSWER });
  assertEquals(await ask(parts, "What?"), ANSWER);
  const { body, timeoutMs } = parts.exchange.requestTo(ASK);
  assertEquals(body, {
    question: "What?",
    limit: 5,
    namespace: "default",
    ranking: "fused",
  });
  assertEquals(timeoutMs, 60_000);
});

Deno.test("ask() sends limit, namespace, weights and ranking", async () => {
  const parts = stubParts();
  parts.exchange.on(ASK, { json: ANSWER });
  await ask(parts, "What?", {
    limit: 2,
    namespace: "n",
    scoringWeights: { importance: 1 },
    ranking: "semantic",
    explain: true,
  });
  assertEquals(parts.exchange.requestTo(ASK).body, {
    question: "What?",
    limit: 2,
    namespace: "n",
    scoring_weights: { importance: 1 },
    ranking: "semantic",
    explain: true,
  });
});

Deno.test("ask() sends nothing when an argument is wrong", async () => {
  const parts = stubParts();
  await assertRejects(() => ask(parts, 1 as never), TypeError);
  await assertRejects(() => ask(parts, "q", { limit: NaN }), TypeError);
  await assertRejects(
    () => ask(parts, "q", { ranking: "best" as never }),
    TypeError,
    'Cannot use ranking: it is neither "semantic" nor "fused"',
  );
  assertEquals(parts.exchange.requests, []);
});

Deno.test("ask() goes by the client's ranking where the call names none, and tells a relayer without rankings of none", async () => {
  const listRankings = async (changes: Partial<StubParts>) => {
    const parts = stubParts(changes);
    parts.exchange.on(ASK, { json: ANSWER });
    await ask(parts, "What?", {});
    await ask(parts, "What?", { ranking: "fused" });
    return parts.exchange.requestsTo(ASK)
      .map(({ body }) => Object(body).ranking);
  };
  assertEquals(await listRankings({}), ["fused", "fused"]);
  assertEquals(await listRankings({ ranking: "semantic" }), [
    "semantic",
    "fused",
  ]);
  assertEquals(
    await listRankings({ canRank: () => Promise.resolve(false) }),
    [undefined, undefined],
  );
});
