import { assertEquals, assertRejects } from "@std/assert";
import { MemError } from "./errors.ts";
import { getRememberBulkStatus, getRememberStatus } from "./job_status.ts";
import { stubParts } from "./testing/stub_parts.ts";

const BULK = "POST /api/remember/bulk/status";

Deno.test("getRememberStatus() looks once and tells what is known", async () => {
  const parts = stubParts();
  const json = {
    job_id: "j1",
    status: "uploaded",
    owner: "0x1",
    namespace: "n",
    blob_id: "b1",
  } as const;
  parts.exchange.on("GET /api/remember/j1", { json: { ...json, x: 1 } });
  assertEquals(await getRememberStatus(parts, "j1"), json);
  const request = parts.exchange.requestTo("GET /api/remember/j1");
  assertEquals(request.path, "/api/remember/j1");
  assertEquals(request.timeoutMs, 30_000);
});

Deno.test("getRememberStatus() makes not_found of 404", async () => {
  const parts = stubParts();
  assertEquals(await getRememberStatus(parts, "j1"), {
    job_id: "j1",
    status: "not_found",
  });
});

Deno.test("getRememberStatus() rejects when a proxy has answered 404", async () => {
  const parts = stubParts();
  parts.exchange.on("GET /api/remember/j1", { status: 404, json: null });
  const error = await assertRejects(
    () => getRememberStatus(parts, "j1"),
    MemError,
    "Cannot complete GET /api/remember/j1: something else than a relayer " +
      "answered 404",
  );
  assertEquals(error.serverCode, "UNEXPECTED_ANSWER");
});

Deno.test("getRememberStatus() asks nothing for an id that no job can have", async () => {
  const parts = stubParts();
  for (
    const id of [
      "",
      " ",
      "a b",
      "a\n",
      "a/b",
      "a?b",
      "a#b",
      ".",
      "..",
      "\ud800",
    ]
  ) {
    assertEquals(await getRememberStatus(parts, id), {
      job_id: id,
      status: "not_found",
    });
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("getRememberStatus() writes other ids so that the path stays whole", async () => {
  const parts = stubParts();
  await getRememberStatus(parts, "a%2Fé&=");
  assertEquals(
    parts.exchange.requests.map(({ path }) => path),
    ["/api/remember/a%252F%C3%A9%26%3D"],
  );
});

Deno.test("getRememberStatus() refuses a state it does not know", async () => {
  const parts = stubParts();
  parts.exchange.on("GET /api/remember/j1", {
    json: { job_id: "j1", status: "lost" },
  });
  await assertRejects(() => getRememberStatus(parts, "j1"), MemError, "lost");
});

Deno.test("getRememberBulkStatus() keeps the order and the doubles", async () => {
  const parts = stubParts();
  parts.exchange.on(BULK, {
    json: {
      results: [
        { job_id: "b", status: "done", blob_id: "x" },
        { job_id: "a", status: "not_found" },
      ],
    },
  });
  const { results } = await getRememberBulkStatus(parts, ["a", "b", "a"], {
    timeoutMs: 9,
  });
  assertEquals(results, [
    { job_id: "a", status: "not_found" },
    { job_id: "b", status: "done", blob_id: "x" },
    { job_id: "a", status: "not_found" },
  ]);
  const { body, timeoutMs } = parts.exchange.requestTo(BULK);
  assertEquals(body, { job_ids: ["a", "b"] });
  assertEquals(timeoutMs, 9);
});

Deno.test("getRememberBulkStatus() asks for 20 at a time, and not for what cannot be", async () => {
  const parts = stubParts();
  parts.exchange.on(BULK, ({ body }) => ({
    json: {
      results: (body as { job_ids: string[] }).job_ids.map((job_id) => ({
        job_id,
        status: "running",
      })),
    },
  }));
  const ids = Array.from({ length: 41 }, (_, index) => `j${index}`);
  const { results } = await getRememberBulkStatus(parts, [...ids, "a b"]);
  assertEquals(results.map(({ job_id }) => job_id), [...ids, "a b"]);
  assertEquals(results.at(-1)?.status, "not_found");
  const sizes = parts.exchange.requests.map(({ body }) =>
    (body as { job_ids: string[] }).job_ids.length
  );
  assertEquals(sizes, [20, 20, 1]);
});

Deno.test("getRememberBulkStatus() asks nothing for nothing", async () => {
  const parts = stubParts();
  assertEquals(await getRememberBulkStatus(parts, []), { results: [] });
  await assertRejects(
    () => getRememberBulkStatus(parts, "j1" as never),
    TypeError,
  );
  assertEquals(parts.exchange.requests, []);
});
