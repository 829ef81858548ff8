import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { InstanceChange } from "../../shared/instances.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import type { JobRow } from "../store/rows.ts";
import { StorageWatch } from "../store/storage_watch.ts";
import type {
  Change,
  CommitOutcome,
  JobLeases,
  RelayerStore,
} from "../store/store.ts";
import { conflictingStore } from "../store/testing/conflicting_store.ts";
import { sampleJob } from "../store/testing/sample_rows.ts";
import { thrownFailure } from "./job_failure.ts";
import { MAX_BATCH_BYTES } from "./job_leases.ts";
import { JobRunner } from "./job_runner.ts";
import { JobSteps } from "./job_steps.ts";
import {
  CALLER,
  type JobWorld,
  never,
  withWorld,
} from "./testing/job_world.ts";

type StepOutcome = Awaited<ReturnType<JobSteps["run"]>>[number];

type JobRunnerOptions = ConstructorParameters<typeof JobRunner>[0];

const START_MS = 1_800_000_000_000;

/**
 * A store of jobs in memory, and steps that finish a job at once unless a test
 * replaces them.
 */
class FakeWork {
  readonly clock = new FakeClock(START_MS);
  readonly logger = new RecordingLogger();
  readonly storage = new StorageWatch(() => Promise.resolve(), this.logger);
  readonly rows = new Map<string, JobRow>();
  readonly settled: string[] = [];
  hasOwnTime = false;
  readonly batches: (readonly string[])[] = [];
  /** When set, calls of the store reject with this error. */
  fault: Error | undefined;
  looks = 0;
  /** Runs a batch; by default all of its jobs are done. */
  work: (
    jobs: readonly JobRow[],
    signal: AbortSignal,
  ) => Promise<readonly StepOutcome[]> = (jobs) => {
    for (const { id } of jobs) this.rows.delete(id);
    return Promise.resolve(jobs.map(() => ({ kind: "done" })));
  };

  add(id: string, job: Partial<JobRow> = {}): void {
    const row = sampleJob({ id, nextAttemptAtMs: this.clock.nowMs() });
    const state = { version: 1, attempts: 0, updatedAtMs: 0 };
    this.rows.set(id, { ...row, ...state, ...job });
  }

