/**
 * Accepts texts to be remembered: seals them, and answers when their jobs are
 * on disk.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Clock } from "../../shared/clock.ts";
import type { Caller } from "../auth/authenticate.ts";
import { isGranted } from "../auth/token_claims.ts";
import type { JobRow, KeyClaim } from "../store/rows.ts";
import type { Change, CommitOutcome } from "../store/changes.ts";
import { type RelayerStore, StoreBusyError } from "../store/store.ts";
import type { BlobContent, RelayerVault } from "../vault/vault.ts";
import {
  type AcceptOptions,
  type ClaimMaker,
  JobSealer,
  type NewText,
  type RecentPlaintexts,
  type SealedJob,
} from "./job_sealer.ts";
import type { Reservation, StorageUsage, Usage } from "./storage_usage.ts";

/** The outcome of accepting. */
export type AcceptOutcome =
  /** The jobs are on disk, in the order of the texts. */
  | {
    readonly kind: "accepted";
    readonly jobIds: readonly string[];
    /**
     * Whether the jobs were made for an earlier request with the same
     * idempotency key.
     */
    readonly isRepeated: boolean;
  }
  /** The idempotency key was used for other texts before. */
  | { readonly kind: "key_reused" }
  /**
   * The owner has no memory of the id that a text supersedes, or the caller's
   * token is not for its namespace.
   */
  | { readonly kind: "nothing_to_supersede"; readonly id: string }
  /** The owner would have more bytes than the quota. */
  | { readonly kind: "over_quota"; readonly quotaBytes: number }
  /** The owner has too many unfinished jobs, or the store's queue is full. */
  | { readonly kind: "busy"; readonly retryAfterMs: number };

/**
 * The length of a span, in milliseconds. The rate comes from the current span
 * and the last whole one.
 */
const SPAN_MS = 250;

/**
 * Measures how often something happens, by counting in two spans: cheap, and at
 * most one span behind.
 */
export class RecentRate {
  #span = -Infinity;
  #current = 0;
  #last = 0;

  /** Counts one event. */
  count(nowMs: number): void {
    this.#turn(nowMs);
    this.#current++;
  }

  /**
   * Returns the rate of events a second, over the last quarter to half of a
   * second.
   */
  perSecond(nowMs: number): number {
    this.#turn(nowMs);
    return Math.max(this.#current, this.#last) * (1_000 / SPAN_MS);
  }

  #turn(nowMs: number): void {
    const span = Math.floor(nowMs / SPAN_MS);
    if (span === this.#span) return;
    this.#last = span === this.#span + 1 ? this.#current : 0;
    this.#current = 0;
    this.#span = span;
  }
}

/** Options of {@linkcode JobIntake}. */
interface JobIntakeOptions {
  /** Keeps jobs. */
  readonly store: RelayerStore;
  /** Seals texts. */
  readonly vault: RelayerVault;
  /**
   * Keeps accepted texts in memory, so that the runner need not decrypt them.
   */
  readonly recent: RecentPlaintexts<BlobContent>;
  /** Knows how many bytes and unfinished jobs each owner has. */
  readonly usage: StorageUsage;
  /** Makes the ids of jobs. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
  /** Called when there are jobs to do, with the ids of the new ones. */
  readonly onAccepted: (ids: readonly string[]) => void;
  /** Most bytes of blobs that an owner may have. */
  readonly quotaBytes: number;
  /** Most unfinished jobs that an owner may have. */
  readonly maxOpenJobs: number;
  /**
   * How long an idempotency key is remembered, in milliseconds; no longer than
   * finished jobs are, or a key could stand for jobs that are forgotten.
   */
  readonly keyLifeMs: number;
}

const BUSY_RETRY_MS = 2_000;
/** How long the intake counts as not ready after a failed request. */
const REFUSED_MS = 5_000;
const PRESSED_PER_S = 100;
/** About how many bytes envelope and content take beside the text. */
const ENVELOPE_BYTES = 256;

/** Accepts texts and makes their jobs. */
export class JobIntake {
  readonly #options: JobIntakeOptions;
  readonly #sealer: JobSealer;
  readonly #rate = new RecentRate();
  #refusedMs = -Infinity;

  /** Makes an intake over a store. */
  constructor(options: JobIntakeOptions) {
    this.#options = options;
    this.#sealer = new JobSealer(options);
  }

  /** Whether so many requests come in that background work had better wait. */
  get isPressed(): boolean {
    return this.#rate.perSecond(this.#options.clock.nowMs()) > PRESSED_PER_S;
  }

  /**
   * Whether texts can be accepted now; false for some seconds after a request
   * could not be written.
   */
  get isReady(): boolean {
    const passedMs = this.#options.clock.nowMs() - this.#refusedMs;
    return passedMs < 0 || passedMs >= REFUSED_MS;
  }

  /**
   * Accepts all of the texts or none of them; resolves when their jobs are on
   * disk.
   */
  async accept(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<AcceptOutcome> {
    this.#rate.count(this.#options.clock.nowMs());
    const { owner } = caller;
    const makeClaim = await this.#sealer.claimMaker(owner, texts, options);
    try {
      if (makeClaim !== undefined) {
        const earlier = await this.#earlier(owner, makeClaim([]));
        if (earlier !== undefined) return earlier;
      }
      const reserved = await this.#reserve(caller, texts);
      if (reserved.kind !== "reserved") return reserved;
      const { reservation } = reserved;
      // After an error it is unknown whether the jobs are on disk.
      let isWritten = true;
      try {
        const outcome = await this.#store(caller, {
          texts,
          options,
          makeClaim,
        });
        isWritten = outcome.kind === "accepted" && !outcome.isRepeated;
        return outcome;
      } finally {
        if (isWritten) reservation.settle();
        else reservation.release();
      }
    } catch (error) {
      this.#refusedMs = this.#options.clock.nowMs();
      if (!(error instanceof StoreBusyError)) throw error;
      return { kind: "busy", retryAfterMs: error.retryAfterMs };
    }
  }

