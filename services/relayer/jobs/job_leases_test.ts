import { assertEquals, assertRejects } from "@std/assert";
import { withStore } from "../store/sqlite/testing/open_store.ts";
import type { RelayerStore } from "../store/store.ts";
import type { ConformanceSubject } from "../store/testing/store_conformance.ts";
import { sampleJob } from "../store/testing/sample_rows.ts";
import { JobLeases } from "./job_leases.ts";

/** Two instances on one store, both of which are members. */
interface Two extends ConformanceSubject {
  readonly one: JobLeases;
  readonly other: JobLeases;
  /** What `one` reported. */
  readonly errors: unknown[];
  /** When set, `one` cannot set the ends of leases. */
  fault: Error | undefined;
}

async function withTwo(use: (two: Two) => Promise<void>): Promise<void> {
  await withStore(async (store, subject) => {
    const errors: unknown[] = [];
    const leasesOf = (id: string): JobLeases =>
      new JobLeases({
        store: {
          leaseJobs: (leases) => store.leaseJobs(leases),
          nextJobMs: () => store.nextJobMs(),
          renewLeases: (leases) =>
            id === "one" && two.fault !== undefined
              ? Promise.reject(two.fault)
              : store.renewLeases(leases),
        },
        instance: () => id,
        clock: subject.clock,
        onError: (error) => void errors.push(error),
      });
    const two: Two = {
      ...subject,
      ...{ one: leasesOf("one"), other: leasesOf("other"), errors },
      fault: undefined,
    };
    for (const id of ["one", "other"]) {
      const beat = { id, version: "", address: "", wants: [] };
      await store.beat({ ...beat, sinceLastMs: undefined });
    }
    await use(two);
    assertEquals(subject.clock.pendingTimers, 0);
  });
}

async function addJobs(store: RelayerStore, count: number): Promise<void> {
  await store.commit(
    Array.from({ length: count }, (_, at) => ({
      kind: "new_job",
      job: sampleJob({ id: `j${at}` }),
    })),
  );
}

async function takeIds(leases: JobLeases, limit = 9): Promise<string[]> {
  return (await leases.take(limit)).jobs.map(({ id }) => id);
}

Deno.test("take() gives each job to one instance", async () => {
  await withTwo(async ({ store, clock, one, other }) => {
    await addJobs(store, 3);
    clock.advance(700);
    const first = await one.take(2);
    assertEquals(first.jobs.map(({ id }) => id), ["j0", "j1"]);
    assertEquals(first.longestMs, 700);
    const second = await other.take(9);
    assertEquals(second.jobs.map(({ id }) => id), ["j2"]);
    await one.giveBack(first.jobs);
    other.forget(second.jobs);
  });
});

Deno.test("JobLeases keeps jobs while they are worked on, and not longer", async () => {
  await withTwo(async ({ store, clock, one, other }) => {
    await addJobs(store, 1);
    const { jobs } = await one.take(9);
    for (let second = 0; second < 120; second += 5) {
      await clock.advanceAsync(5_000);
      assertEquals(await takeIds(other), []);
    }
    // The process hangs: nobody renews any more.
    one.forget(jobs);
    await clock.advanceAsync(19_000);
    assertEquals(await takeIds(other), []);
    await clock.advanceAsync(11_000);
    assertEquals(await takeIds(other), ["j0"]);
    await other.giveAllBack();
  });
});

Deno.test("take() does not give a job again that is worked on here, though its lease has ended", async () => {
  await withTwo(async (two) => {
    const { store, clock, one, errors } = two;
    await addJobs(store, 1);
    const { jobs } = await one.take(9);
    two.fault = new Error("no answer");
    await clock.advanceAsync(31_000);
    assertEquals(errors.length, 3);
    assertEquals(await takeIds(one), []);
    two.fault = undefined;
    await one.giveBack(jobs);
    assertEquals(await takeIds(one), ["j0"]);
    await one.giveAllBack();
  });
});

Deno.test("giveBack() that fails is tried again by the next take()", async () => {
  await withTwo(async (two) => {
    const { store, one, other } = two;
    await addJobs(store, 1);
    const { jobs } = await one.take(9);
    two.fault = new Error("no answer");
    await one.giveBack(jobs);
    await assertRejects(() => one.take(9), Error, "no answer");
    assertEquals(await takeIds(other), []);
    two.fault = undefined;
    assertEquals(await takeIds(one), ["j0"]);
    await one.giveAllBack();
    assertEquals(await takeIds(other), ["j0"]);
    await other.giveAllBack();
  });
});
