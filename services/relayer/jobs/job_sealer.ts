/**
 * Makes jobs of accepted texts: each gets an id and a blob sealed under a key
 * of its own. Also makes claims of idempotency keys, and keeps recent texts
 * decrypted in memory.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import { settle } from "../../shared/settled.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { WorkOptions } from "../concurrency/bounded_work.ts";
import { formatSaltText, hashContent } from "../receipts/receipt.ts";
import type { JobStatus, KeyClaim, NewJob } from "../store/rows.ts";
import type { BlobContent, Metadata, RelayerVault } from "../vault/vault.ts";

/** A text to be remembered, within all limits. */
export interface NewText {
  /** The text. */
  readonly text: string;
  /** The memory's namespace. */
  readonly namespace: string;
  /**
   * How much the memory matters, 0 to 1.
   * @default 0.5
   */
  readonly importance?: number | undefined;
  /**
   * Metadata that the client sends with the text.
   * @default none
   */
  readonly metadata?: Metadata | undefined;
  /**
   * The id of the memory that this text replaces.
   * @default none
   */
  readonly supersedes?: string | undefined;
}

/** Options of `JobIntake.accept()`. */
export interface AcceptOptions extends Pick<WorkOptions, "pausing"> {
  /** The status of the new jobs. */
  readonly status: Extract<JobStatus, "pending" | "running">;
  /**
   * The client's idempotency key: the same request with the same key gives the
   * same jobs.
   * @default none
   */
  readonly idempotencyKey?: string | undefined;
}

/** Options of {@linkcode JobSealer}. */
interface JobSealerOptions {
  /** Seals texts, and makes digests. */
  readonly vault: Pick<RelayerVault, "seal" | "destroy" | "digest">;
  /** How long an idempotency key is remembered, in milliseconds. */
  readonly keyLifeMs: number;
  /** Makes the ids of jobs. */
  readonly newId: () => string;
  /** The time. */
  readonly clock: Clock;
}

/** A job, and its content before it was sealed. */
export interface SealedJob {
  /** The job. */
  readonly job: NewJob;
  /** The content, which otherwise only the owner's keys open. */
  readonly content: BlobContent;
}

/** The importance of a text for which none is given. */
const DEFAULT_IMPORTANCE = 0.5;

/** Makes jobs of texts. */
export class JobSealer {
  readonly #options: JobSealerOptions;

  /** Makes a sealer with a vault's keys. */
  constructor(options: JobSealerOptions) {
    this.#options = options;
  }

  /**
   * Seals all of the texts, or none: when one fails, the keys of the others are
   * destroyed.
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

  /**
   * Returns a function that makes the claim of the request's idempotency key;
   * undefined when the request has no key. The same request has the same
   * fingerprint.
   */
  async claimMaker(
    owner: string,
    texts: readonly NewText[],
    { idempotencyKey, pausing }: AcceptOptions,
  ): Promise<ClaimMaker | undefined> {
    const { vault, clock, keyLifeMs } = this.#options;
    if (idempotencyKey === undefined) return undefined;
    const text = fingerprintText(texts);
    await pausing?.pause();
    const fingerprint = await vault.digest(owner, text);
    await pausing?.pause();
    // Clients may derive their keys from the text, so a key kept as it is could
    // betray the text.
    const key = await vault.digest(owner, `idempotency key\n${idempotencyKey}`);
    const expiresAtMs = clock.nowMs() + keyLifeMs;
    return (jobIds) => ({ owner, key, fingerprint, jobIds, expiresAtMs });
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
    const content: BlobContent = {
      id,
      namespace,
      text: text.text,
      createdAtMs: nowMs,
      agentId: publicKey,
      importance,
      metadata: text.metadata ?? {},
      supersedes,
    };
    const [{ bytes: payload, keyId }, salt] = await Promise.all([
      vault.seal(owner, content),
      vault.digest(owner, formatSaltText(id)),
    ]);
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
      supersedes,
      contentHash: hashContent(text.text, salt),
    };
    return { job, content };
  }

  /**
   * Destroys the keys of jobs that were not kept, so that nothing opens their
   * payloads. A key that cannot be destroyed now stays in the file of keys, a
   * few hundred bytes that nothing refers to. Keys of requests stay, too, if a
   * crash came between sealing and writing.
   */
  async drop(owner: string, jobs: readonly SealedJob[]): Promise<void> {
    const { vault } = this.#options;
    await Promise.all(
      jobs.map(({ job }) => settle(() => vault.destroy(owner, job.keyId))),
    );
  }
}

