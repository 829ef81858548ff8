import { assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import { goneSignal } from "../../concurrency/bounded_work.ts";
import { sampleJob, storeSample } from "../testing/sample_rows.ts";
import { ANN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";
import { testRequest } from "../testing/test_request.ts";

Deno.test("POST /api/remember takes a text in and answers with its job", async () => {
  const { call, intake } = openTestRelayer();
  const { status, json } = await call("POST", "/api/remember", {
    body: { text: "I like tea" },
  });
  assertEquals(status, 202);
  assertEquals(json, { job_id: "job-1", status: "running" });
  assertEquals(withoutUndefined(intake.accepted), [{
    caller: ANN,
    texts: [{ text: "I like tea", namespace: "default" }],
    options: { status: "running" },
  }]);
});

Deno.test("POST /api/remember hands on everything that may be said of a text", async () => {
  const { call, intake } = openTestRelayer();
  await call("POST", "/api/remember", {
    body: {
      text: "🍵",
      namespace: "work",
      importance: 0,
      metadata: { project: "x", n: 1, done: false },
      supersedes: "old_1",
      idempotency_key: "k1",
      unknown: [1],
    },
  });
  const [accepted] = intake.accepted;
  assertEquals(accepted?.texts, [{
    text: "🍵",
    namespace: "work",
    importance: 0,
    metadata: { project: "x", n: 1, done: false },
    supersedes: "old_1",
  }]);
  assertEquals(accepted?.options, {
    status: "running",
    idempotencyKey: "k1",
  });
});

Deno.test("POST /api/remember takes null for what a client has not", async () => {
  const { call, intake } = openTestRelayer();
  const { status } = await call("POST", "/api/remember", {
    body: {
      text: "tea",
      namespace: null,
      metadata: null,
      idempotency_key: null,
    },
  });
  assertEquals(status, 202);
  assertEquals(withoutUndefined(intake.accepted[0]?.texts), [
    { text: "tea", namespace: "default" },
  ]);
});

Deno.test("POST /api/remember takes texts and names up to their bounds", async () => {
  const { call, intake } = openTestRelayer();
  const bodies = [
    { text: "x".repeat(1_048_576) },
    { text: "tea", namespace: "x".repeat(255) },
    { text: "tea", importance: 1, supersedes: "A_-9".repeat(16) },
  ];
  for (const body of bodies) {
    assertEquals((await call("POST", "/api/remember", { body })).status, 202);
  }
  assertEquals(intake.accepted.length, 3);
});

Deno.test("POST /api/remember takes the last of members with one name", async () => {
  const { call, intake } = openTestRelayer();
  await call("POST", "/api/remember", {
    body: '\ufeff{"text":"first","text":"last"}',
  });
  assertEquals(intake.accepted[0]?.texts[0]?.text, "last");
});

Deno.test("POST /api/remember says why a text is not taken in", async () => {
  const { call, intake } = openTestRelayer();
  const cases = [
    [{ kind: "key_reused" }, 409, undefined],
    [{ kind: "nothing_to_supersede", id: "m9" }, 404, undefined],
    [{ kind: "over_quota", quotaBytes: 1_000 }, 402, undefined],
    [{ kind: "busy", retryAfterMs: 2_000 }, 503, "2"],
  ] as const;
  for (const [outcome, status, retryAfter] of cases) {
    intake.outcome = outcome;
    for (const target of ["/api/remember", "/api/remember/bulk"]) {
      const answer = await call("POST", target, {
        body: { text: "tea", items: [{ text: "tea" }] },
      });
      assertEquals(answer.status, status, outcome.kind);
      assertEquals(answer.headers["retry-after"], retryAfter);
    }
  }
});

Deno.test("POST /api/remember/bulk takes texts in together", async () => {
  const { call, intake, spent } = openTestRelayer();
  const { status, json } = await call("POST", "/api/remember/bulk", {
    body: {
      items: [{ text: "a" }, { text: "b", namespace: "n", supersedes: "m1" }],
      idempotency_key: "k",
    },
  });
  assertEquals(status, 202);
  assertEquals(json, {
    job_ids: ["job-1", "job-2"],
    total: 2,
    status: "running",
  });
  assertEquals(withoutUndefined(intake.accepted), [{
    caller: ANN,
    texts: [
      { text: "a", namespace: "default" },
      { text: "b", namespace: "n", supersedes: "m1" },
    ],
    options: { status: "running", idempotencyKey: "k" },
  }]);
  assertEquals(spent.map(({ points }) => points), [10]);
});

Deno.test("POST /api/remember/bulk names the item that is wrong", async () => {
  const { call } = openTestRelayer();
  const { json } = await call("POST", "/api/remember/bulk", {
    body: { items: [{ text: "a" }, { text: " " }] },
  });
  assertEquals(json, {
    error: 'Cannot remember texts: "items[1].text" is blank',
  });
});

Deno.test("GET /api/remember/{id} tells where a job is", async () => {
  const { call, store } = openTestRelayer();
  store.putJob(sampleJob(ANN, { id: "j1", status: "pending", error: "once" }));
  store.putJob(sampleJob(ANN, { id: "j2", status: "done", blobId: "b2" }));
  store.putJob(sampleJob(ANN, { id: "j3", status: "failed", error: "why" }));
  const first = await call("GET", "/api/remember/j1");
  const base = { owner: ANN.owner, namespace: "default" };
  assertEquals(first.status, 200);
  assertEquals(first.json, { job_id: "j1", status: "pending", ...base });
  assertEquals((await call("GET", "/api/remember/j2")).json, {
    job_id: "j2",
    status: "done",
    ...base,
    blob_id: "b2",
    vector: "ready",
  });
  assertEquals((await call("GET", "/api/remember/j3")).json, {
    job_id: "j3",
    status: "failed",
    ...base,
    error: "why",
  });
});

Deno.test("GET /api/remember/{id} tells why a job is tried again, and when", async () => {
  const { call, store } = openTestRelayer();
  store.putJob(sampleJob(ANN, {
    ...{ id: "j1", status: "running", attempts: 3, error: "away" },
    nextAttemptAtMs: Date.UTC(2030, 0, 2),
  }));
  const { json } = await call("GET", "/api/remember/j1");
  assertEquals(json, {
    job_id: "j1",
    status: "running",
    owner: ANN.owner,
    namespace: "default",
    retrying: {
      attempts: 3,
      reason: "away",
      next_at: "2030-01-02T00:00:00.000Z",
    },
  });
});

Deno.test("GET /api/remember/{id} knows what was stored when the job is forgotten", async () => {
  const relayer = openTestRelayer();
  const { blobId } = await storeSample(relayer, ANN, { id: "m1" });
  const { json } = await relayer.call("GET", "/api/remember/m1");
  assertEquals(json, {
    job_id: "m1",
    status: "done",
    owner: ANN.owner,
    namespace: "default",
    blob_id: blobId,
  });
});

Deno.test("GET /api/remember/{id} answers 404 for another's job and for none", async () => {
  const { call, store } = openTestRelayer();
  store.putJob(sampleJob(ANN, { id: "j1" }));
  for (const [id, as] of [["j1", "ben"], ["j2", "ann"]] as const) {
    const { status, json } = await call("GET", `/api/remember/${id}`, { as });
    assertEquals(status, 404);
    assertEquals(json, { error: "Cannot find job: it does not exist" });
  }
});

Deno.test("GET /api/remember/{id} waits as long as asked, at most 20 seconds", async () => {
  const { call, asked, store } = openTestRelayer();
  store.putJob(sampleJob(ANN, { id: "j1" }));
  const waits = [["", 0], ["?wait=0", 0], ["?wait=7", 7_000], [
    "?wait=1000000",
    20_000,
  ]] as const;
  for (const [query, waitMs] of waits) {
    await call("GET", `/api/remember/j1${query}`);
    const { waitMs: waited } = asked.at(-1)?.with as { waitMs: number };
    assertEquals(waited, waitMs, query);
  }
});

Deno.test("GET /api/remember/{id} stops waiting when the client goes away", async () => {
  const gone = new AbortController();
  const { promise: waiting, resolve: onWait } = Promise.withResolvers<void>();
  const { call } = openTestRelayer({
    jobWatch: {
      tell: () => {},
      wait(_owner, _id, { signal }) {
        onWait();
        return new Promise((resolve) =>
          signal?.addEventListener("abort", () => resolve(undefined))
        );
      },
    },
  });
  const answer = call("GET", "/api/remember/j1?wait=20", {
    signal: gone.signal,
  });
  await waiting;
  gone.abort();
  assertEquals((await answer).status, 404);
});

Deno.test("goneSignal() is aborted at once for a client that has gone", () => {
  const { signal, release } = goneSignal(
    testRequest({ method: "GET", target: "/", signal: AbortSignal.abort() }),
  );
  assertEquals(signal.aborted, true);
  release();
});

Deno.test("POST /api/remember/bulk/status answers in the order of asking", async () => {
  const relayer = openTestRelayer();
  const { call, store } = relayer;
  store.putJob(sampleJob(ANN, { id: "j1", status: "running" }));
  store.putJob(sampleJob(ANN, { id: "j2", status: "failed", error: "why" }));
  const { blobId } = await storeSample(relayer, ANN, { id: "m1" });
  const { status, json } = await call("POST", "/api/remember/bulk/status", {
    body: { job_ids: ["m1", "no such", "j2", "j1", "j9", "j1"] },
  });
  assertEquals(status, 200);
  const running = { job_id: "j1", status: "running", namespace: "default" };
  assertEquals(json, {
    results: [
      { job_id: "m1", status: "done", namespace: "default", blob_id: blobId },
      { job_id: "no such", status: "not_found" },
      { job_id: "j2", status: "failed", namespace: "default", error: "why" },
      running,
      { job_id: "j9", status: "not_found" },
      running,
    ],
  });
});