  runner(options: Partial<JobRunnerOptions> = {}): JobRunner {
    const { clock, logger, storage } = this;
    return new JobRunner({
      clock,
      logger,
      storage,
      store: this,
      steps: {
        run: (jobs, signal) => {
          this.batches.push(jobs.map(({ id }) => id));
          return this.work(jobs, signal);
        },
      },
      onSettled: ({ id }) => void this.settled.push(id),
      maxAttempts: 3,
      random: () => 0.5,
      ...options,
    });
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async leaseJobs(
    { nowMs, dueMs = nowMs, limit, instance, leaseMs, maxBytes = Infinity }:
      JobLeases,
  ): Promise<readonly JobRow[]> {
    this.looks++;
    if (this.fault !== undefined) throw this.fault;
    let bytes = 0;
    const due = this.#open().filter((job) =>
      job.nextAttemptAtMs <= dueMs && (job.leasedUntilMs ?? 0) <= nowMs
    ).slice(0, limit).filter(({ payload }, index) => {
      bytes += payload?.length ?? 0;
      return index === 0 || bytes <= maxBytes;
    });
    for (const job of due) {
      const leasedUntilMs = nowMs + leaseMs;
      this.rows.set(job.id, { ...job, leasedBy: instance, leasedUntilMs });
    }
    return due;
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async renewLeases(
    { instance, jobs, untilMs }: Parameters<RelayerStore["renewLeases"]>[0],
  ): Promise<void> {
    if (this.fault !== undefined) throw this.fault;
    for (const { id } of jobs) {
      const job = this.rows.get(id);
      if (job?.leasedBy !== instance) continue;
      this.rows.set(id, { ...job, leasedUntilMs: untilMs });
    }
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async nextJobMs(): Promise<number | undefined> {
    if (this.fault !== undefined) throw this.fault;
    const times = this.#open().map(({ nextAttemptAtMs, leasedUntilMs = 0 }) =>
      Math.max(nextAttemptAtMs, leasedUntilMs)
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async jobs(
    _owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]> {
    if (this.fault !== undefined) throw this.fault;
    return ids.map((id) => this.rows.get(id));
  }

  // deno-lint-ignore require-await -- a throw becomes a rejection
  async commit(changes: readonly Change[]): Promise<CommitOutcome> {
    if (this.fault !== undefined) throw this.fault;
    for (const change of changes) {
      if (change.kind !== "job") continue;
      const row = this.rows.get(change.id);
      if (row?.version !== change.expectedVersion) {
        return { kind: "conflict", change: 0 };
      }
      const { payload: _payload, error, ...patch } = change.patch;
      const { leasedBy, leasedUntilMs } = row;
      this.rows.set(row.id, {
        ...row,
        ...patch,
        ...(patch.nextAttemptAtMs === undefined
          ? { leasedBy, leasedUntilMs }
          : { leasedBy: undefined, leasedUntilMs: undefined }),
        ...(typeof error === "string" ? { error } : {}),
        version: row.version + 1,
      });
    }
    return { kind: "ok" };
  }

  #open(): readonly JobRow[] {
    return [...this.rows.values()]
      .filter(({ status }) => status !== "failed" && status !== "done")
      .sort((a, b) => a.nextAttemptAtMs - b.nextAttemptAtMs);
  }
}

function failing(jobs: readonly JobRow[]): Promise<readonly StepOutcome[]> {
  return Promise.resolve(
    jobs.map((job) => ({
      kind: "failed",
      job,
      reason: "Cannot store memory: test",
      isPassing: true,
      isOurs: true,
    })),
  );
}

/** Runs a batch that ends only when its signal aborts. */
function untilAborted(
  jobs: readonly JobRow[],
  signal: AbortSignal,
): Promise<readonly StepOutcome[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.then(() => failing(jobs));
}

Deno.test("JobRunner does all jobs and rests", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 500; at++) work.add(`j${at}`);
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  assertEquals(work.rows.size, 0);
  assertEquals(new Set(work.batches.flat()).size, 500);
  assertEquals(work.batches.flat().length, 500);
  assertEquals(work.clock.pendingTimers, 0);
  await runner.stop(1_000);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner tries a failing job a few times, with waits, and then gives it up", async () => {
  const work = new FakeWork();
  work.add("poison");
  work.work = failing;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  assertEquals([work.batches.length, work.rows.get("poison")?.attempts], [
    1,
    1,
  ]);
  await work.clock.advanceAsync(1_999);
  assertEquals(work.batches.length, 1);
  await work.clock.advanceAsync(1);
  assertEquals(work.batches.length, 2);
  assertEquals(work.settled, []);
  await work.clock.advanceAsync(60_000);
  const { status, error, attempts } = work.rows.get("poison") ?? {};
  assertEquals([status, attempts], ["failed", 3]);
  assertEquals(error, "Cannot store memory: test");
  assertEquals([work.batches.length, work.settled], [3, ["poison"]]);
  await runner.stop(0);
});

Deno.test("JobRunner does others while a poisoned job comes again and again", async () => {
  const work = new FakeWork();
  work.add("poison");
  const done = work.work;
  work.work = async (jobs, signal) => {
    const bad = jobs.filter(({ id }) => id === "poison");
    const good = jobs.filter(({ id }) => id !== "poison");
    return [...await failing(bad), ...await done(good, signal)];
  };
  const runner = work.runner({ maxAttempts: 100 });
  runner.start();
  for (let at = 0; at < 50; at++) {
    work.add(`j${at}`);
    runner.wake();
    await work.clock.advanceAsync(1_000);
    assert(!work.rows.has(`j${at}`));
  }
  // Waits of 2, 4, 8, 16 and 32 seconds: the runner did not retry without a
  // pause.
  assertEquals(work.rows.get("poison")?.attempts, 5);
  await runner.stop(0);
});

