/**
 * Texts become jobs: each is sealed into its blob, under a key of its own.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { settle } from "../../shared/settled.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { NewJob } from "../store/job_row.ts";
import type { BlobContent, RelayerVault } from "../vault/vault.ts";
import type { AcceptOptions, NewText } from "./intake.ts";

/** Options of {@linkcode JobSealer}. */
export interface JobSealerOptions {
  /** Seals texts. */
  readonly vault: Pick<RelayerVault, "seal" | "destroy">;
  /** Makes ids. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
}

/** A job, and what its payload holds. */
export interface SealedJob {
  /** The job. */
  readonly job: NewJob;
  /** What only its owner's keys open. */
  readonly content: BlobContent;
}

/** How much a text matters where nobody said. */
export const DEFAULT_IMPORTANCE = 0.5;

/** Makes jobs. */
export class JobSealer {
  readonly #options: JobSealerOptions;

  /** A sealer over a vault. */
  constructor(options: JobSealerOptions) {
    this.#options = options;
  }

  /**
   * Seals all, or none: keys of those that were sealed in vain are destroyed.
   *
   * @throws what the vault throws
   */
  async seal(
    caller: Caller,
    texts: readonly NewText[],
    options: AcceptOptions,
  ): Promise<readonly SealedJob[]> {
    const sealing: ReturnType<typeof settle<SealedJob>>[] = [];
    for (const text of texts) {
      await options.pausing?.pause();
      sealing.push(settle(() => this.#sealOne(caller, text, options)));
    }
    const sealed = await Promise.all(sealing);
    const jobs = sealed.flatMap((one) => one.kind === "ok" ? [one.value] : []);
    const failure = sealed.find((one) => one.kind === "failed");
    if (failure === undefined) return jobs;
    await this.drop(caller.owner, jobs);
    throw failure.error;
  }

  async #sealOne(
    { owner, publicKey }: Caller,
    text: NewText,
    { status }: AcceptOptions,
  ): Promise<SealedJob> {
    const { vault, clock, newId } = this.#options;
    const nowMs = clock.nowMs();
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
  }

  /**
   * Keys of what was not kept open nothing. A key that cannot be destroyed now
   * stays in the file of keys, a few hundred bytes that nothing leads to; so do
   * those of requests that a crash cut off between sealing and writing.
   */
  async drop(owner: string, jobs: readonly SealedJob[]): Promise<void> {
    const { vault } = this.#options;
    await Promise.all(
      jobs.map(({ job }) => settle(() => vault.destroy(owner, job.keyId))),
    );
  }
}
