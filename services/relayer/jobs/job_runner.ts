/**
 * Runs due jobs in batches until each job is done or given up.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Instances } from "../../shared/instances.ts";
import type { Logger } from "../../shared/logger.ts";
import { pause, Periodic } from "../../shared/periodic.ts";
import { describeError, waitAtMost } from "../../shared/settled.ts";
import type { JobRow } from "../store/rows.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import type { JobName, RelayerStore } from "../store/store.ts";
import { LATE_FAILURE, nextAttemptMs } from "./job_failure.ts";
import { JobLeases } from "./job_leases.ts";
import type { FailedStep, JobSteps } from "./job_steps.ts";

/** Options of {@linkcode JobRunner}. */
interface JobRunnerOptions {
  /**
   * Keeps the jobs; the runner asks it for those that are due, so a crash loses
   * none.
   */
  readonly store: Pick<
    RelayerStore,
    | "leaseJobs"
    | "renewLeases"
    | "nextJobMs"
    | "commit"
    | "jobs"
    | "hasOwnTime"
  >;
  /**
   * This instance and the others that share the store. It takes no jobs while
   * others may count it as dead, and goes on with those of one that has gone.
   *
   * @default the instance has the store for itself
   */
  readonly instances?:
    | Pick<Instances, "id" | "isFenced" | "mayAct" | "onChange"> & {
      readonly members: readonly unknown[];
    }
    | undefined;
  /** Runs the steps of a batch of jobs. */
  readonly steps: Pick<JobSteps, "run">;
  /** Called with each job that was given up. */
  readonly onSettled: (job: JobName) => void;
  /** Most attempts of a job. */
  readonly maxAttempts: number;
  /**
   * Most jobs of a batch; a batch of large jobs has fewer.
   *
   * @default {32}
   */
  readonly batch?: number;
  /**
   * Batches under way at a time: while one waits for the disk another one embeds.
   *
   * @default {3}
   */
  readonly maxBatches?: number;
  /**
   * Timeout of a batch, in milliseconds. After it the batch is aborted, and its
   * jobs are retried later: whatever the aborted attempt still does changes
   * nothing.
   *
   * @default {120000}
   */
  readonly batchTimeoutMs?: number;
  /**
   * Whether other work needs the machine more: then one small batch runs at a
   * time, with pauses in between. Jobs that have waited for 20 seconds run at
   * full speed all the same.
   *
   * @default {() => false}
   */
  readonly givesWay?: () => boolean;
  /** The store's time. */
  readonly clock: Clock;
  /** Returns a number from 0 up to 1, which spreads retries. */
  readonly random: () => number;
  /** Takes note of storage failures, and logs them once. */
  readonly storage: Pick<StorageWatch, "note">;
  /** Logs all other failures. */
  readonly logger: Logger;
}

/** Jobs that run together. */
interface Batch {
  readonly jobs: readonly JobRow[];
  /** Aborts the batch. */
  readonly ending: AbortController;
  /**
   * Whether the batch was aborted because the process stops, which does not
   * count as an attempt.
   */
  isGivenUp: boolean;
}

/** The pause before the next query after the store failed. */
const STORE_RETRY_MS = 1_000;
/**
 * The pause before the next attempt after the storage of this machine failed.
 */
const STORAGE_RETRY_MS = 5_000;
/**
 * The pause between batches while other work comes first, of an instance that
 * is alone.
 */
const GIVE_WAY_MS = 250;
/** Most jobs of a batch while other work comes first. */
const GIVE_WAY_BATCH = 8;
/** How long jobs wait for other work at most. */
const PATIENCE_MS = 20_000;
/** How long an aborted batch has to end before it is abandoned. */
const ENDING_MS = 250;
/**
 * The longest time between two queries for due jobs: the wall clock may be set.
 */
const LONGEST_REST_MS = 60_000;
/**
 * The same where instances share the store. One that dies, or has too many
 * jobs, leaves some that no other one is told of.
 */
const SHARED_REST_MS = 1_000;
/** The time between two queries while jobs are under way. */
const UNDER_WAY_REST_MS = 1_000;

