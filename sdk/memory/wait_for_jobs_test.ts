import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { MemError } from "./errors.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";
import type { StubScript } from "./testing/stub_relayer.ts";
import { waitForRememberJobs } from "./wait_for_jobs.ts";

const ROUTE = "POST /api/remember/bulk/status";

/** Answers with these states, by job. */
function states(byJob: Record<string, object>): StubScript {
  return ({ body }) => ({
    json: {
      results: (body as { job_ids: string[] }).job_ids.map((job_id) => ({
        job_id,
        ...byJob[job_id],
      })),
    },
  });
}

function partsWith(
  scripts: readonly StubScript[],
  changes: Partial<StubParts> = {},
): StubParts {
  const parts = stubParts(changes);
  parts.exchange.on(ROUTE, ...scripts);
  return parts;
}

const RUNNING = { status: "running" };
const done = (blob_id: string) => ({ status: "done", blob_id, namespace: "n" });

Deno.test("waitForRememberJobs() asks only for what has not ended", async () => {
  const parts = partsWith([
    states({ a: RUNNING, b: done("x"), c: { status: "uploaded" } }),
    states({ a: done("y"), c: { status: "failed", error: "no disk" } }),
  ]);
  const outcome = await waitForRememberJobs(parts, ["a", "b", "c"]);
  assertEquals(
    outcome.results.map(({ id, status, blob_id, error }) =>
      [id, status, blob_id, error] as unknown
    ),
    [["a", "done", "y", undefined], ["b", "done", "x", undefined], [
      "c",
      "failed",
      "",
      "no disk",
    ]],
  );
  assertEquals(
    [outcome.total, outcome.succeeded, outcome.failed, outcome.timedOut],
    [3, 2, 1, 0],
  );
  assertEquals(
    parts.exchange.requests.map(({ body }) => body),
    [{ job_ids: ["a", "b", "c"] }, { job_ids: ["a", "c"] }],
  );
  assertEquals(parts.clock.delaysMs, [1_500]);
});

Deno.test("waitForRememberJobs() never throws for single jobs", async () => {
  const parts = partsWith([
    states({ a: { status: "not_found" }, b: { status: "done" } }),
  ]);
  const { results, failed } = await waitForRememberJobs(parts, [
    "a",
    "b",
    "c d",
  ], { namespaces: ["n1", "n2", "n3"] });
  assertEquals(failed, 3);
  assertEquals(
    results.map(({ namespace, error }) => [namespace, error] as unknown),
    [
      ["n1", "there is no such job"],
      ["n2", "it is done and has no blob"],
      ["n3", "there is no such job"],
    ],
  );
});

Deno.test("waitForRememberJobs() marks what is not done after 120 s", async () => {
  const parts = partsWith([
    { status: 429, retryAfterSeconds: 1 },
    states({ a: done("x"), b: { ...RUNNING, blob_id: "y" } }),
  ]);
  const startMs = parts.clock.nowMs();
  const { results, timedOut } = await waitForRememberJobs(parts, ["a", "b"]);
  assertEquals(timedOut, 1);
  assertEquals(results[1]?.status, "timeout");
  assertEquals(results[1]?.blob_id, "y");
  assertStringIncludes(results[1]?.error ?? "", "120000 ms");
  assertStringIncludes(results[1]?.error ?? "", "429");
  assertEquals(parts.clock.nowMs() - startMs <= 120_000, true);
});

Deno.test("waitForRememberJobs() goes on after trouble that passes, and stops at other", async () => {
  const passing = partsWith([{ status: 503 }, states({ a: done("x") })]);
  const { succeeded } = await waitForRememberJobs(passing, ["a"]);
  assertEquals(succeeded, 1);
  const refused = partsWith([{ status: 401 }]);
  await assertRejects(() => waitForRememberJobs(refused, ["a"]), MemError);
});

Deno.test("waitForRememberJobs() asks nothing for nothing", async () => {
  const parts = stubParts();
  assertEquals(await waitForRememberJobs(parts, []), {
    results: [],
    total: 0,
    succeeded: 0,
    failed: 0,
    timedOut: 0,
  });
  await assertRejects(
    () => waitForRememberJobs(parts, "a" as never),
    TypeError,
  );
  assertEquals(parts.exchange.requests, []);
});

Deno.test("waitForRememberJobs() lets a relayer that can hold back news of one", async () => {
  const parts: StubParts = partsWith([
    states({ a: { status: "uploaded" }, b: RUNNING, c: RUNNING }),
    states({ a: done("x"), b: done("y"), c: done("z") }),
  ], { canAwaitStatus: () => Promise.resolve(true) });
  parts.exchange.on("GET /api/remember/c", () => {
    parts.clock.pass(3_000);
    return { json: { job_id: "c", status: "uploaded" } };
  });
  const { succeeded } = await waitForRememberJobs(parts, ["a", "b", "c"]);
  assertEquals(succeeded, 3);
  assertEquals(parts.exchange.requests.map(({ path }) => path), [
    "/api/remember/bulk/status",
    "/api/remember/c?wait=20",
    "/api/remember/bulk/status",
  ]);
  assertEquals(parts.clock.delaysMs, []);
});
