/**
 * Runs jobs as they fall due, some at a time, until each is done or given up.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { pause, Periodic } from "../../shared/periodic.ts";
import { describeError, waitAtMost } from "../../shared/settled.ts";
import type { JobRow } from "../store/rows.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import type { RelayerStore } from "../store/store.ts";
import { LATE_FAILURE, LONGEST_WAIT_MS, nextAttemptMs } from "./job_failure.ts";
import type { FailedStep, JobSteps } from "./job_steps.ts";

/** Options of {@linkcode JobRunner}. */
interface JobRunnerOptions {
  /** Keeps jobs; it is asked what is due, so nothing is forgotten by a crash. */
  readonly store: Pick<RelayerStore, "dueJobs" | "nextJobMs" | "commit">;
  /** Does what is to be done. */
  readonly steps: Pick<JobSteps, "run">;
  /** Hears of a job that has ended. */
  readonly onSettled: (id: string) => void;
  /** How often a job is begun. */
  readonly maxAttempts: number;
  /**
   * Jobs that go together; fewer where they are large.
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
   * Milliseconds that a batch may take. Then it is ended, and its jobs are tried
   * again later: whatever still comes of the first attempt changes nothing.
   *
   * @default {120000}
   */
  readonly batchTimeoutMs?: number;
  /**
   * Whether others need the machine more: there is one batch at a time then, with
   * pauses between them. When jobs have waited for 20 seconds, they go on as fast
   * as they can all the same.
   *
   * @default {() => false}
   */
  readonly givesWay?: () => boolean;
  /** The time. */
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Hears of failures of the storage, and logs what there is to say of them. */
  readonly storage: Pick<StorageWatch, "note">;
  /** Hears of what else goes wrong. */
  readonly logger: Logger;
}

/** Jobs that are done together. */
interface Batch {
  readonly jobs: readonly JobRow[];
  /** Ends what is under way. */
  readonly ending: AbortController;
  /** Whether it was ended because the process ends, which is no attempt. */
  isGivenUp: boolean;
}

/** How long the store is left alone after it failed. */
const STORE_RETRY_MS = 1_000;
/** How long jobs wait once the storage of this machine failed. */
const STORAGE_RETRY_MS = 5_000;
/** The pause between batches while others come first. */
const GIVE_WAY_MS = 250;
/** Jobs of such a batch. */
const GIVE_WAY_BATCH = 8;
/** How long jobs wait for others at most. */
const PATIENCE_MS = 20_000;
/** How long an aborted batch has to end. */
const ENDING_MS = 250;
/** The longest time without a look: the wall clock may be set. */
const LONGEST_REST_MS = 60_000;
/** The shortest time between looks for jobs beside those under way. */
const UNDER_WAY_REST_MS = 1_000;

/** Bytes that the jobs of a batch hold together; one job may hold more. */
export const MAX_BATCH_BYTES = 8 * 1_048_576;

/** No job is put off for longer, whatever happens; less than a clock is set by. */
const FARTHEST_MS = LONGEST_WAIT_MS + 60_000;