Deno.test("JobRunner never gives up what is found already", async () => {
  const work = new FakeWork();
  work.add("j", { status: "uploaded", attempts: 50 });
  work.work = failing;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(600_000);
  assertEquals(work.rows.get("j")?.status, "uploaded");
  assertEquals(work.settled, []);
  assertEquals(work.batches.length, 11);
  await runner.stop(0);
});

Deno.test("JobRunner.stop() ends within its grace though a batch hangs for ever", async () => {
  const work = new FakeWork();
  work.add("j");
  work.work = never;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  let isStopped = false;
  const stopped = runner.stop(5_000).then(() => isStopped = true);
  await work.clock.advanceAsync(4_999);
  assertEquals(isStopped, false);
  await work.clock.advanceAsync(251);
  await stopped;
  assertEquals([work.rows.get("j")?.version, work.rows.get("j")?.attempts], [
    1,
    0,
  ]);
});

Deno.test("JobRunner.stop() ends what listens and counts it as no attempt", async () => {
  const work = new FakeWork();
  work.add("j");
  work.work = untilAborted;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  const stopped = runner.stop(5_000);
  await work.clock.advanceAsync(5_000);
  await stopped;
  assertEquals(work.rows.get("j")?.version, 1);
  assertEquals(work.clock.pendingTimers, 0);
  assertEquals(work.logger.lines, []);
});

Deno.test("JobRunner.stop() begins nothing that a look finds meanwhile", async () => {
  const work = new FakeWork();
  const held = Promise.withResolvers<void>();
  const runner = work.runner({
    store: {
      hasOwnTime: false,
      leaseJobs: async (leases) => {
        await held.promise;
        return await work.leaseJobs(leases);
      },
      renewLeases: (leases) => work.renewLeases(leases),
      nextJobMs: () => work.nextJobMs(),
      commit: (changes) => work.commit(changes),
      jobs: (owner, ids) => work.jobs(owner, ids),
    },
  });
  work.add("j");
  runner.start();
  await runner.stop(1_000);
  held.resolve();
  await work.clock.advanceAsync(120_000);
  assertEquals([work.batches, work.clock.pendingTimers], [[], 0]);
});

