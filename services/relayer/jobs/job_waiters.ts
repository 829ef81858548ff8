/**
 * Tells those who wait for jobs when recall finds them, or when they have ended.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { JobRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";

/** Options of {@linkcode JobWaiters}. */
interface JobWaitersOptions {
  /** Has the jobs. */
  readonly store: Pick<RelayerStore, "jobs">;
  /** Sets timers. */
  readonly clock: Clock;
  /** Texts that are kept for jobs under way; those of jobs that ended are not. */
  readonly recent: { forget(jobId: string): void };
  /**
   * Most who wait at a time; more of them are answered at once.
   *
   * @default {10000}
   */
  readonly maxWaiters?: number;
}

/** Those who wait for jobs. */
export class JobWaiters {
  readonly #options: JobWaitersOptions;
  readonly #waiting = new Map<string, Set<() => void>>();
  #count = 0;
  #isStopped = false;

  /** Without any waiter. */
  constructor(options: JobWaitersOptions) {
    this.#options = options;
  }

  /**
   * The job as soon as it is found by recall or has ended, or as it is when
   * `waitMs` are over or `signal` says so; undefined when the owner has none such.
   */
  async wait(
    owner: string,
    id: string,
    options: { readonly waitMs: number; readonly signal?: AbortSignal },
  ): Promise<JobRow | undefined> {
    const { waitMs, signal } = options;
    const { maxWaiters = 10_000 } = this.#options;
    // Who is told while reading must not be missed, so waiting begins first.
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

  /** Tells those who wait for a job that it was ended elsewhere. */
  tell(id: string): void {
    this.#options.recent.forget(id);
    for (const resolve of this.#waiting.get(id) ?? []) resolve();
  }

  /** Answers all who wait with the job as it is. */
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

/** Whether there is nothing more to wait for. */
function isSettled({ status }: Pick<JobRow, "status">): boolean {
  return status === "uploaded" || status === "done" || status === "failed";
}
