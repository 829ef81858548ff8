import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { MemError, RateLimitError, RememberJobNotFound } from "./errors.ts";
import {
  remember,
  rememberAndWait,
  rememberBulk,
  rememberBulkAndWait,
} from "./remember.ts";
import type { RememberOptions } from "./remember_types.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";
import type { StubScript } from "./testing/stub_relayer.ts";

const ROUTE = "POST /api/remember";
const ACCEPTED = { status: 202, json: { job_id: "j1", status: "running" } };

function accepting(): StubParts {
  const parts = stubParts();
  parts.exchange.on(ROUTE, ACCEPTED);
  return parts;
}

async function getSentKey(text: string, options: RememberOptions = {}) {
  const parts = accepting();
  await remember(parts, text, options);
  const { body } = parts.exchange.requestTo(ROUTE);
  return (body as Record<string, unknown>)["idempotency_key"];
}

Deno.test("remember() sends the text under a key of its own", async () => {
  const parts = accepting();
  assertEquals(await remember(parts, "tea"), {
    job_id: "j1",
    status: "running",
  });
  const { body, timeoutMs } = parts.exchange.requestTo(ROUTE);
  assertEquals(body, {
    text: "tea",
    namespace: "default",
    idempotency_key: await getSentKey("tea"),
  });
  assertEquals(timeoutMs, 30_000);
});

Deno.test("remember() sends everything it is given", async () => {
  const parts = accepting();
  const metadata = { person: "Ada", n: 1, ok: true };
  await remember(parts, "tea", {
    namespace: "n",
    idempotencyKey: "mine",
    metadata,
    supersedes: "m0",
    importance: 0.9,
  });
  assertEquals(parts.exchange.requestTo(ROUTE).body, {
    text: "tea",
    namespace: "n",
    idempotency_key: "mine",
    metadata,
    supersedes: "m0",
    importance: 0.9,
  });
});

Deno.test("remember() gives writes that differ in anything other keys", async () => {
  const options: RememberOptions[] = [
    {},
    { namespace: "n" },
    { metadata: { a: "1" } },
    { metadata: { a: 1 } },
    { supersedes: "m0" },
    { supersedes: "m1" },
    { importance: 1 },
  ];
  const keys = await Promise.all(
    options.map((each) => getSentKey("tea", each)),
  );
  assertEquals(new Set(keys).size, options.length);
  assertEquals(
    await getSentKey("tea", { metadata: { a: "1", b: "2" } }),
    await getSentKey("tea", { metadata: { b: "2", a: "1" } }),
  );
  assertEquals(await getSentKey("tea", { namespace: "default" }), keys[0]);
  assertNotEquals(await getSentKey("coffee"), keys[0]);
});

Deno.test("remember() sends the same key again after a lost answer, hours later too", async () => {
  const parts = stubParts();
  parts.exchange.on(
    ROUTE,
    { error: new MemError("lost", { status: 0 }) },
    ACCEPTED,
  );
  await assertRejects(() => remember(parts, "tea"));
  parts.clock.pass(3 * 3_600_000);
  await remember(parts, "tea");
  await remember(parts, "tea");
  const [lost, again, fresh] = parts.exchange.requests.map(({ body }) =>
    (body as Record<string, unknown>)["idempotency_key"]
  );
  assertEquals(again, lost);
  assertNotEquals(fresh, lost);
});

Deno.test("remember() sends nothing when an argument is wrong", async () => {
  const parts = accepting();
  for (
    const [text, options] of [
      [1, {}],
      [undefined, {}],
      ["tea", { namespace: "" }],
      ["tea", { namespace: 1 }],
      ["tea", { idempotencyKey: "" }],
      ["tea", { supersedes: "" }],
      ["tea", { metadata: { deep: {} } }],
      ["tea", { metadata: { n: NaN } }],
      ["tea", { metadata: "Ada" }],
      ["tea", { importance: "high" }],
    ] as const
  ) {
    await assertRejects(
      () => remember(parts, text as string, options as RememberOptions),
      TypeError,
    );
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("rememberAndWait() waits for the job it was given", async () => {
  const parts = accepting();
  parts.exchange.on("GET /api/remember/j1", {
    json: {
      job_id: "j1",
      status: "done",
      blob_id: "b1",
      owner: "0x1",
      namespace: "n",
    },
  });
  assertEquals(await rememberAndWait(parts, "tea", { namespace: "n" }), {
    id: "j1",
    job_id: "j1",
    blob_id: "b1",
    owner: "0x1",
    namespace: "n",
  });
});

Deno.test("rememberAndWait() throws when no memory comes of it", async () => {
  const error = await assertRejects(
    () => rememberAndWait(accepting(), "tea"),
    RememberJobNotFound,
  );
  assertEquals(error.jobId, "j1");
});

const BULK_ROUTE = "POST /api/remember/bulk";
const items = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ text: `t${index}` }));

