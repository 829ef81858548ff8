/**
 * Test cases about jobs.
 *
 * @module
 */

import { assertEquals, assertExists } from "@std/assert";
import { withoutUndefined } from "../../../../../tests/support/without_undefined.ts";
import type { JobRow } from "../../rows.ts";
import type { Change } from "../../changes.ts";
import type { JobLeases, RelayerStore } from "../../store.ts";
import { ALICE, BOB, SAMPLE_MS, sampleJob } from "../sample_rows.ts";
import { commitAll, type StoreCase } from "./store_case.ts";

type JobPatch = Extract<Change, { readonly kind: "job" }>["patch"];

/** All test cases about jobs. */
export function jobCases(): readonly StoreCase[] {
  return [
    {
      title: "a job is read as it was accepted, by its owner alone",
      async run({ store, clock }) {
        clock.advance(5);
        const job = sampleJob({ supersedes: "older" });
        await commitAll(store, { kind: "new_job", job });
        const expected: JobRow = {
          ...job,
          version: 1,
          attempts: 0,
          updatedAtMs: clock.nowMs(),
        };
        const [found, none] = await store.jobs(ALICE, ["job-1", "none"]);
        assertEquals(withoutUndefined(found), expected);
        assertEquals(none, undefined);
        assertEquals(await store.jobs(BOB, ["job-1"]), [undefined]);
      },
    },
    {
      title: "a job of an id that the owner has conflicts and changes nothing",
      async run({ store }) {
        await commitAll(store, { kind: "new_job", job: sampleJob() });
        const outcome = await store.commit([
          { kind: "new_job", job: sampleJob({ id: "job-2" }) },
          { kind: "new_job", job: sampleJob({ namespace: "other" }) },
        ]);
        assertEquals(outcome, { kind: "conflict", change: 1 });
        const [first, second] = await store.jobs(ALICE, ["job-1", "job-2"]);
        assertEquals(first?.namespace, "default");
        assertEquals(second, undefined);
        assertEquals(await store.openJobs(ALICE), { jobs: 1, bytes: 4 });
        await commitAll(store, {
          kind: "new_job",
          job: sampleJob({ owner: BOB }),
        });
      },
    },
    {
      title: "a patch changes what it names, and empties what it says",
      async run({ store, clock }) {
        await commitAll(store, { kind: "new_job", job: sampleJob() });
        clock.advance(10);
        await patch(store, 1, {
          status: "running",
          attempts: 3,
          nextAttemptAtMs: SAMPLE_MS + 50,
          error: "a reason",
        });
        await patch(store, 2, { status: "uploaded", blobId: "blob-1" });
        const job = await only(store);
        assertEquals(job.version, 3);
        assertEquals(job.status, "uploaded");
        assertEquals(job.attempts, 3);
        assertEquals(job.nextAttemptAtMs, SAMPLE_MS + 50);
        assertEquals(job.error, "a reason");
        assertEquals(job.blobId, "blob-1");
        assertEquals(job.updatedAtMs, SAMPLE_MS + 10);
        assertEquals(job.payload, Uint8Array.of(1, 2, 3, 4));
        await patch(store, 3, { error: null, payload: null });
        const emptied = await only(store);
        assertEquals(emptied.error, undefined);
        assertEquals(emptied.payload, undefined);
        assertEquals(emptied.blobId, "blob-1");
      },
    },
    {
      title: "a patch for another version, owner or id conflicts",
      async run({ store }) {
        await commitAll(store, { kind: "new_job", job: sampleJob() });
        for (
          const wrong of [{ expectedVersion: 2 }, { owner: BOB }, { id: "x" }]
        ) {
          const change = { owner: ALICE, id: "job-1", expectedVersion: 1 };
          const outcome = await store.commit([{
            kind: "job",
            ...change,
            patch: { status: "failed" },
            ...wrong,
          }]);
          assertEquals(outcome, { kind: "conflict", change: 0 });
        }
        assertEquals((await only(store)).status, "pending");
      },
    },
    {
      title: "of two that change the same version at once one wins",
      async run({ store }) {
        await commitAll(store, { kind: "new_job", job: sampleJob() });
        const attempts = [1, 2, 3, 4].map((attempts) =>
          store.commit([{
            kind: "job",
            owner: ALICE,
            id: "job-1",
            expectedVersion: 1,
            patch: { attempts },
          }])
        );
        const kinds = (await Promise.all(attempts)).map(({ kind }) => kind);
        assertEquals(kinds, ["ok", "conflict", "conflict", "conflict"]);
        assertEquals((await only(store)).attempts, 1);
      },
    },
    {
      title: "leases are of unfinished jobs, in the order of their time",
      async run({ store }) {
        const at = (id: string, ms: number) =>
          sampleJob({ id, nextAttemptAtMs: SAMPLE_MS + ms });
        for (const [id, ms] of [["c", 30], ["a", 10], ["b", 20]] as const) {
          await commitAll(store, { kind: "new_job", job: at(id, ms) });
        }
        const running = sampleJob({ id: "r", owner: BOB, status: "running" });
        await commitAll(store, { kind: "new_job", job: running });
        assertEquals(await store.nextJobMs(), SAMPLE_MS);
        const ids = (ms: number, limit: number) =>
          findDue(store, { nowMs: SAMPLE_MS + ms, limit });
        assertEquals(await ids(-1, 9), []);
        assertEquals(await ids(20, 9), ["r", "a", "b"]);
        assertEquals(await ids(99, 2), ["r", "a"]);
        await commitAll(store, {
          kind: "job",
          owner: BOB,
          id: "r",
          expectedVersion: 1,
          patch: { status: "done", payload: null },
        });
        assertEquals(await ids(99, 9), ["a", "b", "c"]);
        assertEquals(await store.nextJobMs(), SAMPLE_MS + 10);
        const [due] = await lease(store, { nowMs: SAMPLE_MS + 10, limit: 1 });
        assertEquals(due?.payload, Uint8Array.of(1, 2, 3, 4));
      },
    },
    ...leaseCases(),
    {
      title: "open jobs and their bytes follow every change, by owner",
      async run({ store, restart }) {
        await commitAll(
          store,
          { kind: "new_job", job: sampleJob() },
          { kind: "new_job", job: sampleJob({ id: "job-2" }) },
        );
        assertEquals(await store.openJobs(ALICE), { jobs: 2, bytes: 8 });
        await patch(store, 1, { payload: null, status: "uploaded" });
        assertEquals(await store.openJobs(ALICE), { jobs: 2, bytes: 4 });
        await patch(store, 2, { status: "failed" });
        assertEquals(await store.openJobs(ALICE), { jobs: 1, bytes: 4 });
        await patch(store, 3, {
          status: "pending",
          payload: new Uint8Array(9),
        });
        assertEquals(await store.openJobs(ALICE), { jobs: 2, bytes: 13 });
        await restart();
        assertEquals(await store.openJobs(ALICE), { jobs: 2, bytes: 13 });
        assertEquals(await store.openJobs(BOB), { jobs: 0, bytes: 0 });
        assertEquals(
          (await only(store)).payload,
          new Uint8Array(9),
        );
      },
    },
  ];
}

