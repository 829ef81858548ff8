import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { JobRow, JobStatus } from "../store/rows.ts";
import type { JobName, Notice } from "../store/store.ts";
import { RecentPlaintexts } from "./job_sealer.ts";
import { JobWaiters } from "./job_waiters.ts";

const OWNER = "0xa";

/** A store of one job, whose status a test sets. */
class OneJob {
  status: JobStatus | undefined = "running";
  reads = 0;
  hasOwnTime = false;
  /** What was told to other instances. */
  readonly told: Notice[] = [];
  /** Hear what other instances tell. */
  readonly listeners = new Set<(notice: Notice) => void>();
  /** How many jobs each look was about. */
  readonly looks: number[] = [];
  /** When set, looks reject with this error. */
  fault: Error | undefined;

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

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async settledJobs(names: readonly JobName[]): Promise<readonly JobName[]> {
    this.looks.push(names.length);
    if (this.fault !== undefined) throw this.fault;
    return this.status === "running" ? [] : names;
  }

  tell(notices: readonly Notice[]): void {
    this.told.push(...notices);
  }

  onNotice(listen: (notice: Notice) => void): () => void {
    this.listeners.add(listen);
    return () => void this.listeners.delete(listen);
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
    recent: { forget: () => {}, forgetOld: () => {} },
    logger: new RecordingLogger(),
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
  waiters.tell({ owner: OWNER, id: "other" });
  waiters.tell({ owner: OWNER, id: "j" });
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
  waiters.tell({ owner: OWNER, id: "j" });
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
    recent: {
      forget: (id) => void forgotten.push(id),
      forgetOld: () => {},
    },
    logger: new RecordingLogger(),
  });
  waiters.tell({ owner: OWNER, id: "j" });
  waiters.stop();
  assertEquals(forgotten, ["j"]);
});

/** An instance of several, at which a request waits. */
function setUpShared() {
  const store = new OneJob();
  store.hasOwnTime = true;
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const recent = new RecentPlaintexts<{ readonly text: string }>(100, clock);
  let hasOthers = true;
  const waiters = new JobWaiters({
    ...{ store, clock, logger, recent },
    hasOthers: () => hasOthers,
  });
  waiters.start();
  const wait = () => waiters.wait(OWNER, "j", { waitMs: 20_000 });
  const hear = (notice: Notice): void => {
    for (const listen of store.listeners) listen(notice);
  };
  const alone = (): void => void (hasOthers = false);
  return { store, clock, logger, recent, waiters, wait, hear, alone };
}

const ENDED: Notice = { kind: "job_ended", owner: OWNER, id: "j" };

Deno.test("JobWaiters.wait() answers at once when another instance tells of the end", async () => {
  const { store, clock, recent, waiters, wait, hear } = setUpShared();
  recent.add("j", { text: "tea" });
  const answer = wait();
  await clock.advanceAsync(100);
  store.status = "uploaded";
  hear({ ...ENDED, id: "other" });
  hear(ENDED);
  assertEquals((await answer)?.status, "uploaded");
  assertEquals([recent.size, store.told, store.looks], [0, [], []]);
  waiters.stop();
  assertEquals([clock.pendingTimers, store.listeners.size], [0, 0]);
});

Deno.test("JobWaiters.wait() answers within a second when what another instance tells is lost", async () => {
  const { store, clock, logger, waiters, wait } = setUpShared();
  const answers = [wait(), wait()];
  await clock.advanceAsync(3_500);
  // Both wait for one job.
  assertEquals(store.looks, [1, 1, 1]);
  store.fault = new Error("no answer");
  await clock.advanceAsync(1_000);
  assertEquals(logger.lines.length, 1);
  store.fault = undefined;
  store.status = "failed";
  await clock.advanceAsync(1_000);
  assertEquals(
    (await Promise.all(answers)).map((job) => job?.status),
    ["failed", "failed"],
  );
  await clock.advanceAsync(5_000);
  // Nobody waits any longer.
  assertEquals(store.looks.length, 5);
  waiters.stop();
});

Deno.test("JobWaiters looks at once when notices may be lost", async () => {
  const { store, clock, waiters, wait, hear } = setUpShared();
  const answer = wait();
  await clock.advanceAsync(10);
  store.status = "done";
  hear({ kind: "gap" });
  assertEquals((await answer)?.status, "done");
  waiters.stop();
});

Deno.test("JobWaiters.tell() tells other instances, if there are any", () => {
  const { store, waiters, alone } = setUpShared();
  waiters.tell({ owner: OWNER, id: "j" });
  alone();
  waiters.tell({ owner: OWNER, id: "k" });
  assertEquals(store.told, [ENDED]);
  waiters.stop();
});

Deno.test("JobWaiters keeps no text for long where another instance may have ended its job", async () => {
  const { clock, recent, waiters } = setUpShared();
  recent.add("j", { text: "tea" });
  await clock.advanceAsync(29_000);
  recent.add("k", { text: "milk" });
  assertEquals(recent.size, 2);
  await clock.advanceAsync(1_000);
  assertEquals([recent.get("j"), recent.get("k")?.text], [undefined, "milk"]);
  waiters.stop();
});

Deno.test("JobWaiters of an instance that has the store for itself neither looks nor listens", async () => {
  const { store, clock, waiters } = setUp();
  waiters.start();
  const answer = waiters.wait(OWNER, "j", { waitMs: 5_000 });
  await clock.advanceAsync(5_000);
  assertEquals((await answer)?.status, "running");
  assertEquals([store.looks, store.listeners.size], [[], 0]);
  waiters.stop();
});