Deno.test("JobRunner begins a hanging batch again, and the first attempt changes nothing", async () => {
  const work = new FakeWork();
  work.add("j");
  const done = work.work;
  work.work = never;
  const runner = work.runner({ batchTimeoutMs: 30_000 });
  runner.start();
  await work.clock.advanceAsync(29_999);
  work.work = done;
  assertEquals(work.rows.get("j")?.attempts, 0);
  await work.clock.advanceAsync(1);
  assertEquals(work.rows.get("j")?.attempts, 1);
  assertEquals(
    work.rows.get("j")?.error,
    "Cannot store memory: it took too long",
  );
  await work.clock.advanceAsync(2_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner does not let what waits for another attempt wait for a hanging batch", async () => {
  const work = new FakeWork();
  work.add("hangs");
  const done = work.work;
  work.work = (jobs, signal) =>
    jobs.some(({ id }) => id === "hangs") ? never() : done(jobs, signal);
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  work.add("later", { nextAttemptAtMs: work.clock.nowMs() + 3_000 });
  const looks = work.looks;
  await work.clock.advanceAsync(10_000);
  assert(!work.rows.has("later"));
  assert(work.looks - looks <= 12, `${work.looks - looks}`);
  const stopped = runner.stop(0);
  await work.clock.advanceAsync(250);
  await stopped;
});

Deno.test("JobRunner waits out a store that fails, for looks and for notes", async () => {
  const work = new FakeWork();
  work.add("j");
  work.fault = new Error("disk");
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(10_000);
  assert(work.looks <= 12, `${work.looks}`);
  work.fault = undefined;
  let isFirst = true;
  const done = work.work;
  work.work = (jobs, signal) => {
    if (!isFirst) return done(jobs, signal);
    isFirst = false;
    work.fault = new Error("disk");
    return failing(jobs);
  };
  await work.clock.advanceAsync(5_000);
  const looks = work.looks;
  work.fault = undefined;
  await work.clock.advanceAsync(2_000);
  assertEquals(work.rows.size, 0);
  assert(work.looks - looks <= 4);
  await runner.stop(0);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner looks no more often than it must in a storm of wakes", async () => {
  const work = new FakeWork();
  const runner = work.runner();
  runner.start();
  for (let at = 0; at < 10_000; at++) runner.wake();
  await work.clock.advanceAsync(0);
  assert(work.looks <= 3, `${work.looks}`);
  await runner.stop(0);
  for (let at = 0; at < 10; at++) runner.wake();
  await work.clock.advanceAsync(60_000);
  assert(work.looks <= 3);
});

Deno.test("JobRunner finds jobs beside thousands that are put off and those under way", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 5_000; at++) {
    work.add(`later${at}`, { nextAttemptAtMs: START_MS + 3_000_000 });
  }
  for (let at = 0; at < 96; at++) work.add(`hangs${at}`);
  const done = work.work;
  work.work = (jobs, signal) =>
    jobs.some(({ id }) => id.startsWith("hangs"))
      ? untilAborted(jobs, signal)
      : done(jobs, signal);
  const runner = work.runner({ maxBatches: 4 });
  runner.start();
  await work.clock.advanceAsync(0);
  assertEquals(work.batches.length, 3);
  work.add("new");
  runner.wake();
  await work.clock.advanceAsync(0);
  assert(!work.rows.has("new"));
  const stopped = runner.stop(0);
  await work.clock.advanceAsync(0);
  await stopped;
});

Deno.test("JobRunner does jobs of a time to come when the clock was set back", async () => {
  const work = new FakeWork();
  work.add("tomorrow", { nextAttemptAtMs: START_MS + 86_400_000 });
  work.add("put off", { nextAttemptAtMs: START_MS + 300_000 });
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(299_999);
  assertEquals(work.rows.size, 2);
  await work.clock.advanceAsync(120_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner holds batches to their bytes", async () => {
  const work = new FakeWork();
  const payload = new Uint8Array(1_048_576);
  for (let at = 0; at < 50; at++) work.add(`j${at}`, { payload });
  work.work = never;
  const runner = work.runner();
  runner.start();
  await work.clock.advanceAsync(0);
  const most = MAX_BATCH_BYTES / payload.length;
  assertEquals(work.batches.map(({ length }) => length), [most, most, most]);
  const stopped = runner.stop(0);
  await work.clock.advanceAsync(250);
  await stopped;
});

Deno.test("JobRunner gives way, goes on all the same, and is fast again at once", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 600; at++) work.add(`j${at}`);
  let isPressed = true;
  const runner = work.runner({ givesWay: () => isPressed });
  runner.start();
  for (let ms = 0; ms < 10_000; ms += 25) {
    runner.wake();
    await work.clock.advanceAsync(25);
  }
  const slow = 600 - work.rows.size;
  assert(slow >= 300 && slow <= 330, `${slow}`);
  assertEquals(work.clock.pendingTimers, 1);
  isPressed = false;
  await work.clock.advanceAsync(250);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner does not give way for ever", async () => {
  const work = new FakeWork();
  for (let at = 0; at < 2_000; at++) work.add(`j${at}`);
  const runner = work.runner({ givesWay: () => true });
  runner.start();
  await work.clock.advanceAsync(20_000);
  assert(work.rows.size > 1_000);
  await work.clock.advanceAsync(1_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner brings all to their end in a store in which others are quicker", async () => {
  await withWorld(async (world) => {
    const random = new SeededRandom(11);
    const ids = await world.accept(
      Array.from({ length: 20 }, (_, at) => `Text ${at}.`),
    );
    const parts = world.parts();
    const store = conflictingStore(parts.store, {
      isBeaten: () => random.chance(0.3),
    });

    const steps = new JobSteps({ ...parts, store });
    const runner = world.runner({ store, steps, batch: 4 });
    await drain(world, runner);
    for (const id of ids) {
      assertEquals(await world.findTraces(id), [
        "blob",
        "entry",
        "index",
        "row",
      ]);
    }
    assertEquals(world.blobs.blobs.size, 20);
    assertEquals((await world.store.stats(CALLER.owner)).memories, 20);
  });
});

