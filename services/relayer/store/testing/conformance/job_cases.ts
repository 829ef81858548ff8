/**
 * Test cases about jobs.
 *
 * @module
 */

import { assertEquals, assertExists } from "@std/assert";
import { withoutUndefined } from "../../../../../tests/support/without_undefined.ts";
import type { JobRow } from "../../rows.ts";
import type { Change, RelayerStore } from "../../store.ts";
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
      title: "due jobs are unfinished, in the order of their time, at most n",
      async run({ store }) {
        const at = (id: string, ms: number) =>
          sampleJob({ id, nextAttemptAtMs: SAMPLE_MS + ms });
        for (const [id, ms] of [["c", 30], ["a", 10], ["b", 20]] as const) {
          await commitAll(store, { kind: "new_job", job: at(id, ms) });
        }
        const running = sampleJob({ id: "r", owner: BOB, status: "running" });
        await commitAll(store, { kind: "new_job", job: running });
        assertEquals(await store.nextJobMs(), SAMPLE_MS);
        const ids = async (ms: number, limit: number) =>
          (await store.dueJobs(SAMPLE_MS + ms, limit)).map(({ id }) => id);
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
        const [due] = await store.dueJobs(SAMPLE_MS + 10, 1);
        assertEquals(due?.payload, Uint8Array.of(1, 2, 3, 4));
      },
    },
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
