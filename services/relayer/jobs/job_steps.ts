/**
 * What is done for jobs, some at a time: each step can be repeated, so whatever
 * was begun before a crash is begun again after it.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { BlobCatalog } from "../blobs/blob_catalog.ts";
import { type BlobStore, BlobStoreError } from "../blobs/blob_store.ts";
import type { Embedder } from "../embed/embedder.ts";
import type { MemoryIndex } from "../recall/memory_index.ts";
import type { JobRow } from "../store/job_row.ts";
import type { NewMemory } from "../store/memory_row.ts";
import type { Change, RelayerStore } from "../store/store.ts";
import type { BlobContent, OpenFailure, RelayerVault } from "../vault/vault.ts";
import type { FreshTexts } from "./fresh_texts.ts";
import { vectorText } from "./vector_text.ts";

/** Options of {@linkcode JobSteps}. */
export interface JobStepsOptions {
  /** Keeps jobs and rows. */
  readonly store: RelayerStore;
  /** Opens what jobs hold, and seals vectors. */
  readonly vault: RelayerVault;
  /** Keeps blobs. */
  readonly blobs: BlobStore;
  /** Knows which blobs there are. */
  readonly catalog: BlobCatalog;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds memories. */
  readonly index: MemoryIndex;
  /** Texts that were accepted a moment ago. */
  readonly fresh: FreshTexts<BlobContent>;
  /** The ledger package whose policy guards blobs. */
  readonly packageId: string;
  /** Hears of a job that is found by recall, or has ended. */
  readonly onSettled: (id: string) => void;
  /** The time. */
  readonly clock: Clock;
  /** Hears of what goes wrong. */
  readonly logger: Logger;
}

/** What came of a job. */
export type StepOutcome =
  /** It is done, or somebody else changed it. */
  | { readonly kind: "done" }
  | {
    readonly kind: "failed";
    /** The job as the store has it now. */
    readonly job: JobRow;
    /** In words fit for its owner. */
    readonly reason: string;
    /** Whether trying again can help. */
    readonly isPassing: boolean;
    readonly retryAfterMs?: number | undefined;
  };

const DONE: StepOutcome = { kind: "done" };

/** Does what is to be done for jobs. */
export class JobSteps {
  readonly #options: JobStepsOptions;

  /** Steps over the relayer's parts. */
  constructor(options: JobStepsOptions) {
    this.#options = options;
  }

  /** Takes jobs as far as it can; answers in their order, never throws. */
  async run(
    jobs: readonly JobRow[],
    signal: AbortSignal,
  ): Promise<readonly StepOutcome[]> {
    const outcomes = new Map<string, StepOutcome>();
    const fail = (job: JobRow, failure: Failure): void => {
      outcomes.set(job.id, { kind: "failed", job, ...failure });
    };
    try {
      const opened = await this.#openAll(jobs, fail);
      const embedded = await this.#embedAll(opened, { fail, signal });
      const uploaded = jobs.filter(({ status }) => status === "uploaded");
      await Promise.all([
        ...embedded.map((work) => this.#store(work, { fail, signal })),
        ...uploaded.map((job) => this.#noteAgain(job, fail)),
      ]);
    } catch (error) {
      this.#options.logger.error("Cannot do jobs: a part failed", {
        error: describeError(error),
      });
      for (const job of jobs) {
        if (!outcomes.has(job.id)) fail(job, INTERNAL);
      }
    }
    return jobs.map(({ id }) => outcomes.get(id) ?? DONE);
  }

