import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import type { Change, CommitOutcome } from "../store/changes.ts";
import type { RelayerStore } from "../store/store.ts";
import { RelayerMetrics } from "./relayer_metrics.ts";

/** This relayer among two. */
const INSTANCES = {
  id: "boot_1",
  members: ["boot_1", "boot_2"],
  duties: [
    { name: "sweep", holder: "boot_1" },
    { name: "renew", holder: "boot_2" },
  ],
  isFenced: false,
};

function open(): {
  readonly clock: FakeClock;
  readonly metrics: RelayerMetrics;
} {
  const clock = new FakeClock();
  const metrics = new RelayerMetrics(clock, {
    agentSessions: () => 3,
    index: () => ({ size: 3, bytes: 9_000, evictions: 2 }),
    renewal: () => ({
      ...{ checked: 7, unchecked: 3, renewed: 2, failed: 1, waiting: 4 },
    }),
    questions: () => ({ kept: 4, shared: 1, asked: 6 }),
    isWriteReady: () => true,
    instances: () => INSTANCES,
  });
  return { clock, metrics };
}

function findLines(metrics: RelayerMetrics, start: string): readonly string[] {
  return metrics.registry.text().split("\n").filter((line) =>
    line.startsWith(start) && !line.includes("_bucket")
  );
}

function jobChange(id: string, status: "uploaded" | "done" | "failed"): Change {
  return {
    ...{ kind: "job", owner: "o", id, expectedVersion: 1 },
    patch: { status },
  };
}

Deno.test("RelayerMetrics tells memories and whether writes would be kept", async () => {
  const { metrics } = open();
  await metrics.readMemories({ memoryCount: () => Promise.resolve(5) });
  await metrics.readMemories({
    memoryCount: () => Promise.reject(new Error()),
  });
  assertEquals(findLines(metrics, "relayer_memories "), ["relayer_memories 5"]);
  assertEquals(findLines(metrics, "relayer_index_renewal_"), [
    'relayer_index_renewal_memories{state="checked"} 7',
    'relayer_index_renewal_memories{state="unchecked"} 3',
    'relayer_index_renewal_memories{state="renewed"} 2',
    'relayer_index_renewal_memories{state="failed"} 1',
    'relayer_index_renewal_memories{state="waiting"} 4',
  ]);
  const sizes = ["memories", "bytes", "evictions"]
    .flatMap((name) => findLines(metrics, `relayer_index_${name}`))
    .filter((line) => !line.includes("renewal"));
  assertEquals(sizes, [
    "relayer_index_memories 3",
    "relayer_index_bytes 9000",
    "relayer_index_evictions_total 2",
  ]);
  assertEquals(findLines(metrics, "relayer_question_vectors_"), [
    'relayer_question_vectors_total{source="kept"} 4',
    'relayer_question_vectors_total{source="shared"} 1',
    'relayer_question_vectors_total{source="asked"} 6',
  ]);
  assertEquals(findLines(metrics, "relayer_write_ready "), [
    "relayer_write_ready 1",
  ]);
});

Deno.test("RelayerMetrics tells members, duties, jobs under way and calls of a shared database", () => {
  const { metrics } = open();
  assertEquals(findLines(metrics, "relayer_database_calls"), []);
  const { onHealth, onCall } = metrics.ofDatabase;
  onHealth?.({
    ...{ oldestTransactionSeconds: 1, horizonTransactions: 2, tables: [] },
    standbys: { synchronous: 1, asynchronous: 0 },
    standbyLagBytes: 0,
    leasedJobs: new Map([["boot_1", 2], ["boot_2", 3], ["boot_0", 1]]),
  });
  onCall?.({ outcome: "ok", waitedMs: 500, tookMs: 2_000 });
  onCall?.({ outcome: "failed", waitedMs: 500, tookMs: 0 });
  const starts = ["instance", "leased_jobs", "database_calls"]
    .flatMap((start) => findLines(metrics, `relayer_${start}`));
  assertEquals(starts, [
    "relayer_instances 2",
    "relayer_instance_fenced 0",
    'relayer_instance_duty{duty="sweep"} 1',
    'relayer_instance_duty{duty="renew"} 0',
    'relayer_leased_jobs{holder="own"} 2',
    'relayer_leased_jobs{holder="others"} 4',
    'relayer_database_calls_total{outcome="ok"} 1',
    'relayer_database_calls_total{outcome="failed"} 1',
  ]);
  assertEquals(findLines(metrics, "relayer_database_wait_seconds_sum"), [
    "relayer_database_wait_seconds_sum 1",
  ]);
  onHealth?.(undefined);
  assertEquals(findLines(metrics, "relayer_leased_jobs"), []);
});

