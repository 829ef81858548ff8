import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  MemError,
  MemRequestTimeout,
  RememberJobError,
  RememberJobFailed,
  RememberJobNotFound,
  RememberJobTimeout,
} from "./errors.ts";
import { type StubParts, stubParts } from "./testing/stub_parts.ts";
import type { StubScript } from "./testing/stub_relayer.ts";
import { waitForRememberJob, waitForRememberJobs } from "./wait_for_jobs.ts";

const ROUTE = "GET /api/remember/j1";
const at = (status: string, more: object = {}): StubScript => ({
  json: { job_id: "j1", status, ...more },
});
const DONE = at("done", { blob_id: "b1", owner: "0x1", namespace: "n" });
const MEMORY = {
  id: "j1",
  job_id: "j1",
  blob_id: "b1",
  owner: "0x1",
  namespace: "n",
};

function partsWith(
  scripts: readonly StubScript[],
  changes: Partial<StubParts> = {},
  route = ROUTE,
): StubParts {
  const parts = stubParts(changes);
  parts.exchange.on(route, ...scripts);
  return parts;
}

Deno.test("waitForRememberJob() looks at once and is done", async () => {
  const parts = partsWith([DONE]);
  assertEquals(await waitForRememberJob(parts, "j1"), MEMORY);
  assertEquals(parts.clock.delaysMs, []);
});

Deno.test("waitForRememberJob() goes on when a proxy answers 404", async () => {
  const parts = partsWith([{ status: 404, json: null }, DONE]);
  assertEquals(await waitForRememberJob(parts, "j1"), MEMORY);
});

Deno.test("waitForRememberJob() waits longer each time, up to 5 s", async () => {
  const busy = ["pending", "running", "running", "uploaded", "uploaded"];
  const parts = partsWith([...busy.map((status) => at(status)), DONE]);
  assertEquals(await waitForRememberJob(parts, "j1"), MEMORY);
  assertEquals(parts.clock.delaysMs, [1_500, 2_250, 3_375, 5_000, 5_000]);
});

Deno.test("waitForRememberJob() takes the caller's first delay, 100 ms at least", async () => {
  const parts = partsWith([at("running"), at("running"), DONE]);
  await waitForRememberJob(parts, "j1", { pollIntervalMs: 1 });
  assertEquals(parts.clock.delaysMs, [100, 150]);
});

Deno.test("waitForRememberJob() counts the time of a look", async () => {
  const parts = partsWith([() => {
    parts.clock.pass(1_000);
    return { json: { job_id: "j1", status: "running" } };
  }, DONE]);
  await waitForRememberJob(parts, "j1");
  assertEquals(parts.clock.delaysMs, [500]);
});

Deno.test("waitForRememberJob() goes on after trouble that passes", async () => {
  const timeout = new MemRequestTimeout({ phase: "x", timeoutMs: 1 });
  const parts = partsWith([
    { error: timeout },
    { error: new MemError("no answer", { status: 0 }) },
    { status: 500 },
    { status: 503 },
    DONE,
  ]);
  assertEquals(await waitForRememberJob(parts, "j1"), MEMORY);
});

Deno.test("waitForRememberJob() waits as long as the relayer says", async () => {
  const parts = partsWith([{ status: 429, retryAfterSeconds: 7 }, DONE]);
  await waitForRememberJob(parts, "j1");
  assertEquals(parts.clock.delaysMs, [7_000]);
});

Deno.test("waitForRememberJob() gives up at once when that is too long", async () => {
  const parts = partsWith([{ status: 429, retryAfterSeconds: 60 }, DONE]);
  const error = await assertRejects(
    () => waitForRememberJob(parts, "j1"),
    RememberJobTimeout,
  );
  assertStringIncludes(error.message, "429");
  assertEquals(parts.clock.delaysMs, []);
});

Deno.test("waitForRememberJob() stops at what does not pass", async () => {
  for (const status of [400, 401, 403, 426]) {
    const parts = partsWith([{ status }]);
    const error = await assertRejects(
      () => waitForRememberJob(parts, "j1"),
      MemError,
    );
    assertEquals(error.status, status);
    assert(!(error instanceof RememberJobError));
    assertEquals(parts.exchange.requests.length, 1);
  }
});

Deno.test("waitForRememberJob() says not found with 404", async () => {
  const parts = partsWith([{ status: 404 }]);
  const error = await assertRejects(
    () => waitForRememberJob(parts, "j1"),
    RememberJobNotFound,
  );
  assertEquals(error.status, 404);
  assertEquals(error.jobId, "j1");
});

Deno.test("waitForRememberJob() says so at once for an id that no job can have", async () => {
  const parts = stubParts();
  for (const id of ["", "a b", "a/b", "a.b", "é", "a%", "j1\n"]) {
    const error = await assertRejects(
      () => waitForRememberJob(parts, id),
      RememberJobNotFound,
    );
    assertEquals(error.status, 404);
  }
  assertEquals(parts.exchange.requests, []);
});

