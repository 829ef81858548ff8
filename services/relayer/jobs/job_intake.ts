/**
 * Takes texts in: seals them, then puts them on disk, then says so.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Caller } from "../auth/caller.ts";
import type { NewJob } from "../store/job_row.ts";
import {
  type Change,
  type KeyClaim,
  type RelayerStore,
  StoreBusyError,
} from "../store/store.ts";
import type { BlobContent, RelayerVault } from "../vault/vault.ts";
import type { FreshTexts } from "./fresh_texts.ts";
import type {
  AcceptOptions,
  AcceptOutcome,
  Intake,
  NewText,
} from "./intake.ts";
import { RecentRate } from "./recent_rate.ts";
import type { StorageUsage } from "./storage_usage.ts";

/** Options of {@linkcode JobIntake}. */
export interface JobIntakeOptions {
  /** Keeps jobs. */
  readonly store: RelayerStore;
  /** Seals texts. */
  readonly vault: RelayerVault;
  /** Keeps texts for the runner. */
  readonly fresh: FreshTexts<BlobContent>;
  /** Knows what owners have. */
  readonly usage: StorageUsage;
  /** Makes ids. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
  /** Hears that there is something to do. */
  readonly onAccepted: () => void;
  /** Most bytes that an owner may have. */
  readonly quotaBytes: number;
  /** Most unfinished jobs of an owner. */
  readonly maxOpenJobs: number;
}

const DEFAULT_IMPORTANCE = 0.5;
/** How long a client's key is known. */
const KEY_LIFE_MS = 24 * 3_600_000;
const BUSY_RETRY_MS = 2_000;
const PRESSED_PER_S = 100;

/** Takes texts in. */
export class JobIntake implements Intake {
  readonly #options: JobIntakeOptions;
  readonly #rate = new RecentRate();

  /** An intake in front of a store. */
  constructor(options: JobIntakeOptions) {
    this.#options = options;
  }

  /** Whether so much comes in that other work had better wait. */
  get isPressed(): boolean {
    return this.#rate.perSecond(this.#options.clock.nowMs()) > PRESSED_PER_S;
  }

  /** See {@linkcode Intake.accept}. */
  accept(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<AcceptOutcome> {
    this.#rate.count(this.#options.clock.nowMs());
    return this.#accept(caller, texts, options);
  }

  async #accept(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<AcceptOutcome> {
    const { owner } = caller;
    const claimOf = await this.#claimMaker(owner, texts, options);
    if (claimOf !== undefined) {
      const earlier = await this.#earlier(owner, claimOf([]));
      if (earlier !== undefined) return earlier;
    }
    const refusal = await this.#refusal(owner, texts);
    if (refusal !== undefined) return refusal;
    let jobs: readonly SealedJob[];
    try {
      jobs = await this.#seal(caller, texts, options);
    } catch (error) {
      return busyOf(error);
    }
    const jobIds = jobs.map(({ job }) => job.id);
    const changes: Change[] = jobs.map(({ job }) => ({ kind: "new_job", job }));
    if (claimOf !== undefined) {
      changes.unshift({ kind: "claim_key", claim: claimOf(jobIds) });
    }
    try {
      const outcome = await this.#options.store.commit(changes);
      if (outcome.kind === "conflict") {
        await this.#dropKeys(owner, jobs);
        // Somebody else was faster with the same key.
        const earlier = claimOf && await this.#earlier(owner, claimOf([]));
        return earlier ?? { kind: "busy", retryAfterMs: BUSY_RETRY_MS };
      }
    } catch (error) {
      await this.#dropKeys(owner, jobs);
      return busyOf(error);
    }
    this.#note(owner, jobs);
    return { kind: "accepted", jobIds, isRepeated: false };
  }

