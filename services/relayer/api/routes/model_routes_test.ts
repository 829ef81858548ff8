import { assertEquals } from "@std/assert";
import { ANN, createRecall } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";

const KNOWN = {
  id: "m1",
  blobId: "b1",
  text: "I like tea",
  distance: 0.25,
  createdAtMs: 1_700_000_000_000,
  importance: 0.5,
};

Deno.test("POST /api/embed answers with the vector and stores nothing", async () => {
  const { call, asked, store } = openTestRelayer();
  const { status, json } = await call("POST", "/api/embed", {
    body: { text: "tea" },
  });
  assertEquals(status, 200);
  assertEquals(json, { vector: [1, 0, 0, 0] });
  assertEquals(asked, [{ what: "embed", with: ["tea"] }]);
  assertEquals(store.commits, []);
});

Deno.test("model routes answer 503 with a number when the model does not answer", async () => {
  const { call, models, intake, logger } = openTestRelayer();
  const gone = { kind: "unavailable", reason: "refused", retryAfterMs: 3_000 };
  models.embedded = { ...gone, kind: "unavailable", isPassing: true };
  models.extracted = { ...gone, kind: "unavailable" };
  models.answered = { ...gone, kind: "unavailable" };
  models.restored = { kind: "unavailable", reason: "late" };
  const targets = ["/api/embed", "/api/analyze", "/api/ask", "/api/restore"];
  for (const target of targets) {
    const { status, headers, json } = await call("POST", target, {
      body: { text: "tea", question: "tea?" },
    });
    assertEquals(status, 503, target);
    const retryAfter = target === "/api/restore" ? "5" : "3";
    assertEquals(headers["retry-after"], retryAfter, target);
    const { trace_id } = json as { trace_id: string };
    assertEquals(trace_id, logger.lines.at(-1)?.fields["trace"]);
    assertEquals(logger.lines.at(-1)?.fields["route"], `POST ${target}`);
  }
  assertEquals(intake.accepted, []);
});

Deno.test("POST /api/analyze takes each fact in as a memory of its own", async () => {
  const { call, asked, clock, intake, models, recall, spent } =
    openTestRelayer();
  models.extracted = {
    kind: "ok",
    facts: [{ text: "Ann likes tea", importance: 0.9 }, {
      text: "Ann has a cat",
      importance: 0.5,
    }],
  };
  recall.outcome = createRecall([KNOWN]);
  const { status, json } = await call("POST", "/api/analyze", {
    body: {
      text: "I like tea and have a cat",
      namespace: "n",
      occurred_at: "2026-01-31T10:00:00+02:00",
    },
  });
  assertEquals(status, 202);
  assertEquals(json, {
    job_ids: ["job-1", "job-2"],
    facts: [
      { text: "Ann likes tea", id: "job-1", job_id: "job-1" },
      { text: "Ann has a cat", id: "job-2", job_id: "job-2" },
    ],
    fact_count: 2,
    status: "pending",
    owner: ANN.owner,
  });
  assertEquals(intake.accepted[0]?.texts, [
    { text: "Ann likes tea", importance: 0.9, namespace: "n" },
    { text: "Ann has a cat", importance: 0.5, namespace: "n" },
  ]);
  assertEquals(intake.accepted[0]?.options, { status: "pending" });
  const { signal: _signal, pausing: _pausing, ...request } = asked[0]
    ?.with as Record<
      string,
      unknown
    >;
  assertEquals(request, {
    text: "I like tea and have a cat",
    known: ["I like tea"],
    nowMs: clock.nowMs(),
    occurredAtMs: Date.UTC(2026, 0, 31, 8),
    keep: undefined,
  });
  const known = recall.requests[0];
  assertEquals(
    [known?.limit, known?.deadlineMs, known?.namespace],
    [10, 1_600, "n"],
  );
  assertEquals(spent.map(({ points }) => points), [5, 2]);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("POST /api/analyze shows no more of a known memory than a fact may have", async () => {
  const { call, asked, models, recall } = openTestRelayer();
  models.extracted = { kind: "ok", facts: [] };
  const text = `${"x".repeat(999)}\ud83d\ude00${"tea ".repeat(100_000)}`;
  recall.outcome = createRecall([{ ...KNOWN, text }]);
  await call("POST", "/api/analyze", { body: { text: "I like tea" } });
  const shown = JSON.stringify(asked);
  assertEquals(shown.includes(`["${"x".repeat(999)}\ufffd"]`), true, shown);
});

Deno.test("POST /api/analyze finds nothing and takes nothing in", async () => {
  const { call, intake, spent } = openTestRelayer();
  const { status, json } = await call("POST", "/api/analyze", {
    body: { text: "hm" },
  });
  assertEquals(status, 202);
  assertEquals(json, {
    job_ids: [],
    facts: [],
    fact_count: 0,
    status: "pending",
    owner: ANN.owner,
  });
  assertEquals(intake.accepted, []);
  assertEquals(spent.map(({ points }) => points), [5]);
});

Deno.test("POST /api/analyze goes on without known memories, and takes 20 facts at most", async () => {
  const { call, intake, models, recall } = openTestRelayer();
  recall.outcome = { kind: "timeout", stage: "embed", elapsedMs: 1_600 };
  const odd = [" ", "half \ud83d", "x".repeat(65_537)].map((text) => ({
    text,
    importance: 0.5,
  }));
  const wild = { text: "too important", importance: 9 };
  const facts = Array.from({ length: 30 }, (_, place) => ({
    text: `fact ${place}`,
    importance: 0.2,
  }));
  models.extracted = { kind: "ok", facts: [...odd, wild, ...facts] };
  const { json } = await call("POST", "/api/analyze", { body: { text: "x" } });
  assertEquals((json as { fact_count: number }).fact_count, 20);
  assertEquals(intake.accepted[0]?.texts.length, 20);
  assertEquals(intake.accepted[0]?.texts[0]?.text, "fact 0");
});

Deno.test("POST /api/analyze gives up on an extractor that takes too long", async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { call, clock } = openTestRelayer({
    extractor: {
      name: "slow",
      extract(_text, { signal }) {
        begin();
        return new Promise((resolve) =>
          signal?.addEventListener(
            "abort",
            () => resolve({ kind: "unavailable", reason: "ended" }),
          )
        );
      },
    },
  });
  const answer = call("POST", "/api/analyze", { body: { text: "x" } });
  await begun;
  clock.advance(50_000);
  assertEquals((await answer).status, 503);
});

Deno.test("POST /api/ask answers and tells what the answer rests on", async () => {
  const { call, asked, clock, models, recall } = openTestRelayer();
  recall.outcome = {
    kind: "ok",
    memories: [KNOWN, { ...KNOWN, id: "m2", text: "I have a cat" }],
    dropped: 0,
    omittedIds: [],
    readBytes: 0,
  };
  // A model may name a memory that it was never shown.
  models.answered = { kind: "ok", answer: "A cat", used: [1, 7] };
  const { status, json } = await call("POST", "/api/ask", {
    body: { question: "What pet?" },
  });
  assertEquals(status, 200);
  assertEquals(json, {
    answer: "A cat",
    memories_used: 1,
    memories: [{
      id: "m2",
      blob_id: "b1",
      text: "I have a cat",
      distance: 0.25,
      created_at: "2023-11-14T22:13:20.000Z",
    }],
  });
  assertEquals(recall.requests[0]?.limit, 5);
  const { memories } = asked[0]?.with as { memories: readonly unknown[] };
  assertEquals(memories.length, 2);
  assertEquals(clock.pendingTimers, 0);
});