Deno.test("JobRunner counts attempts that fail or hang after they noted their blob", async () => {
  for (const fault of ["throws", "hangs"]) {
    await withWorld(async (world) => {
      const [id = ""] = await world.accept(["Ada has two dogs."]);
      let number = 0;
      world.vault.protect = (_owner, bytes) =>
        Promise.resolve(Uint8Array.of(...bytes, number++));
      let tries = 0;
      world.hook = (call, when) => {
        if (call !== "blobs.put" || when !== "before") return undefined;
        tries++;
        if (fault === "hangs") return never();
        throw new BlobStoreError("away", { isPassing: true });
      };
      const runner = world.runner({ batchTimeoutMs: 30_000 });
      runner.start();
      await waitUntil(async () => {
        await world.clock.advanceAsync(1_000);
        return tries >= 5;
      }, { what: "the fifth attempt" });
      const { status, attempts } = await world.job(id);
      assertEquals(status, "running", fault);
      assert(attempts >= 4, `${fault}: ${attempts}`);
      const stopped = runner.stop(0);
      await world.clock.advanceAsync(1_000);
      await stopped;
    });
  }
});

Deno.test("JobRunner goes on with what an earlier life left, failures at random", async () => {
  await withWorld(async (world) => {
    const random = new SeededRandom(23);
    const ids = await world.accept(
      Array.from({ length: 20 }, (_, at) => `Text ${at}.`),
    );
    for (let life = 0; life < 3; life++) {
      const runner = world.runner({ batch: 5 });
      let left = 12;
      world.hook = () => {
        if (left-- <= 0) return never();
        if (random.chance(0.1)) throw new Error("now and then");
        return undefined;
      };
      runner.start();
      await waitUntil(async () => {
        await world.clock.advanceAsync(1_000);
        return left <= 0;
      }, { what: "the crash" });
      const stopped = runner.stop(0);
      await world.clock.advanceAsync(1_000);
      await stopped;
      await world.restart();
    }
    await drain(world, world.runner({ maxAttempts: 10 }));
    for (const id of ids) {
      assertEquals((await world.job(id)).status, "done");
      assertEquals(await world.findTraces(id), [
        "blob",
        "entry",
        "index",
        "row",
      ]);
    }
    assertEquals(world.blobs.blobs.size, 20);
  });
});

/** Runs until no job is left. */
async function drain(world: JobWorld, runner: JobRunner): Promise<void> {
  runner.start();
  await waitUntil(async () => {
    await world.clock.advanceAsync(1_000);
    return await world.store.nextJobMs() === undefined;
  }, { what: "all jobs" });
  const stopped = runner.stop(1_000);
  await world.clock.advanceAsync(1_000);
  await stopped;
}

Deno.test("JobRunner gives no job up while the disk is full, and goes on when it is not", async () => {
  const work = new FakeWork();
  const full = new BlobStoreError("Cannot store blob: no space left", {
    isPassing: true,
    isLocal: true,
  });
  const done = work.work;
  work.work = (jobs) =>
    Promise.resolve(
      jobs.map((job) => ({ kind: "failed", job, ...thrownFailure(full) })),
    );
  work.add("a");
  work.add("b");
  const runner = work.runner();
  runner.start();
  // Any other failure would give the job up after three attempts.
  await work.clock.advanceAsync(900_000);
  assert(work.batches.length > 30 && work.batches.length < 250);
  assertEquals(work.storage.isReady, false);
  assertEquals(
    [...work.rows.values()].map(({ status, attempts }) => [status, attempts]),
    [["pending", 0], ["pending", 0]],
  );
  assertEquals(work.logger.lines.length, 1);
  work.work = done;
  await work.clock.advanceAsync(10_000);
  assertEquals(work.rows.size, 0);
  await runner.stop(0);
});

