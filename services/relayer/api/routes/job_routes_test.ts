import { assertEquals } from "@std/assert";
import { goneSignal } from "../../concurrency/bounded_work.ts";
import { sampleJob, storeSample } from "../testing/sample_rows.ts";
import { ANN } from "../testing/test_parts.ts";
import { openTestRelayer } from "../testing/test_relayer.ts";
import { testRequest } from "../testing/test_request.ts";

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
  });
  assertEquals((await call("GET", "/api/remember/j3")).json, {
    job_id: "j3",
    status: "failed",
    ...base,
    error: "why",
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
    assertEquals(json, { error: "Cannot find job: there is none such" });
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
