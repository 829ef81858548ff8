/**
 * Lets requests wait until recall finds a job's memory or the job has failed.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { Waiters } from "../../shared/waiters.ts";
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
  readonly #waiters: Waiters;

  /** Makes a list without any waiting request. */
  constructor(options: JobWaitersOptions) {
    this.#options = options;
    this.#waiters = new Waiters(options);
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
    // The wait begins before the job is read, so that a change during the read
    // is not missed.
    const wait = this.#waiters.enter({
      ...{ owner, key: id, waitMs },
      onGone: (listener) => onAbort(signal, listener),
    });
    try {
      const job = await this.#read(owner, id);
      if (wait === undefined || job === undefined || isSettled(job)) return job;
      await wait.over;
      return await this.#read(owner, id);
    } finally {
      wait?.leave();
    }
  }

  /** Ends the waits for a job that was found by recall or has ended. */
  tell(id: string): void {
    this.#options.recent.forget(id);
    this.#waiters.tell(id);
  }

  /**
   * Ends all waits, and lets none begin: requests are answered with the job as
   * it is.
   */
  stop(): void {
    this.#waiters.stop();
  }

  async #read(owner: string, id: string): Promise<JobRow | undefined> {
    const [job] = await this.#options.store.jobs(owner, [id]);
    return job;
  }
}

/** Calls the listener when the signal aborts, at once if it has aborted. */
function onAbort(
  signal: AbortSignal | undefined,
  listener: () => void,
): () => void {
  if (signal?.aborted) listener();
  signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/**
 * Whether there is nothing left to wait for: recall finds the memory, or the
 * job has failed.
 */
function isSettled({ status }: Pick<JobRow, "status">): boolean {
  return status === "uploaded" || status === "done" || status === "failed";
}