Deno.test("waitForRememberJob() says failed with 500 and why", async () => {
  const parts = partsWith([at("failed", { error: "no disk", blob_id: "b" })]);
  const error = await assertRejects(
    () => waitForRememberJob(parts, "j1"),
    RememberJobFailed,
  );
  assertEquals(error.status, 500);
  assertEquals(error.lastStatus, "failed");
  assertEquals(error.lastBlobId, "b");
  assertStringIncludes(error.message, "no disk");
});

Deno.test("waitForRememberJob() says 502 when it is done and has no blob", async () => {
  for (const more of [{}, { blob_id: "" }, { blob_id: null }]) {
    const parts = partsWith([at("done", more)]);
    const error = await assertRejects(
      () => waitForRememberJob(parts, "j1"),
      RememberJobError,
    );
    assertEquals(error.status, 502);
  }
});

Deno.test("waitForRememberJob() says 504 after its time, with what it saw last", async () => {
  const parts = partsWith([at("pending"), at("uploaded", { blob_id: "b" })]);
  const startMs = parts.clock.nowMs();
  const error = await assertRejects(
    () => waitForRememberJob(parts, "j1"),
    RememberJobTimeout,
  );
  assertEquals(error.status, 504);
  assertEquals(error.lastStatus, "uploaded");
  assertEquals(error.lastBlobId, "b");
  assertStringIncludes(error.message, "60000 ms");
  assert(!error.message.includes("429"));
  const tookMs = parts.clock.nowMs() - startMs;
  assert(tookMs <= 60_000 && tookMs >= 58_000, String(tookMs));
});

Deno.test("waitForRememberJob() gives a look no more time than is left", async () => {
  const parts = partsWith([at("running")]);
  await assertRejects(
    () => waitForRememberJob(parts, "j1", { timeoutMs: 4_000 }),
    RememberJobTimeout,
  );
  assertEquals(
    parts.exchange.requests.map(({ timeoutMs }) => timeoutMs),
    [4_000, 2_500, 1_000],
  );
});

Deno.test("waitForRememberJob() waits for the default time when timeoutMs is not above 0", async () => {
  for (const timeoutMs of [0, -5, NaN]) {
    const parts = partsWith([at("running")]);
    const startMs = parts.clock.nowMs();
    await assertRejects(
      () => waitForRememberJob(parts, "j1", { timeoutMs }),
      RememberJobTimeout,
    );
    assert(parts.clock.nowMs() - startMs > 50_000);
  }
});

Deno.test("waitForRememberJob() lets a relayer that can hold the answer back", async () => {
  const parts: StubParts = partsWith([
    () => {
      parts.clock.pass(20_000);
      return { json: { job_id: "j1", status: "running" } };
    },
    at("uploaded"),
    DONE,
  ], { canAwaitStatus: () => Promise.resolve(true) });
  assertEquals(await waitForRememberJob(parts, "j1"), MEMORY);
  assertEquals(parts.exchange.requests.map(({ path }) => path), [
    "/api/remember/j1?wait=20",
    "/api/remember/j1?wait=20",
    "/api/remember/j1",
  ]);
  assertEquals(parts.clock.delaysMs, [150]);
});

Deno.test("waitForRememberJob() does not rush a relayer that answers at once all the same", async () => {
  const parts = partsWith([at("running"), at("running"), at("running"), DONE], {
    canAwaitStatus: () => Promise.resolve(true),
  });
  await waitForRememberJob(parts, "j1");
  assertEquals(parts.clock.delaysMs, [100, 150, 225]);
});

Deno.test("waitForRememberJob() ends with the client", async () => {
  const life = new AbortController();
  const reason = new MemError("gone");
  const parts = partsWith([() => {
    life.abort(reason);
    return { json: { job_id: "j1", status: "running" } };
  }], { signal: life.signal });
  const error = await assertRejects(() => waitForRememberJob(parts, "j1"));
  assertInstanceOf(error, MemError);
  assertEquals(error.message, "gone");
});

const BULK_ROUTE = "POST /api/remember/bulk/status";

/** Answers with the given status of each job. */
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

function bulkPartsWith(
  scripts: readonly StubScript[],
  changes: Partial<StubParts> = {},
): StubParts {
  return partsWith(scripts, changes, BULK_ROUTE);
}

const RUNNING = { status: "running" };
const done = (blob_id: string) => ({ status: "done", blob_id, namespace: "n" });

Deno.test("waitForRememberJobs() asks only for what has not ended", async () => {
  const parts = bulkPartsWith([
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
  const parts = bulkPartsWith([
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
  const parts = bulkPartsWith([
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
  const passing = bulkPartsWith([{ status: 503 }, states({ a: done("x") })]);
  const { succeeded } = await waitForRememberJobs(passing, ["a"]);
  assertEquals(succeeded, 1);
  const refused = bulkPartsWith([{ status: 401 }]);
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
  const parts: StubParts = bulkPartsWith([
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
