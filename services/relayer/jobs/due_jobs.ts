/**
 * Which jobs are due, with the bytes they hold bounded, and when a failed job is tried
 * again.
 *
 * @module
 */

import type { JobRow } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";

/** What decides. */
interface BackoffFacts {
  /** How often the job was begun, this time included. */
  readonly attempts: number;
  /** How often it may be. */
  readonly maxAttempts: number;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * When the other end wants to be asked again.
   * @default it did not say
   */
  readonly retryAfterMs?: number | undefined;
  /** A number from 0 up to 1, so that jobs don't come back all at once. */
  readonly random: number;
}

/** The longest wait, in milliseconds, however long the other end wants. */
export const LONGEST_WAIT_MS = 60 * 60_000;

const LONGEST_MS = 5 * 60_000;

/** When to begin again, in milliseconds since the epoch; undefined for never. */
export function nextAttemptMs(facts: BackoffFacts): number | undefined {
  const { attempts, maxAttempts, nowMs, retryAfterMs = 0, random } = facts;
  if (attempts >= maxAttempts) return undefined;
  const waitMs = Math.min(LONGEST_MS, 1_000 * 2 ** attempts);
  const spreadMs = waitMs * (0.75 + random / 2);
  const askedMs = Math.min(LONGEST_WAIT_MS, retryAfterMs);
  return nowMs + Math.round(Math.max(spreadMs, askedMs));
}

/** Bytes that the jobs of a batch hold together; one job may hold more. */
export const MAX_BATCH_BYTES = 8 * 1_048_576;

/** No job is put off for longer, whatever happens; less than a clock is set by. */
const FARTHEST_MS = LONGEST_WAIT_MS + 60_000;

/** Asks a store for jobs. */
export class DueJobs {
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
