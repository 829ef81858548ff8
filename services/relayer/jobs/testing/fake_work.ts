/**
 * Jobs, their steps and instances in memory, for tests of the runner.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import type { InstanceChange } from "../../../shared/instances.ts";
import type { JobRow } from "../../store/rows.ts";
import { StorageWatch } from "../../store/storage_watch.ts";
import type { Change, CommitOutcome } from "../../store/changes.ts";
import type { JobLeases, RelayerStore } from "../../store/store.ts";
import { sampleJob } from "../../store/testing/sample_rows.ts";
import { JobRunner } from "../job_runner.ts";
import type { JobSteps } from "../job_steps.ts";

type StepOutcome = Awaited<ReturnType<JobSteps["run"]>>[number];

type JobRunnerOptions = ConstructorParameters<typeof JobRunner>[0];

/** When a test begins. */
export const START_MS = 1_800_000_000_000;

/**
 * A store of jobs in memory, and steps that finish a job at once unless a test
 * replaces them.
 */
export class FakeWork {
  /** The time. */
  readonly clock = new FakeClock(START_MS);
  /** What was logged. */
  readonly logger = new RecordingLogger();
  /** Whether writes reach the disk. */
  readonly storage = new StorageWatch(() => Promise.resolve(), this.logger);
  /** Jobs by id. */
  readonly rows = new Map<string, JobRow>();
  /** Ids of jobs for which requests wait no longer. */
  readonly settled: string[] = [];
  /** As a store of several instances says it. */
  hasOwnTime = false;
  /** Ids of the jobs of each batch. */
  readonly batches: (readonly string[])[] = [];
  /** When set, calls of the store reject with this error. */
  fault: Error | undefined;
  /** How often jobs were looked for. */
  looks = 0;
  /** Runs a batch; by default all of its jobs are done. */
  work: (
    jobs: readonly JobRow[],
    signal: AbortSignal,
  ) => Promise<readonly StepOutcome[]> = (jobs) => {
    for (const { id } of jobs) this.rows.delete(id);
    return Promise.resolve(jobs.map(() => ({ kind: "done" })));
  };

  /** Adds a job that is due. */
  add(id: string, job: Partial<JobRow> = {}): void {
    const row = sampleJob({ id, nextAttemptAtMs: this.clock.nowMs() });
    const state = { version: 1, attempts: 0, updatedAtMs: 0 };
    this.rows.set(id, { ...row, ...state, ...job });
  }

  /** A runner of these jobs. */
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

  /** See {@linkcode RelayerStore.leaseJobs}. */
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

  /** See {@linkcode RelayerStore.renewLeases}. */
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

  /** See {@linkcode RelayerStore.nextJobMs}. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async nextJobMs(): Promise<number | undefined> {
    if (this.fault !== undefined) throw this.fault;
    const times = this.#open().map(({ nextAttemptAtMs, leasedUntilMs = 0 }) =>
      Math.max(nextAttemptAtMs, leasedUntilMs)
    );
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** See {@linkcode RelayerStore.jobs}. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async jobs(
    _owner: string,
    ids: readonly string[],
  ): Promise<readonly (JobRow | undefined)[]> {
    if (this.fault !== undefined) throw this.fault;
    return ids.map((id) => this.rows.get(id));
  }

  /** Applies changes of jobs. */
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

/** Runs a batch of which each job fails. */
export function failing(
  jobs: readonly JobRow[],
): Promise<readonly StepOutcome[]> {
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
export function untilAborted(
  jobs: readonly JobRow[],
  signal: AbortSignal,
): Promise<readonly StepOutcome[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise.then(() => failing(jobs));
}

/** An instance among others, as a test says. */
export class FakeInstances {
  /** Its id. */
  id = "boot_1";
  /** Whether others may count it as dead. */
  isFenced = false;
  /** The instances that share the store. */
  members: readonly unknown[] = [this];
  /** Whether the store answers, so that the fence ends. */
  answers = true;
  /** What hears of changes. */
  readonly listeners = new Set<(change: InstanceChange) => void>();

  /** Whether it may act. */
  mayAct(): Promise<boolean> {
    if (this.answers) this.isFenced = false;
    return Promise.resolve(!this.isFenced);
  }

  /** Listens to changes. */
  onChange(listen: (change: InstanceChange) => void): () => void {
    this.listeners.add(listen);
    return () => void this.listeners.delete(listen);
  }

  /** Tells all listeners that the store has answered. */
  tell(gone: readonly string[], isBack: boolean): void {
    for (const listen of this.listeners) {
      listen({ kind: "answered", gone, isBack });
    }
  }
}