function acceptingBulk(): StubParts {
  const parts = stubParts();
  parts.exchange.on(BULK_ROUTE, {
    status: 202,
    json: { job_ids: ["a", "b"], total: 2, status: "running" },
  });
  return parts;
}

Deno.test("rememberBulk() sends all texts with one request", async () => {
  const parts = acceptingBulk();
  const result = await rememberBulk(parts, [
    { text: "tea" },
    { text: "London", namespace: "places" },
  ]);
  assertEquals(result, { job_ids: ["a", "b"], total: 2, status: "running" });
  const { body } = parts.exchange.requestTo(BULK_ROUTE);
  const { idempotency_key, ...rest } = body as Record<string, unknown>;
  assertEquals(rest, {
    items: [
      { text: "tea", namespace: "default" },
      { text: "London", namespace: "places" },
    ],
  });
  assertMatch(String(idempotency_key), /^r1-[0-9a-f]{64}$/);
});

Deno.test("rememberBulk() sends what is said of each, and it makes another key", async () => {
  const parts = acceptingBulk();
  const notes = { metadata: { a: 1 }, supersedes: "m0", importance: 1 };
  await rememberBulk(parts, [{ text: "tea" }]);
  await rememberBulk(parts, [{ text: "tea", ...notes }]);
  const [plain, noted] = parts.exchange.requests.map(({ body }) =>
    body as { readonly items: unknown; readonly idempotency_key: string }
  );
  assertEquals(noted?.items, [{ text: "tea", namespace: "default", ...notes }]);
  assertNotEquals(noted?.idempotency_key, plain?.idempotency_key);
});

Deno.test("rememberBulk() prefers the caller's key", async () => {
  const parts = acceptingBulk();
  await rememberBulk(parts, items(20), { idempotencyKey: "mine" });
  const { body } = parts.exchange.requestTo(BULK_ROUTE);
  assertEquals((body as Record<string, unknown>)["idempotency_key"], "mine");
});

Deno.test("rememberBulk() sends nothing unless there are 1 to 20 texts", async () => {
  const parts = acceptingBulk();
  for (
    const wrong of [
      [],
      items(21),
      undefined,
      "tea",
      {},
      ["tea"],
      [null],
      [{ text: 1 }],
      [{ text: "tea", namespace: "" }],
      [{}],
      [{ text: "tea", metadata: { deep: {} } }],
      [{ text: "tea", supersedes: "" }],
    ]
  ) {
    await assertRejects(
      () => rememberBulk(parts, wrong as never),
      TypeError,
    );
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("rememberBulkAndWait() tells what became of each", async () => {
  const parts = acceptingBulk();
  parts.exchange.on("POST /api/remember/bulk/status", {
    json: {
      results: [
        { job_id: "a", status: "done", blob_id: "x" },
        { job_id: "b", status: "failed", error: "no disk" },
      ],
    },
  });
  const outcome = await rememberBulkAndWait(parts, [
    { text: "tea" },
    { text: "London", namespace: "places" },
  ]);
  assertEquals(outcome, {
    results: [
      {
        id: "a",
        job_id: "a",
        blob_id: "x",
        namespace: "default",
        status: "done",
      },
      {
        id: "b",
        job_id: "b",
        blob_id: "",
        namespace: "places",
        status: "failed",
        error: "no disk",
      },
    ],
    total: 2,
    succeeded: 1,
    failed: 1,
    timedOut: 0,
  });
});

Deno.test("rememberAndWait() waits a rate limit out within its time, and sends the same again", async () => {
  const limited: StubScript = {
    status: 429,
    json: { error: "too many", layer: "delegate_key" },
    retryAfterSeconds: 7,
  };
  const accepted: StubScript = {
    status: 202,
    json: { job_id: "j1", status: "running" },
  };
  const done: StubScript = {
    json: {
      ...{ job_id: "j1", status: "done", blob_id: "b1" },
      ...{ owner: "0x1", namespace: "n" },
    },
  };
  const parts = stubParts();
  parts.exchange.on("POST /api/remember", limited, accepted);
  parts.exchange.on("GET /api/remember/j1", done);
  const { id } = await rememberAndWait(parts, "tea");
  assertEquals([id, parts.clock.delaysMs], ["j1", [7_000]]);

  const late = stubParts();
  late.exchange.on("POST /api/remember", limited);
  await assertRejects(
    () => rememberAndWait(late, "tea", { timeoutMs: 5_000 }),
    RateLimitError,
  );
  assertEquals(late.clock.delaysMs, []);
});