  async #openAll(
    jobs: readonly JobRow[],
    fail: Fail,
  ): Promise<readonly OpenedJob[]> {
    const { vault, fresh } = this.#options;
    const opened = await Promise.all(
      jobs.map(async (job): Promise<OpenedJob | undefined> => {
        if (job.status === "uploaded") return undefined;
        const { payload } = job;
        if (payload === undefined) {
          fail(job, permanent("Cannot store memory: its content is gone"));
          return undefined;
        }
        const known = fresh.get(job.id);
        if (known !== undefined) return { job, payload, content: known };
        const outcome = await vault.open(job.owner, payload);
        if (outcome.kind === "ok") {
          return { job, payload, content: outcome.value };
        }
        fail(job, OPEN_FAILURES[outcome.why]);
        return undefined;
      }),
    );
    return opened.filter((job) => job !== undefined);
  }

  async #embedAll(
    opened: readonly OpenedJob[],
    { fail, signal }: { readonly fail: Fail; readonly signal: AbortSignal },
  ): Promise<readonly EmbeddedJob[]> {
    if (opened.length === 0) return [];
    const { embedder, logger } = this.#options;
    const outcome = await embedder.embed(
      opened.map(({ content }) => vectorText(content.text)),
      { signal },
    );
    if (outcome.kind === "ok") {
      return opened.flatMap((job, index) => {
        const vector = outcome.vectors[index];
        return vector === undefined ? [] : [{ ...job, vector }];
      });
    }
    logger.warn("Cannot embed texts: they are tried again", {
      reason: outcome.reason,
      jobs: opened.length,
    });
    for (const { job } of opened) {
      fail(job, {
        reason: "Cannot embed text: the embedder does not answer",
        isPassing: outcome.isPassing,
        retryAfterMs: outcome.retryAfterMs,
      });
    }
    return [];
  }

  /** From a vector to a memory that recall finds, and on to the end. */
  async #store(
    work: EmbeddedJob,
    { fail, signal }: { readonly fail: Fail; readonly signal: AbortSignal },
  ): Promise<void> {
    const { blobs, store, logger } = this.#options;
    const { job, payload } = work;
    let current = job;
    try {
      const blobId = await blobs.put(payload, { signal });
      const memory = await this.#memoryOf(work, blobId);
      const outcome = await store.commit(indexingChanges(job, memory));
      // Whoever changed the job meanwhile goes on with it.
      if (outcome.kind === "conflict") return;
      current = {
        ...job,
        status: "uploaded",
        blobId,
        version: job.version + 1,
      };
      this.#find(work, memory);
      await this.#note(current, payload.length);
    } catch (error) {
      fail(current, failureOf(error));
      logger.warn("Cannot store memory: it is tried again", {
        job: job.id,
        error: describeError(error),
      });
    }
  }

  async #memoryOf(
    { job, payload, content, vector }: EmbeddedJob,
    blobId: string,
  ): Promise<NewMemory> {
    const { vault, packageId } = this.#options;
    const { id, owner, namespace, agentId, createdAtMs, importance } = job;
    const { metadata } = content;
    return {
      id,
      owner,
      namespace,
      blobId,
      sizeBytes: payload.length,
      createdAtMs,
      agentId,
      packageId,
      importance,
      keyId: job.keyId,
      sealedIndex: await vault.sealIndex(owner, { vector, metadata }),
      ...(job.supersedes === undefined ? {} : { supersedes: job.supersedes }),
    };
  }

  /** From now on recall finds it, and not what it took the place of. */
  #find({ content, vector }: EmbeddedJob, memory: NewMemory): void {
    const { index, fresh, onSettled } = this.#options;
    const { id, owner, namespace, blobId, createdAtMs, importance } = memory;
    const { metadata } = content;
    index.add({
      id,
      owner,
      namespace,
      blobId,
      createdAtMs,
      importance,
      metadata,
      vector,
    });
    if (memory.supersedes !== undefined) index.remove(owner, memory.supersedes);
    fresh.forget(id);
    onSettled(id);
  }

  /** Notes the blob in the catalogue; then the job is done. */
  async #note(job: JobRow, sizeBytes: number): Promise<void> {
    const { catalog, store } = this.#options;
    const { id, owner, namespace, createdAtMs, agentId, blobId } = job;
    if (blobId === undefined) {
      throw new TypeError("an uploaded job has no blob");
    }
    await catalog.add({
      blobId,
      owner,
      namespace,
      memoryId: id,
      createdAtMs,
      agentId,
      sizeBytes,
    });
    // It may have been deleted while it was noted; then nothing is to be left.
    const [memory] = await store.memories(owner, [id]);
    if (memory === undefined) await catalog.remove(owner, id);
    await store.commit([{
      kind: "job",
      owner,
      id,
      expectedVersion: job.version,
      patch: { status: "done", payload: null },
    }]);
  }

  /** An earlier life of the process came as far as the index. */
  async #noteAgain(job: JobRow, fail: Fail): Promise<void> {
    const { store, logger } = this.#options;
    try {
      const [memory] = await store.memories(job.owner, [job.id]);
      await this.#note(job, memory?.sizeBytes ?? job.payload?.length ?? 0);
    } catch (error) {
      fail(job, failureOf(error));
      logger.warn("Cannot note memory: it is tried again", {
        job: job.id,
        error: describeError(error),
      });
    }
  }
}

interface Failure {
  readonly reason: string;
  readonly isPassing: boolean;
  readonly retryAfterMs?: number | undefined;
}

type Fail = (job: JobRow, failure: Failure) => void;

interface OpenedJob {
  readonly job: JobRow;
  readonly payload: Uint8Array;
  readonly content: BlobContent;
}

interface EmbeddedJob extends OpenedJob {
  readonly vector: Float32Array;
}

const INTERNAL: Failure = {
  reason: "Cannot store memory: the relayer failed",
  isPassing: true,
};

const OPEN_FAILURES: Readonly<Record<OpenFailure, Failure>> = {
  key_gone: permanent("Cannot store memory: it was deleted"),
  damaged: permanent("Cannot store memory: its content is damaged"),
  unavailable: {
    reason: "Cannot store memory: the key server does not answer",
    isPassing: true,
  },
};

function permanent(reason: string): Failure {
  return { reason, isPassing: false };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof BlobStoreError)) return INTERNAL;
  return {
    reason: "Cannot store memory: the blob store does not take it",
    isPassing: error.isPassing,
    retryAfterMs: error.retryAfterMs,
  };
}

/** The row and the state of its job, in one. */
function indexingChanges(job: JobRow, memory: NewMemory): readonly Change[] {
  const { owner, id } = job;
  const changes: Change[] = [{
    kind: "job",
    owner,
    id,
    expectedVersion: job.version,
    patch: { status: "uploaded", blobId: memory.blobId, error: null },
  }, { kind: "new_memory", memory }];
  if (job.supersedes !== undefined) {
    changes.push({
      kind: "supersede",
      owner,
      id: job.supersedes,
      supersededBy: id,
    });
  }
  return changes;
}
