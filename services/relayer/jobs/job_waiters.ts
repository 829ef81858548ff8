/**
 * Lets requests wait until recall finds a job's memory or the job has failed.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { JobRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";

/** Options of {@linkcode JobWaiters}. */
interface JobWaitersOptions {
  /** Reads the jobs. */
  readonly store: Pick<RelayerStore, "jobs">;
  /** Sets timers. */
  readonly clock: Clock;
  /**
   * The cache of texts of jobs under way; a job that ended is removed from it.
   */
  readonly recent: { forget(jobId: string): void };
  /**
   * Most waits at a time; further requests are answered at once.
   *
   * @default {10000}
   */
  readonly maxWaiters?: number;
}

/** Requests that wait for jobs. */
export class JobWaiters {
  readonly #options: JobWaitersOptions;
  readonly #waiting = new Map<string, Set<() => void>>();
  #count = 0;
  #isStopped = false;

  /** Makes a list without any waiting request. */
  constructor(options: JobWaitersOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the job as soon as recall finds it or it has ended, or as it
   * is when `waitMs` are over, the signal aborts or `stop()` is called; with
   * undefined when the owner has no such job.
   */
  async wait(
    owner: string,
    id: string,
    options: { readonly waitMs: number; readonly signal?: AbortSignal },
  ): Promise<JobRow | undefined> {
    const { waitMs, signal } = options;
    const { maxWaiters = 10_000 } = this.#options;
    // The wait begins before the job is read, so that a change during the read
    // is not missed.
    const mayWait = waitMs > 0 && !this.#isStopped &&
      this.#count < maxWaiters && signal?.aborted !== true;
    const told = mayWait ? this.#enter(id, { waitMs, signal }) : undefined;
    try {
      const job = await this.#read(owner, id);
      if (told === undefined || job === undefined || isSettled(job)) return job;
      await told.promise;
      return await this.#read(owner, id);
    } finally {
      told?.leave();
    }
  }

  /** Ends the waits for a job that was found by recall or has ended. */
  tell(id: string): void {
    this.#options.recent.forget(id);
    for (const resolve of this.#waiting.get(id) ?? []) resolve();
  }

  /**
   * Ends all waits, and lets none begin: requests are answered with the job as
   * it is.
   */
  stop(): void {
    this.#isStopped = true;
    for (const waiting of this.#waiting.values()) {
      for (const resolve of waiting) resolve();
    }
  }

  async #read(owner: string, id: string): Promise<JobRow | undefined> {
    const [job] = await this.#options.store.jobs(owner, [id]);
    return job;
  }

  #enter(
    id: string,
    { waitMs, signal }: {
      readonly waitMs: number;
      readonly signal: AbortSignal | undefined;
    },
  ): { readonly promise: Promise<void>; readonly leave: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting);
    waiting.add(resolve);
    this.#count++;
    const timer = this.#options.clock.setTimer(resolve, waitMs);
    const onAbort = () => resolve();
    signal?.addEventListener("abort", onAbort, { once: true });
    return {
      promise,
      leave: () => {
        timer.cancel();
        signal?.removeEventListener("abort", onAbort);
        waiting.delete(resolve);
        this.#count--;
        if (waiting.size === 0) this.#waiting.delete(id);
      },
    };
  }
}

/**
 * Whether there is nothing left to wait for: recall finds the memory, or the
 * job has failed.
 */
function isSettled({ status }: Pick<JobRow, "status">): boolean {
  return status === "uploaded" || status === "done" || status === "failed";
}