/** Does jobs. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #due: DueJobs;
  readonly #underWay = new Set<string>();
  readonly #batches = new Map<Batch, Promise<void>>();
  readonly #looking: Periodic;
  #isBehind = false;
  #lastBatchMs = -Infinity;

  /** A runner that is not started. */
  constructor(options: JobRunnerOptions) {
    this.#options = options;
    this.#due = new DueJobs(options.store);
    this.#looking = new Periodic({
      clock: options.clock,
      run: (signal) => this.#look(signal),
      onError: (error) => this.#lookLater(error),
    });
  }

  /** Begins with what an earlier life of the process left. */
  start(): void {
    this.#looking.start();
    this.#looking.wake();
  }

  /**
   * Begins nothing more and waits for what is under way, at most so long; then it
   * is ended, and a moment later left alone. Its jobs go on at the next start.
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
    logger.warn("Left jobs that do not end: they go on at the next start", {
      jobs: this.#underWay.size,
    });
  }

  /** There may be something to do. */
  wake(): void {
    this.#looking.wake();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, givesWay = () => false } = this.#options;
    const { batch = 32, maxBatches = 3 } = this.#options;
    while (!signal.aborted && this.#batches.size < maxBatches) {
      const isSecond = givesWay() && !this.#isBehind;
      if (isSecond && !this.#mayGoOn(clock.nowMs())) {
        return this.#looking.wakeIn(GIVE_WAY_MS);
      }
      const { jobs, longestMs } = await this.#due.take(
        clock.nowMs(),
        isSecond ? Math.min(batch, GIVE_WAY_BATCH) : batch,
        this.#underWay,
      );
      this.#isBehind = longestMs > PATIENCE_MS;
      // It may have been stopped meanwhile, and nothing waits for a new batch.
      if (jobs.length === 0 || signal.aborted) break;
      this.#begin(jobs);
    }
    await this.#wakeForNext();
  }

  #lookLater(error: unknown): void {
    const { logger, storage } = this.#options;
    if (storage.note(error)) return this.#looking.wakeIn(STORAGE_RETRY_MS);
    logger.error("Cannot look for jobs: the store failed", {
      error: describeError(error),
    });
    this.#looking.wakeIn(STORE_RETRY_MS);
  }

  /** Whether a batch may begin though others come first. */
  #mayGoOn(nowMs: number): boolean {
    const passedMs = nowMs - this.#lastBatchMs;
    return this.#batches.size === 0 &&
      (passedMs >= GIVE_WAY_MS || passedMs < 0);
  }

  #begin(jobs: readonly JobRow[]): void {
    this.#lastBatchMs = this.#options.clock.nowMs();
    for (const { id } of jobs) this.#underWay.add(id);
    const ending = new AbortController();
    const batch: Batch = { jobs, ending, isGivenUp: false };
    const work = this.#run(batch).finally(() => {
      for (const { id } of jobs) this.#underWay.delete(id);
      this.#batches.delete(batch);
      this.wake();
    });
    this.#batches.set(batch, work);
  }

  async #run(batch: Batch): Promise<void> {
    const { clock, logger, storage } = this.#options;
    const failed = await this.#failedOf(batch);
    // The jobs are as they were, and go on in the next life of the process.
    if (batch.isGivenUp) return;
    const { signal } = batch.ending;
    // A full disk is no fault of the jobs: giving them up would lose what was
    // accepted.
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
        logger.error("Cannot note that jobs failed: the store failed", {
          error: describeError(error),
        });
      }
    }
    // They are due at once.
    if (pauseMs > 0) await pause(pauseMs, { clock, signal });
  }

  async #failedOf(
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
    logger.error("Ended jobs that took too long: they are tried again", {
      jobs: jobs.length,
    });
    // Those that did get to their end are of another version now.
    return jobs.map((job) => ({ kind: "failed", job, ...LATE_FAILURE }));
  }

  async #retry(failure: FailedStep): Promise<void> {
    const { store, clock, random, maxAttempts, onSettled, logger } =
      this.#options;
    const { job, reason, isPassing, retryAfterMs } = failure;
    const attempts = job.attempts + 1;
    const nextAttemptAtMs = isPassing
      ? nextAttemptMs({
        attempts,
        maxAttempts,
        nowMs: clock.nowMs(),
        retryAfterMs,
        random: random(),
      })
      : undefined;
    // A memory that is found already did not fail, however its end is put off.
    const hasFailed = nextAttemptAtMs === undefined &&
      job.status !== "uploaded";
    const outcome = await store.commit([{
      kind: "job",
      owner: job.owner,
      id: job.id,
      expectedVersion: job.version,
      patch: hasFailed ? { status: "failed", attempts, error: reason } : {
        attempts,
        nextAttemptAtMs: nextAttemptAtMs ?? clock.nowMs() + LONGEST_REST_MS,
        error: reason,
      },
    }]);
    if (!hasFailed || outcome.kind === "conflict") return;
    logger.error("Gave a job up", { job: job.id, reason, attempts });
    onSettled(job.id);
  }

  async #wakeForNext(): Promise<void> {
    const { store, clock } = this.#options;
    const nextMs = await store.nextJobMs();
    if (nextMs === undefined) return;
    // Those under way are due all the time, and others must not wait for them.
    const leastMs = this.#underWay.size > 0 ? UNDER_WAY_REST_MS : 1;
    const delayMs = Math.max(leastMs, nextMs - clock.nowMs());
    this.#looking.wakeIn(Math.min(LONGEST_REST_MS, delayMs));
  }
}

/** Asks a store for jobs. */
class DueJobs {
  readonly #store: Pick<RelayerStore, "dueJobs" | "nextJobMs">;
  /** Bytes of a job, on average, when it was looked at last. */
  #meanBytes = 0;

  /** Nothing was asked yet. */
  constructor(store: Pick<RelayerStore, "dueJobs" | "nextJobMs">) {
    this.#store = store;
  }

  /**
   * The next jobs, at most `most`, the longest waiting first, and how long that one
   * has been waiting; none when nothing is due but what is under way already.
   */
  async take(
    nowMs: number,
    most: number,
    underWay: ReadonlySet<string>,
  ): Promise<{ readonly jobs: readonly JobRow[]; readonly longestMs: number }> {
    // The store reads what jobs hold along with them, so none are asked for that
    // would be too much for a batch anyway.
    const fit = Math.floor(MAX_BATCH_BYTES / Math.max(1, this.#meanBytes));
    const count = Math.max(1, Math.min(most, fit));
    // Those under way are due as well; they must not hide the others.
    const due = await this.#read(nowMs, underWay.size + count);
    if (due.length > 0) {
      this.#meanBytes = due.reduce((sum, job) => sum + bytesOf(job), 0) /
        due.length;
    }
    const free = due.filter(({ id }) => !underWay.has(id));
    const longestMs = free[0] === undefined
      ? 0
      : nowMs - free[0].nextAttemptAtMs;
    return { jobs: upToBytes(free.slice(0, count)), longestMs };
  }

  async #read(nowMs: number, limit: number): Promise<readonly JobRow[]> {
    const due = await this.#store.dueJobs(nowMs, limit);
    if (due.length > 0) return due;
    const nextMs = await this.#store.nextJobMs();
    // The clock was set back: no job is put off for so long.
    return nextMs !== undefined && nextMs - nowMs > FARTHEST_MS
      ? await this.#store.dueJobs(nextMs, limit)
      : due;
  }
}

function upToBytes(jobs: readonly JobRow[]): readonly JobRow[] {
  let bytes = 0;
  const end = jobs.findIndex((job, index) => {
    bytes += bytesOf(job);
    return index > 0 && bytes > MAX_BATCH_BYTES;
  });
  return end === -1 ? jobs : jobs.slice(0, end);
}

function bytesOf({ payload }: JobRow): number {
  return payload?.length ?? 0;
}