/** A text that is kept for a while. */
interface KeptText<Content> {
  readonly content: Content;
  readonly addedMs: number;
}

/**
 * A bounded cache of the texts of recent jobs, in memory only; texts that it
 * does not have are decrypted.
 */
export class RecentPlaintexts<Content extends { readonly text: string }> {
  readonly #maxChars: number;
  readonly #clock: Clock;
  /** By the ids of the jobs, the oldest first. */
  readonly #texts = new Map<string, KeptText<Content>>();
  #chars = 0;

  /** Makes a cache of at most `maxChars` characters. */
  constructor(maxChars: number, clock: Clock) {
    this.#maxChars = maxChars;
    this.#clock = clock;
  }

  /** How many texts are kept. */
  get size(): number {
    return this.#texts.size;
  }

  /** Adds the content of a job; does nothing when there is no room. */
  add(jobId: string, content: Content): void {
    this.forget(jobId);
    if (this.#chars + content.text.length > this.#maxChars) return;
    this.#texts.set(jobId, { content, addedMs: steadyMs(this.#clock) });
    this.#chars += content.text.length;
  }

  /**
   * Returns the content of a job; undefined when the cache does not have it.
   */
  get(jobId: string): Content | undefined {
    return this.#texts.get(jobId)?.content;
  }

  /** Removes the content of a job. */
  forget(jobId: string): void {
    const kept = this.#texts.get(jobId);
    if (kept === undefined) return;
    this.#texts.delete(jobId);
    this.#chars -= kept.content.text.length;
  }

  /** Removes what was added at least `ageMs` milliseconds ago. */
  forgetOld(ageMs: number): void {
    const beforeMs = steadyMs(this.#clock) - ageMs;
    for (const [jobId, { addedMs }] of this.#texts) {
      if (addedMs > beforeMs) return;
      this.forget(jobId);
    }
  }
}

/** Makes the claim that these jobs were made for an idempotency key. */
export type ClaimMaker = (jobIds: readonly string[]) => KeyClaim;

/**
 * Returns the text whose fingerprint tells whether two requests are the same.
 */
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

/**
 * The highest counter within a millisecond; after it ids take the next
 * millisecond.
 */
const MAX_COUNTER = 0xfff;
/**
 * Limits the first counter of a millisecond to half of the range, so that at
 * least as many ids follow.
 */
const FIRST_COUNTER_MASK = 0x7ff;

/** Options of {@linkcode JobIds}. */
interface JobIdsOptions {
  /** The time. */
  readonly clock: Pick<Clock, "nowMs">;
  /** Gives random bytes. */
  readonly randomBytes: (length: number) => Uint8Array;
}

/**
 * Makes ids that sort in the order they were made in, as UUIDs of version 7
 * (RFC 9562, 5.7 and 6.2, method 1). Texts of one request are neighbours in the
 * store and in the order of memories. The 62 random bits make each id
 * impossible to guess.
 */
export class JobIds {
  readonly #options: JobIdsOptions;
  #timeMs = -1;
  #counter = 0;

  /** Makes a generator that has made no ids yet. */
  constructor(options: JobIdsOptions) {
    this.#options = options;
  }

  /**
   * Returns an id greater than all before it, even when the clock is set back.
   */
  next(): string {
    const { clock, randomBytes } = this.#options;
    const random = randomBytes(10);
    const nowMs = clock.nowMs();
    if (nowMs > this.#timeMs) this.#begin(nowMs, random);
    else if (this.#counter < MAX_COUNTER) this.#counter++;
    else this.#begin(this.#timeMs + 1, random);
    return createUuid(this.#timeMs, {
      counter: this.#counter,
      rest: random.subarray(2),
    });
  }

  #begin(timeMs: number, [high = 0, low = 0]: Uint8Array): void {
    this.#timeMs = timeMs;
    this.#counter = (high * 256 + low) & FIRST_COUNTER_MASK;
  }
}

/** Returns the UUID of a time, a 12-bit counter and 8 random bytes. */
function createUuid(
  timeMs: number,
  { counter, rest }: { readonly counter: number; readonly rest: Uint8Array },
): string {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(timeMs / 0x1_0000));
  view.setUint16(4, timeMs % 0x1_0000);
  view.setUint16(6, 0x7000 | counter);
  bytes.set(rest, 8);
  bytes[8] = 0x80 | (rest[0]! & 0x3f);
  const hex = bytes.toHex();
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