  async #store(
    caller: Caller,
    { texts, options, makeClaim }: {
      readonly texts: readonly NewText[];
      readonly options: AcceptOptions;
      readonly makeClaim: ClaimMaker | undefined;
    },
  ): Promise<AcceptOutcome> {
    const { owner } = caller;
    const jobs = await this.#sealer.seal(caller, texts, options);
    const jobIds = jobs.map(({ job }) => job.id);
    const changes: Change[] = jobs.map(({ job }) => ({ kind: "new_job", job }));
    if (makeClaim !== undefined) {
      changes.unshift({ kind: "claim_key", claim: makeClaim(jobIds) });
    }
    const outcome = await this.#commit(owner, { changes, jobs });
    if (outcome.kind === "conflict") {
      await this.#sealer.drop(owner, jobs);
      // Another request with the same key was faster.
      const earlier = makeClaim && await this.#earlier(owner, makeClaim([]));
      return earlier ?? { kind: "busy", retryAfterMs: BUSY_RETRY_MS };
    }
    this.#note(jobs);
    return { kind: "accepted", jobIds, isRepeated: false };
  }

  async #commit(
    owner: string,
    { changes, jobs }: {
      readonly changes: readonly Change[];
      readonly jobs: readonly SealedJob[];
    },
  ): Promise<CommitOutcome> {
    try {
      return await this.#options.store.commit(changes);
    } catch (error) {
      // After any other error it is unknown whether the jobs are on disk;
      // without their keys they could never be done, so the keys stay.
      if (error instanceof StoreBusyError) {
        await this.#sealer.drop(owner, jobs);
      }
      throw error;
    }
  }

  /**
   * Returns the jobs that the idempotency key stood for before. Failed jobs
   * among them are retried; a deleted one has no content left to retry with,
   * and stays deleted.
   */
  async #earlier(
    owner: string,
    { key, fingerprint }: KeyClaim,
  ): Promise<AcceptOutcome | undefined> {
    const { store, clock } = this.#options;
    const claim = await store.keyClaim(owner, key, clock.nowMs());
    if (claim === undefined) return undefined;
    if (claim.fingerprint !== fingerprint) return { kind: "key_reused" };
    const { jobIds } = claim;
    const jobs = await store.jobs(owner, jobIds);
    await this.#revive(jobs.filter((job) => job !== undefined));
    return { kind: "accepted", jobIds, isRepeated: true };
  }

  async #revive(jobs: readonly JobRow[]): Promise<void> {
    const { store, clock, onAccepted } = this.#options;
    const nowMs = clock.nowMs();
    const failed = jobs.filter(({ status, payload }) =>
      status === "failed" && payload !== undefined
    );
    if (failed.length === 0) return;
    // One commit for each job, so that a job that was deleted meanwhile does
    // not stop the others. A conflict means that the job was retried elsewhere,
    // or deleted.
    await Promise.all(
      failed.map(({ owner, id, version }) =>
        store.commit([{
          kind: "job",
          owner,
          id,
          expectedVersion: version,
          patch: {
            status: "pending",
            attempts: 0,
            nextAttemptAtMs: nowMs,
            error: null,
          },
        }])
      ),
    );
    onAccepted([]);
  }

  /**
   * Reserves the bytes and jobs of texts in the owner's usage, or returns why
   * the texts are refused.
   */
  async #reserve(
    { owner, grant }: Caller,
    texts: readonly NewText[],
  ): Promise<
    | AcceptOutcome
    | { readonly kind: "reserved"; readonly reservation: Reservation }
  > {
    const { store, usage, quotaBytes, maxOpenJobs } = this.#options;
    const replaced = texts.flatMap(({ supersedes }) =>
      supersedes === undefined ? [] : [supersedes]
    );
    if (replaced.length > 0) {
      const there = await store.memories(owner, replaced);
      const missing = replaced.find((_, index) => {
        const row = there[index];
        return row === undefined || !isGranted(grant, row.namespace);
      });
      if (missing !== undefined) {
        return { kind: "nothing_to_supersede", id: missing };
      }
    }
    const limits = { quotaBytes, maxOpenJobs };
    const outcome = await usage.reserve(owner, estimateUsage(texts), limits);
    switch (outcome.kind) {
      case "ok":
        return { kind: "reserved", reservation: outcome.reservation };
      case "over_quota":
        return { kind: "over_quota", quotaBytes };
      case "too_many_jobs":
        return { kind: "busy", retryAfterMs: BUSY_RETRY_MS };
    }
  }

  #note(jobs: readonly SealedJob[]): void {
    const { recent, onAccepted } = this.#options;
    for (const { job, content } of jobs) recent.add(job.id, content);
    onAccepted(jobs.map(({ job }) => job.id));
  }
}

/** About what texts take; their blobs are a little larger. */
function estimateUsage(texts: readonly NewText[]): Usage {
  const bytes = texts.reduce(
    (sum, { text }) => sum + Buffer.byteLength(text) + ENVELOPE_BYTES,
    0,
  );
  return { bytes, openJobs: texts.length };
}