/** Runs due jobs. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #leases: JobLeases;
  readonly #batches = new Map<Batch, Promise<void>>();
  readonly #looking: Periodic;
  #isBehind = false;
  #lastBatchMs = -Infinity;

  /** A runner that is not started. */
  constructor(options: JobRunnerOptions) {
    this.#options = options;
    const { store, instances, clock } = options;
    this.#leases = new JobLeases({
      ...{ store, clock },
      instance: () => instances?.id ?? "",
      onError: (error) => this.#noteLost(error),
    });
    instances?.onChange((change) => {
      const isDue = change.kind === "answered" &&
        (change.isBack || change.gone.length > 0);
      if (isDue) this.wake();
    });
    this.#looking = new Periodic({
      clock: options.clock,
      run: (signal) => this.#look(signal),
      onError: (error) => this.#lookLater(error),
    });
  }

  /** Starts with the jobs that an earlier process left. */
  start(): void {
    this.#looking.start();
    this.#looking.wake();
  }

  /**
   * Begins no further batches and waits up to `graceMs` for those under way;
   * then aborts them, and abandons those that do not end soon. Their jobs are
   * given back: they run again at the next start, or at another instance.
   */
  async stop(graceMs: number): Promise<void> {
    void this.#looking.stop();
    const { clock, logger } = this.#options;
    const ended = Promise.all(this.#batches.values());
    if (await waitAtMost(ended, { clock, timeoutMs: graceMs }) !== "late") {
      return;
    }
    for (const batch of this.#batches.keys()) {
      batch.isGivenUp = true;
      batch.ending.abort();
    }
    const last = await waitAtMost(ended, { clock, timeoutMs: ENDING_MS });
    if (last !== "late") return;
    logger.warn("Left unfinished jobs; they continue at the next start", {
      jobs: this.#leases.size,
    });
    const givingBack = this.#leases.giveAllBack();
    await waitAtMost(givingBack, { clock, timeoutMs: ENDING_MS });
  }

  /** Looks for due jobs now; called when there may be new ones. */
  wake(): void {
    this.#looking.wake();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, givesWay = () => false, instances } = this.#options;
    const { batch = 32, maxBatches = 3 } = this.#options;
    if (instances?.isFenced === true && !await instances.mayAct()) {
      return this.#looking.wakeIn(STORE_RETRY_MS);
    }
    while (!signal.aborted && this.#batches.size < maxBatches) {
      const isSecond = givesWay() && !this.#isBehind;
      if (isSecond && !this.#mayGoOn(clock.nowMs())) {
        return this.#looking.wakeIn(this.#giveWayMs);
      }
      const { jobs, longestMs } = await this.#leases.take(
        isSecond ? Math.min(batch, GIVE_WAY_BATCH) : batch,
      );
      this.#isBehind = longestMs > PATIENCE_MS;
      // The runner may have been stopped meanwhile, and then nothing waits for
      // a new batch.
      if (signal.aborted) return await this.#leases.giveBack(jobs);
      if (jobs.length === 0) break;
      this.#begin(jobs);
    }
    await this.#wakeForNext();
  }

  #lookLater(error: unknown): void {
    const { logger, storage } = this.#options;
    if (storage.note(error)) return this.#looking.wakeIn(STORAGE_RETRY_MS);
    logger.error("Cannot find jobs: the store failed", {
      error: describeError(error),
    });
    this.#looking.wakeIn(STORE_RETRY_MS);
  }

  /** Another instance may take the jobs: the first that changes one goes on. */
  #noteLost(error: unknown): void {
    const { logger, storage } = this.#options;
    if (storage.note(error)) return;
    logger.warn("Cannot keep jobs for this instance: the store failed", {
      error: describeError(error),
    });
  }

  /** Whether a batch may begin although other work comes first. */
  #mayGoOn(nowMs: number): boolean {
    const passedMs = nowMs - this.#lastBatchMs;
    return this.#batches.size === 0 &&
      (passedMs >= this.#giveWayMs || passedMs < 0);
  }

  /** All instances together do what one would: they share the database. */
  get #giveWayMs(): number {
    return GIVE_WAY_MS *
      Math.max(1, this.#options.instances?.members.length ?? 1);
  }

  #begin(jobs: readonly JobRow[]): void {
    this.#lastBatchMs = this.#options.clock.nowMs();
    const ending = new AbortController();
    const batch: Batch = { jobs, ending, isGivenUp: false };
    const work = this.#run(batch).finally(() => {
      this.#leases.forget(jobs);
      this.#batches.delete(batch);
      this.wake();
    });
    this.#batches.set(batch, work);
  }

  async #run(batch: Batch): Promise<void> {
    const { clock, logger, storage } = this.#options;
    const failed = await this.#runSteps(batch);
    // The process stops: the jobs are unchanged, and run again at the next
    // start.
    if (batch.isGivenUp) return await this.#leases.giveBack(batch.jobs);
    const { signal } = batch.ending;
    // A full disk is not the jobs' fault: giving them up would lose texts that
    // were accepted.
    const counted = failed.filter(({ storageError }) =>
      !storage.note(storageError)
    );
    let pauseMs = counted.length < failed.length ? STORAGE_RETRY_MS : 0;
    try {
      await Promise.all(counted.map((step) => this.#retry(step)));
    } catch (error) {
      pauseMs = Math.max(pauseMs, STORE_RETRY_MS);
      if (storage.note(error)) pauseMs = STORAGE_RETRY_MS;
      else {
        logger.error("Cannot store that jobs failed: the store failed", {
          error: describeError(error),
        });
      }
    }
    // The failed jobs are due again at once, so the batch keeps its place for
    // the pause.
    if (pauseMs === 0) return;
    await pause(pauseMs, { clock, signal });
    await this.#leases.giveBack(failed.map(({ job }) => job));
  }

  async #runSteps(
    { jobs, ending }: Batch,
  ): Promise<readonly FailedStep[]> {
    const { steps, clock, logger, batchTimeoutMs = 120_000 } = this.#options;
    const outcomes = await waitAtMost(steps.run(jobs, ending.signal), {
      clock,
      timeoutMs: batchTimeoutMs,
    });
    if (outcomes !== "late") {
      return outcomes.filter((outcome) => outcome.kind === "failed");
    }
    ending.abort();
    logger.error("Ended jobs that took too long; retrying", {
      jobs: jobs.length,
    });
    // Jobs that did end have another status by now, so this does nothing to
    // them.
    return jobs.map((job) => ({ kind: "failed", job, ...LATE_FAILURE }));
  }

  async #retry(failure: FailedStep): Promise<void> {
    const { store, clock, random, maxAttempts, onSettled, logger } =
      this.#options;
    const { job, reason, isPassing, isOurs, retryAfterMs } = failure;
    const attempts = job.attempts + 1;
    const nextAttemptAtMs = isPassing
      ? nextAttemptMs({
        attempts,
        maxAttempts,
        isOurs,
        nowMs: clock.nowMs(),
        retryAfterMs,
        random: random(),
      })
      : undefined;
    // A memory that recall finds already has not failed: only the rest of its
    // job is retried later.
    const hasFailed = nextAttemptAtMs === undefined &&
      job.status !== "uploaded";
    const patch = hasFailed
      ? { status: "failed" as const, attempts, error: reason }
      : {
        attempts,
        nextAttemptAtMs: nextAttemptAtMs ?? clock.nowMs() + LONGEST_REST_MS,
        error: reason,
      };
    const { owner, id, version } = job;
    const commit = (expectedVersion: number) =>
      store.commit([{ kind: "job", owner, id, expectedVersion, patch }]);
    let outcome = await commit(version);
    if (outcome.kind === "conflict") {
      // The attempt itself may have changed the job before it failed, as it does
      // when it notes a blob: it counts all the same.
      const [current] = await store.jobs(owner, [id]);
      if (
        current?.status === job.status && current.attempts === job.attempts
      ) outcome = await commit(current.version);
    }
    if (!hasFailed || outcome.kind === "conflict") return;
    logger.error("Abandoned a job", { job: job.id, reason, attempts });
    onSettled(job);
  }

  async #wakeForNext(): Promise<void> {
    const { store, clock } = this.#options;
    const longestMs = store.hasOwnTime ? SHARED_REST_MS : LONGEST_REST_MS;
    const nextMs = await store.nextJobMs();
    if (nextMs === undefined) {
      if (store.hasOwnTime) this.#looking.wakeIn(longestMs);
      return;
    }
    // Due jobs may wait for the end of a batch. Others must not wait for the
    // jobs under way, which count as due when their leases end.
    const isBusy = this.#leases.size > 0;
    const delayMs = isBusy
      ? UNDER_WAY_REST_MS
      : Math.max(1, nextMs - clock.nowMs());
    this.#looking.wakeIn(Math.min(longestMs, delayMs));
  }
}