  /** Makes the claim of the client's key, where it gave one. */
  async #claimMaker(
    owner: string,
    texts: readonly NewText[],
    { idempotencyKey: key }: AcceptOptions,
  ): Promise<((jobIds: readonly string[]) => KeyClaim) | undefined> {
    if (key === undefined) return undefined;
    const { vault, clock } = this.#options;
    const fingerprint = await vault.digest(owner, fingerprintText(texts));
    // Clients make their keys of the text, so the key could betray it.
    const name = await vault.digest(owner, `idempotency key\n${key}`);
    const expiresAtMs = clock.nowMs() + KEY_LIFE_MS;
    return (jobIds) => ({
      owner,
      key: name,
      fingerprint,
      jobIds,
      expiresAtMs,
    });
  }

  /** What the key stood for before; a job of it that failed is begun again. */
  async #earlier(
    owner: string,
    { key, fingerprint }: KeyClaim,
  ): Promise<AcceptOutcome | undefined> {
    const { store, clock, onAccepted } = this.#options;
    const claim = await store.keyClaim(owner, key, clock.nowMs());
    if (claim === undefined) return undefined;
    if (claim.fingerprint !== fingerprint) return { kind: "key_reused" };
    const jobs = await store.jobs(owner, claim.jobIds);
    const revived = jobs.flatMap((job): Change[] =>
      job?.status === "failed" && job.payload !== undefined
        ? [{
          kind: "job",
          owner,
          id: job.id,
          expectedVersion: job.version,
          patch: {
            status: "pending",
            attempts: 0,
            nextAttemptAtMs: clock.nowMs(),
            error: null,
          },
        }]
        : []
    );
    if (revived.length > 0) {
      await store.commit(revived);
      onAccepted();
    }
    return { kind: "accepted", jobIds: claim.jobIds, isRepeated: true };
  }

  async #refusal(
    owner: string,
    texts: readonly NewText[],
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
    const added = texts.reduce((sum, { text }) => sum + text.length, 0);
    if (bytes + added > quotaBytes) return { kind: "over_quota", quotaBytes };
    return openJobs + texts.length > maxOpenJobs
      ? { kind: "busy", retryAfterMs: BUSY_RETRY_MS }
      : undefined;
  }

  #seal(
    { owner, publicKey }: Caller,
    texts: readonly NewText[],
    { status }: AcceptOptions,
  ): Promise<readonly SealedJob[]> {
    const { vault, clock, newId } = this.#options;
    const nowMs = clock.nowMs();
    return Promise.all(texts.map(async (text): Promise<SealedJob> => {
      const id = newId();
      const { namespace, importance = DEFAULT_IMPORTANCE, supersedes } = text;
      const replaced = supersedes === undefined ? {} : { supersedes };
      const content: BlobContent = {
        id,
        namespace,
        text: text.text,
        createdAtMs: nowMs,
        agentId: publicKey,
        importance,
        metadata: text.metadata ?? {},
        ...replaced,
      };
      const { bytes: payload, keyId } = await vault.seal(owner, content);
      const job = {
        id,
        owner,
        namespace,
        agentId: publicKey,
        status,
        nextAttemptAtMs: nowMs,
        createdAtMs: nowMs,
        payload,
        keyId,
        importance,
        ...replaced,
      };
      return { job, content };
    }));
  }

  /** Keys of what was not kept open nothing. */
  async #dropKeys(owner: string, jobs: readonly SealedJob[]): Promise<void> {
    const { vault } = this.#options;
    await Promise.all(jobs.map(({ job }) => vault.destroy(owner, job.keyId)));
  }

  #note(owner: string, jobs: readonly SealedJob[]): void {
    const { fresh, usage, onAccepted } = this.#options;
    for (const { job, content } of jobs) fresh.add(job.id, content);
    usage.add(owner, {
      bytes: jobs.reduce((sum, { job }) => sum + job.payload.length, 0),
      openJobs: jobs.length,
    });
    onAccepted();
  }
}

/** @throws whatever is no sign of too much to write */
function busyOf(error: unknown): AcceptOutcome {
  if (!(error instanceof StoreBusyError)) throw error;
  return { kind: "busy", retryAfterMs: error.retryAfterMs };
}

interface SealedJob {
  readonly job: NewJob;
  readonly content: BlobContent;
}

/** What has to be the same for two requests to be the same. */
function fingerprintText(texts: readonly NewText[]): string {
  return JSON.stringify(
    texts.map(({ text, namespace, importance, metadata, supersedes }) => [
      namespace,
      text,
      importance ?? DEFAULT_IMPORTANCE,
      Object.entries(metadata ?? {}).sort(([a], [b]) => a < b ? -1 : 1),
      supersedes ?? null,
    ]),
  );
}
