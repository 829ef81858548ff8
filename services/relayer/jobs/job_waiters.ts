/**
 * Lets requests wait until recall finds a job's memory or the job has failed,
 * whichever instance works on it. Instances that share the store tell each
 * other of the jobs that they end. Since that may be lost, each looks by itself
 * as well, only less often.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { describeError } from "../../shared/settled.ts";
import { Waiters } from "../../shared/waiters.ts";
import type { JobRow } from "../store/rows.ts";
import type { JobName, Notice, RelayerStore } from "../store/store.ts";
import type { RecentPlaintexts } from "./job_sealer.ts";

/** Options of {@linkcode JobWaiters}. */
interface JobWaitersOptions {
  /** Reads the jobs, and tells other instances of them. */
  readonly store: Pick<
    RelayerStore,
    "jobs" | "settledJobs" | "hasOwnTime" | "tell" | "onNotice"
  >;
  /** Sets timers. */
  readonly clock: Clock;
  /**
   * The cache of texts of jobs under way; a job that ended is removed from it.
   */
  readonly recent: Pick<
    RecentPlaintexts<{ readonly text: string }>,
    "forget" | "forgetOld"
  >;
  /**
   * Whether other instances share the store, so that they have to be told.
   *
   * @default none does
   */
  readonly hasOthers?: (() => boolean) | undefined;
  /** Logs looks that failed. */
  readonly logger: Logger;
  /**
   * Most waits at a time; further requests are answered at once.
   *
   * @default {10000}
   */
  readonly maxWaiters?: number;
}

/** How often jobs that are waited for are looked at. */
const LOOK_EVERY_MS = 1_000;
/** Most jobs of a query. */
const LOOK_JOBS = 1_000;
/**
 * How long a text is kept where instances share the store. Another one may have
 * ended or deleted its job, and the notice of that may be lost.
 */
const SHARED_TEXT_MS = 30_000;

/** Requests that wait for jobs. */
export class JobWaiters {
  readonly #options: JobWaitersOptions;
  readonly #waiters: Waiters;
  readonly #looking: Periodic;
  #endListening: (() => void) | undefined;

  /** Makes a list without any waiting request. */
  constructor(options: JobWaitersOptions) {
    this.#options = options;
    this.#waiters = new Waiters(options);
    this.#looking = new Periodic({
      clock: options.clock,
      intervalMs: LOOK_EVERY_MS,
      run: (signal) => this.#look(signal),
      onError: (error) =>
        options.logger.warn("Cannot look at jobs that are waited for", {
          error: describeError(error),
        }),
    });
  }

  /** Hears of other instances from now on, if the store has room for some. */
  start(): void {
    const { store } = this.#options;
    if (!store.hasOwnTime) return;
    this.#endListening = store.onNotice((notice) => this.#hear(notice));
    this.#looking.start();
  }

  /**
   * Resolves with the job as soon as recall finds it or it has ended. After
   * `waitMs`, or when the signal aborts or `stop()` is called, it resolves with
   * the job as it is. It resolves with undefined when the owner has no such
   * job.
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
      ...{ owner, key: toKey({ owner, id }), waitMs },
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

  /**
   * Ends the waits for a job that was found by recall or has ended, at other
   * instances as well.
   */
  tell({ owner, id }: JobName): void {
    const { store, hasOthers = () => false } = this.#options;
    this.#end({ owner, id });
    if (hasOthers()) store.tell([{ kind: "job_ended", owner, id }]);
  }

  /**
   * Ends all waits, and lets none begin: requests are answered with the job as
   * it is.
   */
  stop(): void {
    this.#endListening?.();
    void this.#looking.stop();
    this.#waiters.stop();
  }

  #hear(notice: Notice): void {
    if (notice.kind === "job_ended") this.#end(notice);
    if (notice.kind === "gap") this.#looking.wake();
  }

  #end(job: JobName): void {
    this.#options.recent.forget(job.id);
    this.#waiters.tell(toKey(job));
  }

  /** Looks at what is waited for, and forgets texts. */
  async #look(signal: AbortSignal): Promise<void> {
    const { store, recent } = this.#options;
    recent.forgetOld(SHARED_TEXT_MS);
    const waited = Array.from(this.#waiters.keys, toName);
    for (let from = 0; from < waited.length; from += LOOK_JOBS) {
      if (signal.aborted) return;
      const some = waited.slice(from, from + LOOK_JOBS);
      for (const job of await store.settledJobs(some)) this.#end(job);
    }
  }

  async #read(owner: string, id: string): Promise<JobRow | undefined> {
    const [job] = await this.#options.store.jobs(owner, [id]);
    return job;
  }
}

function toKey({ owner, id }: JobName): string {
  return JSON.stringify([owner, id]);
}

function toName(key: string): JobName {
  const [owner, id] = JSON.parse(key) as [string, string];
  return { owner, id };
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
