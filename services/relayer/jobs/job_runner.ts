/**
 * Does jobs as they come, some at a time, until each is done or given up.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { JobRow } from "../store/job_row.ts";
import type { RelayerStore } from "../store/store.ts";
import { nextAttemptMs } from "./backoff.ts";
import type { JobSteps, StepOutcome } from "./job_steps.ts";

/** Options of {@linkcode JobRunner}. */
export interface JobRunnerOptions {
  /** Keeps jobs; it is asked what is due, so nothing is forgotten by a crash. */
  readonly store: Pick<RelayerStore, "dueJobs" | "nextJobMs" | "commit">;
  /** Does what is to be done. */
  readonly steps: Pick<JobSteps, "run">;
  /** Hears of a job that has ended. */
  readonly onSettled: (id: string) => void;
  /** How often a job is begun. */
  readonly maxAttempts: number;
  /**
   * Jobs that go together.
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
   * Whether others need the machine more: there is one batch at a time then, with
   * pauses between them, so that jobs go on however long that lasts.
   *
   * @default {() => false}
   */
  readonly givesWay?: () => boolean;
  /** The time. */
  readonly clock: Clock;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Hears of what goes wrong. */
  readonly logger: Logger;
}

/** How long the store is left alone after it failed. */
const STORE_RETRY_MS = 1_000;
/** The pause between batches while others come first. */
const GIVE_WAY_MS = 250;
/** Jobs of such a batch. */
const GIVE_WAY_BATCH = 8;

/** Does jobs. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #underWay = new Set<string>();
  readonly #batches = new Set<Promise<void>>();
  #ending = new AbortController();
  #isRunning = false;
  #isLooking = false;
  #looksAgain = false;
  #lastBatchMs = -Infinity;
  #timer: Timer | undefined;

  /** A runner that is not started. */
  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** Begins with what an earlier life of the process left. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#ending = new AbortController();
    this.wake();
  }

  /** Begins nothing more and waits for what is under way, at most so long. */
  async stop(graceMs: number): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#timer = undefined;
    const timer = this.#options.clock.setTimer(
      () => this.#ending.abort(),
      graceMs,
    );
    await Promise.all(this.#batches);
    timer.cancel();
  }

  /** There may be something to do. */
  wake(): void {
    if (!this.#isRunning) return;
    if (this.#isLooking) {
      this.#looksAgain = true;
      return;
    }
    this.#isLooking = true;
    void this.#look().then(() => {
      this.#isLooking = false;
      if (this.#looksAgain) {
        this.#looksAgain = false;
        this.wake();
      }
    });
  }

  async #look(): Promise<void> {
    const { store, clock, logger, givesWay = () => false } = this.#options;
    const { batch = 32, maxBatches = 3 } = this.#options;
    try {
      while (this.#isRunning && this.#batches.size < maxBatches) {
        const isSecond = givesWay();
        if (isSecond && !this.#mayGoOn(clock.nowMs())) {
          return this.#wakeIn(GIVE_WAY_MS);
        }
        // Those under way are due as well; they must not hide the others.
        const due = await store.dueJobs(
          clock.nowMs(),
          this.#underWay.size + batch,
        );
        const jobs = due.filter(({ id }) => !this.#underWay.has(id))
          .slice(0, isSecond ? Math.min(batch, GIVE_WAY_BATCH) : batch);
        if (jobs.length === 0) break;
        this.#begin(jobs);
      }
      await this.#setTimer();
    } catch (error) {
      logger.error("Cannot look for jobs: the store failed", {
        error: describeError(error),
      });
      this.#wakeIn(STORE_RETRY_MS);
    }
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
    const work = this.#run(jobs).finally(() => {
      for (const { id } of jobs) this.#underWay.delete(id);
      this.#batches.delete(work);
      this.wake();
    });
    this.#batches.add(work);
  }

  async #run(jobs: readonly JobRow[]): Promise<void> {
    const { steps, logger } = this.#options;
    const outcomes = await steps.run(jobs, this.#ending.signal);
    const failed = outcomes.filter((outcome) => outcome.kind === "failed");
    try {
      await Promise.all(failed.map((outcome) => this.#retry(outcome)));
    } catch (error) {
      // The jobs are as they were; they come again after a while.
      logger.error("Cannot note that jobs failed: the store failed", {
        error: describeError(error),
      });
      await new Promise<void>((resolve) =>
        this.#options.clock.setTimer(resolve, STORE_RETRY_MS)
      );
    }
  }

  async #retry(
    failure: Extract<StepOutcome, { kind: "failed" }>,
  ): Promise<void> {
    // What was given up because the process ends is no attempt.
    if (this.#ending.signal.aborted) return;
    const { store, clock, random, maxAttempts, onSettled } = this.#options;
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
    await store.commit([{
      kind: "job",
      owner: job.owner,
      id: job.id,
      expectedVersion: job.version,
      patch: hasFailed ? { status: "failed", attempts, error: reason } : {
        attempts,
        nextAttemptAtMs: nextAttemptAtMs ?? clock.nowMs() + LONG_MS,
        error: reason,
      },
    }]);
    if (hasFailed) onSettled(job.id);
  }

  async #setTimer(): Promise<void> {
    const { store, clock } = this.#options;
    if (!this.#isRunning || this.#underWay.size > 0) return;
    const nextMs = await store.nextJobMs();
    if (nextMs !== undefined) this.#wakeIn(nextMs - clock.nowMs());
  }

  #wakeIn(delayMs: number): void {
    this.#timer?.cancel();
    if (!this.#isRunning) return;
    // Now and then in any case: the wall clock may be set.
    const boundedMs = Math.min(LONG_MS, Math.max(1, delayMs));
    this.#timer = this.#options.clock.setTimer(() => this.wake(), boundedMs);
  }
}

const LONG_MS = 60_000;