Deno.test("JobRunner leaves a storage that failed alone for seconds, with one line in the log", async () => {
  const work = new FakeWork();
  work.fault = new StoreFailedError("Cannot use relayer.db: disk I/O error");
  const runner = work.runner();
  runner.start();
  for (let second = 0; second < 100; second++) {
    await work.clock.advanceAsync(1_000);
  }
  assert(work.looks > 10 && work.looks < 30, `${work.looks} looks`);
  assertEquals(work.logger.lines.length, 1);
  await runner.stop(0);
});

/** An instance among others, as a test says. */
class FakeInstances {
  id = "boot_1";
  isFenced = false;
  /** Whether the store answers, so that the fence ends. */
  answers = true;
  readonly listeners = new Set<(change: InstanceChange) => void>();

  mayAct(): Promise<boolean> {
    if (this.answers) this.isFenced = false;
    return Promise.resolve(!this.isFenced);
  }

  onChange(listen: (change: InstanceChange) => void): () => void {
    this.listeners.add(listen);
    return () => void this.listeners.delete(listen);
  }

  tell(gone: readonly string[], isBack: boolean): void {
    for (const listen of this.listeners) {
      listen({ kind: "answered", gone, isBack });
    }
  }
}

Deno.test("JobRunner takes no jobs while others may count its instance as dead, and goes on after that", async () => {
  const work = new FakeWork();
  work.hasOwnTime = true;
  const instances = new FakeInstances();
  instances.isFenced = true;
  instances.answers = false;
  const runner = work.runner({ instances });
  work.add("a");
  runner.start();
  await work.clock.advanceAsync(5_000);
  assertEquals([work.looks, work.batches], [0, []]);
  instances.isFenced = false;
  instances.tell([], true);
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, [["a"]]);
  // A process that only stood still asks, and goes on at once.
  instances.isFenced = true;
  instances.answers = true;
  work.add("b");
  runner.wake();
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, [["a"], ["b"]]);
  await runner.stop(0);
  assertEquals(work.clock.pendingTimers, 0);
});

Deno.test("JobRunner looks at once when an instance has gone, and each second for what nobody tells", async () => {
  const work = new FakeWork();
  work.hasOwnTime = true;
  const instances = new FakeInstances();
  const runner = work.runner({ instances });
  runner.start();
  await work.clock.advanceAsync(100);
  // Of an instance that is alive.
  const leasedUntilMs = START_MS + 30_000;
  work.add("a", { leasedBy: "boot_2", leasedUntilMs });
  await work.clock.advanceAsync(5_000);
  assertEquals(work.batches, []);
  instances.tell([], false);
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, []);
  work.add("a", { leasedBy: undefined, leasedUntilMs: undefined });
  instances.tell(["boot_2"], false);
  await work.clock.advanceAsync(0);
  assertEquals(work.batches, [["a"]]);
  // Another instance took it in, and has more than it can do.
  work.add("b");
  await work.clock.advanceAsync(1_000);
  assertEquals(work.batches, [["a"], ["b"]]);
  await runner.stop(0);
});

Deno.test("JobRunner of an instance that has the store for itself rests until a job is due", async () => {
  const work = new FakeWork();
  const runner = work.runner({ instances: new FakeInstances() });
  runner.start();
  await work.clock.advanceAsync(0);
  const { looks } = work;
  await work.clock.advanceAsync(300_000);
  assertEquals(work.looks, looks);
  await runner.stop(0);
});