/** Cases about who has a job. */
function leaseCases(): readonly StoreCase[] {
  return [
    {
      title: "settledJobs() has those for which a request waits no longer",
      async run({ store }) {
        const owner = ALICE;
        const statuses = ["pending", "running", "uploaded", "done", "failed"];
        await commitAll(
          store,
          ...statuses.flatMap((id): Change[] => [
            { kind: "new_job", job: sampleJob({ id }) },
            {
              ...{ kind: "job", owner, id, expectedVersion: 1 },
              patch: { status: id as JobRow["status"] },
            },
          ]),
        );
        const names = [...statuses, "none"].map((id) => ({ owner, id }));
        const other = { owner: BOB, id: "running" };
        const settled = await store.settledJobs([...names, other]);
        assertEquals(
          settled.map(({ owner, id }) => `${owner} ${id}`).sort(),
          [
            ...["done", "failed", "none", "uploaded"].map((id) =>
              `${owner} ${id}`
            ),
            `${BOB} running`,
          ].sort(),
        );
        assertEquals(await store.settledJobs([]), []);
      },
    },
    {
      title: "a leased job is nobody else's until its lease ends",
      async run({ store }) {
        await join(store, "one", "two");
        await addJobs(store, "a", "b", "c");
        const first = await lease(store, { limit: 2 });
        assertEquals(
          first.map(({ id, leasedBy, leasedUntilMs, version }) => [
            ...[id, leasedBy, leasedUntilMs, version],
          ]),
          ["a", "b"].map((id) => [id, "one", SAMPLE_MS + 1_000, 1]),
        );
        const [a] = await store.jobs(ALICE, ["a"]);
        assertEquals(withoutUndefined(a), withoutUndefined(first[0]));
        const ids = async (of: Partial<JobLeases>) =>
          (await lease(store, of)).map(({ id }) => id);
        assertEquals(await ids({ instance: "two" }), ["c"]);
        assertEquals(await ids({}), []);
        assertEquals(await store.nextJobMs(), SAMPLE_MS + 1_000);
        assertEquals(await ids({ nowMs: SAMPLE_MS + 999 }), []);
        assertEquals(
          await ids({ nowMs: SAMPLE_MS + 1_000, instance: "two" }),
          ["a", "b", "c"],
        );
        assertEquals((await store.jobs(ALICE, ["a"]))[0]?.leasedBy, "two");
      },
    },
    {
      title: "only who has a job renews its lease or gives it back",
      async run({ store }) {
        await join(store, "one", "two");
        await addJobs(store, "a", "b");
        await lease(store, { limit: 1 });
        const jobs = ["a", "b", "none"].map((id) => ({ owner: ALICE, id }));
        await store.renewLeases({ instance: "two", jobs, untilMs: 0 });
        const at = { nowMs: SAMPLE_MS + 5, instance: "two" };
        assertEquals(await findDue(store, at), ["b"]);
        const untilMs = SAMPLE_MS + 9_000;
        await store.renewLeases({ instance: "one", jobs, untilMs });
        const later = { ...at, nowMs: SAMPLE_MS + 8_999 };
        assertEquals(await findDue(store, later), ["b"]);
        await store.renewLeases({ instance: "one", jobs, untilMs: 0 });
        assertEquals(await findDue(store, at), ["a", "b"]);
      },
    },
    {
      title: "jobs of an instance that is gone are free at once",
      async run({ store }) {
        await join(store, "one", "two");
        await addJobs(store, "a");
        await lease(store, { leaseMs: 60_000 });
        assertEquals(await lease(store, { instance: "two" }), []);
        await store.leave("one");
        const [job] = await lease(store, { instance: "two" });
        assertEquals(job?.id, "a");
      },
    },
    {
      title: "a job that is put off or finished is given back, others are not",
      async run({ store }) {
        await join(store, "one", "two");
        await addJobs(store, "a", "b", "c");
        await lease(store, {});
        const change = (id: string, patch: JobPatch): Change => ({
          ...{ kind: "job", owner: ALICE, id, expectedVersion: 1, patch },
        });
        const outcome = await store.commit([
          change("a", { nextAttemptAtMs: SAMPLE_MS }),
          change("b", { status: "done" }),
          change("none", {}),
        ]);
        assertEquals(outcome, { kind: "conflict", change: 2 });
        assertEquals(await findDue(store, { instance: "two" }), []);
        await commitAll(
          store,
          change("a", { nextAttemptAtMs: SAMPLE_MS + 1, attempts: 1 }),
          change("b", { status: "uploaded" }),
          change("c", { status: "done" }),
        );
        const at = { nowMs: SAMPLE_MS + 1, instance: "two" };
        assertEquals((await lease(store, at)).map(({ id }) => id), ["a"]);
        const rows = await store.jobs(ALICE, ["a", "b", "c"]);
        assertEquals(rows.map((row) => row?.leasedBy), [
          ...["two", "one", undefined],
        ]);
      },
    },
    {
      title: "deleted jobs are found when they are due, and no others",
      async run({ store }) {
        await addJobs(store, "a", "b", "c", "d");
        const commit = async (id: string, patch: JobPatch, version = 1) =>
          await commitAll(store, {
            ...{ kind: "job", owner: ALICE, id, expectedVersion: version },
            patch,
          });
        const deleted = { status: "failed", payload: null } as const;
        await commit("a", { ...deleted, nextAttemptAtMs: 20, blobId: "x" });
        await commit("b", { ...deleted, nextAttemptAtMs: 10 });
        await commit("c", { status: "failed", nextAttemptAtMs: 10 });
        await commit("d", {
          ...{ status: "done", payload: null, nextAttemptAtMs: 10 },
        });
        const due = async (nowMs: number, limit = 9) =>
          (await store.deletedJobs({ nowMs, limit }))
            .map(({ id, blobId }) => [id, blobId]);
        assertEquals(await due(9), []);
        assertEquals(await due(10), [["b", undefined]]);
        assertEquals(await due(20), [["b", undefined], ["a", "x"]]);
        assertEquals(await due(20, 1), [["b", undefined]]);
        await commit("b", { nextAttemptAtMs: Number.MAX_SAFE_INTEGER }, 2);
        assertEquals(await due(SAMPLE_MS), [["a", "x"]]);
      },
    },
    {
      title: "leases keep to their bytes, but for a single job",
      async run({ store }) {
        await addJobs(store, "a", "b", "c");
        const ids = (maxBytes: number) => findDue(store, { maxBytes });
        assertEquals(await ids(3), ["a"]);
        assertEquals(await ids(11), ["a", "b"]);
        assertEquals(await ids(12), ["a", "b", "c"]);
        assertEquals((await lease(store, { maxBytes: 8 })).length, 2);
        assertEquals((await lease(store, {})).map(({ id }) => id), ["c"]);
      },
    },
    {
      title: "leases of jobs of a time to come end by the time that it is",
      async run({ store }) {
        const nextAttemptAtMs = SAMPLE_MS + 90_000_000;
        await commitAll(store, {
          kind: "new_job",
          job: sampleJob({ nextAttemptAtMs }),
        });
        assertEquals(await lease(store, {}), []);
        const [job] = await lease(store, { dueMs: nextAttemptAtMs });
        assertEquals(job?.leasedUntilMs, SAMPLE_MS + 1_000);
      },
    },
  ];
}

