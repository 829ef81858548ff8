import { assertEquals } from "@std/assert";
import { withoutUndefined } from "../../../../tests/support/without_undefined.ts";
import { ANN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";

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
