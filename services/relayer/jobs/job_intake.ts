/**
 * Accepts texts: seals them, writes their jobs to disk, then answers.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Clock } from "../../shared/clock.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { JobRow } from "../store/rows.ts";
import {
  type Change,
  type CommitOutcome,
  type KeyClaim,
  type RelayerStore,
  StoreBusyError,
} from "../store/store.ts";
import type { BlobContent, RelayerVault } from "../vault/vault.ts";
import {
  type AcceptOptions,
  type ClaimMaker,
  JobSealer,
  type NewText,
  type RecentPlaintexts,
  type SealedJob,
} from "./job_sealer.ts";
import type { StorageUsage, Usage } from "./storage_usage.ts";

/** The outcome of accepting. */
export type AcceptOutcome =
  /** The jobs are on disk, in the order of the texts. */
  | {
    readonly kind: "accepted";
    readonly jobIds: readonly string[];
    /** Whether they were made for an earlier request with the same key. */
    readonly isRepeated: boolean;
  }
  /** The key stood for other texts. */
  | { readonly kind: "key_reused" }
  /** The owner has no such memory to take the place of. */
  | { readonly kind: "nothing_to_supersede"; readonly id: string }
  /** The owner would have more than fits. */
  | { readonly kind: "over_quota"; readonly quotaBytes: number }
  /** Too much is unfinished, of the owner or at all. */
  | { readonly kind: "busy"; readonly retryAfterMs: number };

/** The length of a span; the last whole one and the current one count. */
const SPAN_MS = 250;

/** Counts in two spans: cheap, and never more than a span behind. */
export class RecentRate {
  #span = -Infinity;
  #current = 0;
  #last = 0;

  /** It happened. */
  count(nowMs: number): void {
    this.#turn(nowMs);
    this.#current++;
  }

  /** How often a second, by the last quarter or half of one. */
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
  /** Keeps texts for the runner. */
  readonly recent: RecentPlaintexts<BlobContent>;
  /** Knows what owners have. */
  readonly usage: StorageUsage;
  /** Makes ids. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
  /** Hears that there is something to do, and which jobs are new. */
  readonly onAccepted: (ids: readonly string[]) => void;
  /** Most bytes that an owner may have. */
  readonly quotaBytes: number;
  /** Most unfinished jobs of an owner. */
  readonly maxOpenJobs: number;
  /**
   * How long a client's key is known, in milliseconds; no longer than finished
   * jobs are, or a key could stand for jobs that are forgotten.
   */
  readonly keyLifeMs: number;
}

const BUSY_RETRY_MS = 2_000;
/** How long a refusal of the store counts as its state. */
const REFUSED_MS = 5_000;
const PRESSED_PER_S = 100;
/** What an envelope and a content take beside the text, about. */
const ENVELOPE_BYTES = 256;

/** Takes texts in. */
export class JobIntake {
  readonly #options: JobIntakeOptions;
  readonly #sealer: JobSealer;
  readonly #rate = new RecentRate();
  #refusedMs = -Infinity;

  /** An intake in front of a store. */
  constructor(options: JobIntakeOptions) {
    this.#options = options;
    this.#sealer = new JobSealer(options);
  }

  /** Whether so much comes in that other work had better wait. */
  get isPressed(): boolean {
    return this.#rate.perSecond(this.#options.clock.nowMs()) > PRESSED_PER_S;
  }

  /** False for some seconds after something could not be written. */
  get isReady(): boolean {
    const passedMs = this.#options.clock.nowMs() - this.#refusedMs;
    return passedMs < 0 || passedMs >= REFUSED_MS;
  }