/** Takes jobs for the instance "one", for a second. */
function lease(
  store: RelayerStore,
  leases: Partial<JobLeases>,
): Promise<readonly JobRow[]> {
  return store.leaseJobs({
    ...{ nowMs: SAMPLE_MS, limit: 9, instance: "one", leaseMs: 1_000 },
    ...leases,
  });
}

/** Takes jobs, gives them back, and tells which they were. */
async function findDue(
  store: RelayerStore,
  leases: Partial<JobLeases>,
): Promise<readonly string[]> {
  const jobs = await lease(store, leases);
  const { instance = "one" } = leases;
  await store.renewLeases({ instance, jobs, untilMs: 0 });
  return jobs.map(({ id }) => id);
}

async function join(
  store: RelayerStore,
  ...ids: readonly string[]
): Promise<void> {
  for (const id of ids) {
    const beat = { id, version: "", address: "", wants: [] };
    await store.beat({ ...beat, sinceLastMs: undefined });
  }
}

async function addJobs(
  store: RelayerStore,
  ...ids: readonly string[]
): Promise<void> {
  await commitAll(
    store,
    ...ids.map((id) => ({ kind: "new_job" as const, job: sampleJob({ id }) })),
  );
}

async function patch(
  store: RelayerStore,
  expectedVersion: number,
  change: JobPatch,
): Promise<void> {
  const of = { owner: ALICE, id: "job-1", expectedVersion };
  await commitAll(store, { kind: "job", ...of, patch: change });
}

async function only(store: RelayerStore): Promise<JobRow> {
  const [job] = await store.jobs(ALICE, ["job-1"]);
  assertExists(job);
  return job;
}