Deno.test("JobMetrics.metered() counts jobs and how long they took, and commits by outcome", async () => {
  const { clock, metrics } = open();
  const outcomes: (CommitOutcome | Error)[] = [];
  const store = metrics.jobs.metered(
    {
      commit: () => {
        const outcome = outcomes.shift() ?? { kind: "ok" };
        return outcome instanceof Error
          ? Promise.reject(outcome)
          : Promise.resolve(outcome);
      },
    } as Partial<RelayerStore> as RelayerStore,
  );
  const job = { id: "a" } as Extract<Change, { kind: "new_job" }>["job"];
  await store.commit([
    { kind: "new_job", job },
    { kind: "new_job", job: { ...job, id: "b" } },
  ]);
  clock.advance(2_000);
  await store.commit([jobChange("a", "uploaded"), jobChange("b", "failed")]);
  clock.advance(5_000);
  await store.commit([jobChange("a", "done")]);
  outcomes.push({ kind: "conflict", change: 0 }, new Error("the disk is full"));
  await store.commit([jobChange("a", "done")]);
  await assertRejects(() => store.commit([jobChange("a", "done")]));
  assertEquals(findLines(metrics, "relayer_job"), [
    "relayer_jobs_accepted_total 2",
    'relayer_jobs_ended_total{outcome="failed"} 1',
    'relayer_jobs_ended_total{outcome="done"} 1',
    "relayer_job_duration_seconds_sum 2",
    "relayer_job_duration_seconds_count 1",
    "relayer_job_lag_seconds 0",
  ]);
  assertEquals(findLines(metrics, "relayer_store_commits_total"), [
    'relayer_store_commits_total{outcome="ok"} 3',
    'relayer_store_commits_total{outcome="conflict"} 1',
    'relayer_store_commits_total{outcome="failed"} 1',
  ]);
});

Deno.test("JobMetrics.readLag() tells how long the longest waiting job has been due", async () => {
  const { metrics } = open();
  const lag = async (nextMs: number | undefined): Promise<string> => {
    const store = { nextJobMs: () => Promise.resolve(nextMs) };
    await metrics.jobs.readLag(store, 10_000);
    return findLines(metrics, "relayer_job_lag_seconds").join();
  };
  assertEquals(await lag(2_500), "relayer_job_lag_seconds 7.5");
  assertEquals(await lag(11_000), "relayer_job_lag_seconds 0");
  assertEquals(await lag(undefined), "relayer_job_lag_seconds 0");
});

Deno.test("PartnerMetrics counts calls of models and blobs by operation and outcome", async () => {
  const { metrics } = open();
  const { partners } = metrics;
  const { embedder } = partners.meteredModels({
    embedder: {
      width: 2,
      model: "m",
      embed: (texts) =>
        Promise.resolve(
          texts.length === 0
            ? { kind: "unavailable", reason: "down", isPassing: true }
            : { kind: "ok", vectors: [] },
        ),
    },
    extractor: { name: "rules", extract: () => Promise.reject(new Error()) },
    answerer: { name: "rules", answer: () => Promise.reject(new Error()) },
  });
  assertEquals([embedder.width, embedder.model], [2, "m"]);
  await embedder.embed(["text"]);
  await embedder.embed([]);
  const blobs = partners.meteredBlobs(
    {
      put: () => Promise.reject(new Error("full")),
      get: () => Promise.resolve({ kind: "missing" }),
      isGone: () => Promise.resolve(false),
    } as Partial<BlobStore> as BlobStore,
  );
  await assertRejects(() => blobs.put(new Uint8Array()), Error, "full");
  await blobs.get("x");
  assertEquals(await blobs.isGone("x"), false);
  const counted = ["model", "blob"].flatMap((partner) =>
    findLines(metrics, `relayer_${partner}_calls_total`)
  );
  assertEquals(counted, [
    'relayer_model_calls_total{operation="embed",outcome="ok"} 1',
    'relayer_model_calls_total{operation="embed",outcome="unavailable"} 1',
    'relayer_blob_calls_total{operation="put",outcome="failed"} 1',
    'relayer_blob_calls_total{operation="get",outcome="missing"} 1',
    'relayer_blob_calls_total{operation="is_gone",outcome="ok"} 1',
  ]);
});

Deno.test("JobMetrics.metered() counts looks for changes of others, and the changes", async () => {
  const { metrics } = open();
  const page = { memories: [{}, {}], deleted: [{}] };
  const store = metrics.jobs.metered(
    {
      head: () => Promise.resolve(7),
      indexFeed: () => Promise.resolve(page as never),
    } as Partial<RelayerStore> as RelayerStore,
  );
  assertEquals(await store.head("0xa"), 7);
  await store.indexFeed("0xa", { limit: 10 });
  assertEquals(
    [
      ...findLines(metrics, "relayer_index_checks"),
      ...findLines(metrics, "relayer_index_followed"),
    ],
    ["relayer_index_checks_total 1", "relayer_index_followed_changes_total 3"],
  );
});