  /** Accepts texts: all or none. */
  async accept(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<AcceptOutcome> {
    this.#rate.count(this.#options.clock.nowMs());
    const { owner } = caller;
    const { usage } = this.#options;
    const claimOf = await this.#sealer.claimMaker(owner, texts, options);
    try {
      if (claimOf !== undefined) {
        const earlier = await this.#earlier(owner, claimOf([]));
        if (earlier !== undefined) return earlier;
      }
      const added = usageOf(texts);
      const refusal = await this.#reserve(owner, { texts, added });
      if (refusal !== undefined) return refusal;
      let isKept = false;
      try {
        const outcome = await this.#store(caller, { texts, options, claimOf });
        isKept = outcome.kind === "accepted" && !outcome.isRepeated;
        return outcome;
      } finally {
        if (!isKept) usage.add(owner, negative(added));
      }
    } catch (error) {
      this.#refusedMs = this.#options.clock.nowMs();
      if (!(error instanceof StoreBusyError)) throw error;
      return { kind: "busy", retryAfterMs: error.retryAfterMs };
    }
  }

  async #store(
    caller: Caller,
    { texts, options, claimOf }: {
      readonly texts: readonly NewText[];
      readonly options: AcceptOptions;
      readonly claimOf: ClaimMaker | undefined;
    },
  ): Promise<AcceptOutcome> {
    const { owner } = caller;
    const jobs = await this.#sealer.seal(caller, texts, options);
    const jobIds = jobs.map(({ job }) => job.id);
    const changes: Change[] = jobs.map(({ job }) => ({ kind: "new_job", job }));
    if (claimOf !== undefined) {
      changes.unshift({ kind: "claim_key", claim: claimOf(jobIds) });
    }
    const outcome = await this.#commit(owner, { changes, jobs });
    if (outcome.kind === "conflict") {
      await this.#sealer.drop(owner, jobs);
      // Another request was faster with the same key.
      const earlier = claimOf && await this.#earlier(owner, claimOf([]));
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
      // After any other error it is not known whether the jobs are on disk; without
      // their keys they could never be done.
      if (error instanceof StoreBusyError) {
        await this.#sealer.drop(owner, jobs);
      }
      throw error;
    }
  }

  /**
   * What the key stood for before. A job of it that failed is begun again; one
   * that was deleted has nothing left to begin with, and stays deleted.
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
    // Each by itself: one that was deleted meanwhile does not stop the others. One
    // that conflicts was begun again elsewhere, or was deleted.
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

  /** Why texts are not taken; when they are, room is held for them. */
  async #reserve(
    owner: string,
    { texts, added }: {
      readonly texts: readonly NewText[];
      readonly added: Usage;
    },
  ): Promise<AcceptOutcome | undefined> {
    const { store, usage, quotaBytes, maxOpenJobs } = this.#options;
    const replaced = texts.flatMap(({ supersedes }) =>
      supersedes === undefined ? [] : [supersedes]
    );
    if (replaced.length > 0) {
      const there = await store.memories(owner, replaced);
      const missing = replaced.find((_, index) => there[index] === undefined);
      if (missing !== undefined) {
        return { kind: "nothing_to_supersede", id: missing };
      }
    }
    const { bytes, openJobs } = await usage.of(owner);
    if (bytes + added.bytes > quotaBytes) {
      return { kind: "over_quota", quotaBytes };
    }
    if (openJobs + added.openJobs > maxOpenJobs) {
      return { kind: "busy", retryAfterMs: BUSY_RETRY_MS };
    }
    // In the same turn as the reading, so that concurrent requests see it.
    usage.add(owner, added);
    return undefined;
  }

  #note(jobs: readonly SealedJob[]): void {
    const { recent, onAccepted } = this.#options;
    for (const { job, content } of jobs) recent.add(job.id, content);
    onAccepted(jobs.map(({ job }) => job.id));
  }
}

/** About what texts take; their blobs are a little larger. */
function usageOf(texts: readonly NewText[]): Usage {
  const bytes = texts.reduce(
    (sum, { text }) => sum + Buffer.byteLength(text) + ENVELOPE_BYTES,
    0,
  );
  return { bytes, openJobs: texts.length };
}

function negative({ bytes, openJobs }: Usage): Usage {
  return { bytes: -bytes, openJobs: -openJobs };
}
