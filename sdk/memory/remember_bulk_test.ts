import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { rememberBulk, rememberBulkAndWait } from "./remember_bulk.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";

const ROUTE = "POST /api/remember/bulk";
const items = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ text: `t${index}` }));

function accepting(): StubParts {
  const parts = stubParts();
  parts.exchange.on(ROUTE, {
    status: 202,
    json: { job_ids: ["a", "b"], total: 2, status: "running" },
  });
  return parts;
}

Deno.test("rememberBulk() sends all texts with one request", async () => {
  const parts = accepting();
  const result = await rememberBulk(parts, [
    { text: "tea" },
    { text: "London", namespace: "places" },
  ]);
  assertEquals(result, { job_ids: ["a", "b"], total: 2, status: "running" });
  const { body } = parts.exchange.requestTo(ROUTE);
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
  const parts = accepting();
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
  const parts = accepting();
  await rememberBulk(parts, items(20), { idempotencyKey: "mine" });
  const { body } = parts.exchange.requestTo(ROUTE);
  assertEquals((body as Record<string, unknown>)["idempotency_key"], "mine");
});

Deno.test("rememberBulk() sends nothing unless there are 1 to 20 texts", async () => {
  const parts = accepting();
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
  const parts = accepting();
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
