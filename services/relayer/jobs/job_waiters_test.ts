import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { JobRow, JobStatus } from "../store/rows.ts";
import { JobWaiters } from "./job_waiters.ts";

const OWNER = "0xa";

/** A store of one job, whose status a test sets. */
class OneJob {
  status: JobStatus | undefined = "running";
  reads = 0;

  jobs(
    _owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]> {
    this.reads++;
    const { status } = this;
    return Promise.resolve(
      ids.map((id) => status && { ...BLANK, id, status }),
    );
  }
}

const BLANK: Omit<JobRow, "id" | "status"> = {
  owner: OWNER,
  namespace: "default",
  agentId: "",
  nextAttemptAtMs: 0,
  createdAtMs: 0,
  updatedAtMs: 0,
  keyId: "k",
  importance: 0.5,
  version: 1,
  attempts: 0,
};

function setUp(maxWaiters?: number) {
  const store = new OneJob();
  const clock = new FakeClock();
  const waiters = new JobWaiters({
    recent: { forget: () => {} },
    store,
    clock,
    ...(maxWaiters === undefined ? {} : { maxWaiters }),
  });
  return { store, clock, waiters };
}

Deno.test("JobWaiters.wait() answers at once when the job is found already", async () => {
  const { store, clock, waiters } = setUp();
  for (const status of ["uploaded", "done", "failed"] as const) {
    store.status = status;
    const job = await waiters.wait(OWNER, "j", { waitMs: 5_000 });
    assertEquals(job?.status, status);
  }
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("JobWaiters.wait() answers when it is told", async () => {
  const { store, clock, waiters } = setUp();
  const answer = waiters.wait(OWNER, "j", { waitMs: 5_000 });
  await clock.advanceAsync(100);
  store.status = "uploaded";
  waiters.tell("other");
  waiters.tell("j");
  assertEquals((await answer)?.status, "uploaded");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("JobWaiters.wait() answers with what there is when time is over", async () => {
  const { clock, waiters } = setUp();
  const answer = waiters.wait(OWNER, "j", { waitMs: 5_000 });
  await clock.advanceAsync(5_000);
  assertEquals((await answer)?.status, "running");
});

Deno.test("JobWaiters.wait() misses nothing that happens while it reads", async () => {
  const { store, waiters } = setUp();
  const answer = waiters.wait(OWNER, "j", { waitMs: 5_000 });
  store.status = "uploaded";
  waiters.tell("j");
  assertEquals((await answer)?.status, "uploaded");
});

Deno.test("JobWaiters.wait() ends with the signal and waits for nothing unknown", async () => {
  const { store, clock, waiters } = setUp();
  const ending = new AbortController();
  const answer = waiters.wait(OWNER, "j", {
    waitMs: 5_000,
    signal: ending.signal,
  });
  await clock.advanceAsync(1);
  ending.abort();
  assertEquals((await answer)?.status, "running");
  store.status = undefined;
  assertEquals(await waiters.wait(OWNER, "j", { waitMs: 5_000 }), undefined);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("JobWaiters keeps to its bound and sends all home when it stops", async () => {
  const { clock, waiters } = setUp(1);
  const waiting = waiters.wait(OWNER, "j", { waitMs: 5_000 });
  const beyond = await waiters.wait(OWNER, "j", { waitMs: 5_000 });
  assertEquals(beyond?.status, "running");
  assertEquals(clock.pendingTimers, 1);
  waiters.stop();
  assertEquals((await waiting)?.status, "running");
  const late = await waiters.wait(OWNER, "j", { waitMs: 5_000 });
  assertEquals(late?.status, "running");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("JobWaiters.tell() has the text of the job forgotten", () => {
  const forgotten: string[] = [];
  const waiters = new JobWaiters({
    store: new OneJob(),
    clock: new FakeClock(),
    recent: { forget: (id) => void forgotten.push(id) },
  });
  waiters.tell("j");
  waiters.stop();
  assertEquals(forgotten, ["j"]);
});
