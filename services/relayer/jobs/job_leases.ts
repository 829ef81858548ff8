/**
 * Takes due jobs from the store for this instance, keeps them while they are
 * worked on, and gives them back. Where several instances share the store, none
 * works on a job that another one has.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import { settle } from "../../shared/settled.ts";
import type { JobRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import { LONGEST_WAIT_MS } from "./job_failure.ts";

/** Options of {@linkcode JobLeases}. */
interface JobLeasesOptions {
  /** Keeps the jobs. */
  readonly store: Pick<
    RelayerStore,
    "leaseJobs" | "renewLeases" | "nextJobMs"
  >;
  /** The id of this instance, as the members of the store have it. */
  readonly instance: () => string;
  /** The store's time. */
  readonly clock: Clock;
  /** Hears when jobs cannot be kept: their leases may end. */
  readonly onError: (error: unknown) => void;
}

/** Jobs that were taken. */
export interface TakenJobs {
  /** The jobs, the longest waiting first. */
  readonly jobs: readonly JobRow[];
  /** How long the first one has been due, in milliseconds. */
  readonly longestMs: number;
}

/** The longest time until another instance takes the jobs of one that died. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;

/**
 * Most bytes of the payloads of one batch. A larger payload is taken alone.
 */
export const MAX_BATCH_BYTES = 8 * 1_048_576;

/**
 * No job is put off for longer, whatever happens: one that seems further away
 * was scheduled before the clock was set back. Less than a clock is usually set
 * by.
 */
const FARTHEST_MS = LONGEST_WAIT_MS + 60_000;

/** Takes jobs and gives them back. */
export class JobLeases {
  readonly #options: JobLeasesOptions;
  /** Jobs that this instance works on, by id. */
  readonly #underWay = new Map<string, JobRow>();
  /** Jobs that could not be given back yet. */
  readonly #owed = new Set<JobRow>();
  /** The next renewal; there is one while there are jobs. */
  #timer: Timer | undefined;

  /** It has no jobs. */
  constructor(options: JobLeasesOptions) {
    this.#options = options;
  }

  /** How many jobs are taken. */
  get size(): number {
    return this.#underWay.size;
  }

  /** Takes due jobs, at most `limit`. */
  async take(limit: number): Promise<TakenJobs> {
    const { store, clock } = this.#options;
    await this.#giveBackOwed();
    const nowMs = clock.nowMs();
    let jobs = await this.#lease(nowMs, limit);
    if (jobs.length === 0) {
      const nextMs = await store.nextJobMs();
      // The clock was set back: no job is scheduled that far ahead.
      if (nextMs !== undefined && nextMs - nowMs > FARTHEST_MS) {
        jobs = await this.#lease(nowMs, limit, nextMs);
      }
    }
    for (const job of jobs) this.#underWay.set(job.id, job);
    this.#planRenewal();
    const [first] = jobs;
    return {
      jobs,
      longestMs: first === undefined ? 0 : nowMs - first.nextAttemptAtMs,
    };
  }

  /** Forgets jobs that are done or were put off: no instance has them. */
  forget(jobs: readonly JobRow[]): void {
    for (const { id } of jobs) this.#underWay.delete(id);
    this.#planRenewal();
  }

  /** Gives back jobs that were left as they are. */
  async giveBack(jobs: readonly JobRow[]): Promise<void> {
    this.forget(jobs);
    for (const job of jobs) this.#owed.add(job);
    // The next look tries again what fails, and reports it.
    await settle(() => this.#giveBackOwed());
  }

  /** Gives all jobs back. */
  async giveAllBack(): Promise<void> {
    await this.giveBack([...this.#underWay.values()]);
  }

  async #lease(
    nowMs: number,
    limit: number,
    dueMs?: number,
  ): Promise<readonly JobRow[]> {
    const { store, instance } = this.#options;
    const jobs = await store.leaseJobs({
      ...{ nowMs, dueMs, limit, maxBytes: MAX_BATCH_BYTES },
      instance: instance(),
      leaseMs: LEASE_MS,
    });
    // A lease may have ended while its job is worked on here.
    return jobs.filter(({ id }) => !this.#underWay.has(id));
  }

  async #giveBackOwed(): Promise<void> {
    const { store, instance } = this.#options;
    const jobs = [...this.#owed];
    if (jobs.length === 0) return;
    await store.renewLeases({ instance: instance(), jobs, untilMs: 0 });
    for (const job of jobs) this.#owed.delete(job);
  }

  #planRenewal(): void {
    if (this.#underWay.size === 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
      return;
    }
    this.#timer ??= this.#options.clock.setTimer(
      () => void this.#renew(),
      RENEW_MS,
    );
  }

  async #renew(): Promise<void> {
    const { store, instance, clock, onError } = this.#options;
    try {
      await store.renewLeases({
        instance: instance(),
        jobs: [...this.#underWay.values()],
        untilMs: clock.nowMs() + LEASE_MS,
      });
    } catch (error) {
      onError(error);
    }
    this.#timer = undefined;
    this.#planRenewal();
  }
}
