/**
 * What is done for jobs, some at a time: each step can be repeated, so whatever
 * was begun before a crash is begun again after it.
 *
 * @module
 */

import type { FairKey } from "../../shared/fair_queue.ts";
import type { FairTurns } from "../../shared/fair_turns.ts";
import { describeError } from "../../shared/settled.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import { finishInSlices } from "../concurrency/bounded_work.ts";
import { vectorTextSteps } from "../embed/words.ts";
import type { JobRow, NewMemory } from "../store/rows.ts";
import type { Change } from "../store/store.ts";
import type { BlobContent } from "../vault/vault.ts";
import {
  GONE_FAILURE,
  INTERNAL_FAILURE,
  type JobFailure,
  openFailure,
  thrownFailure,
} from "./job_failure.ts";
import {
  type MemoryWords,
  memoryWordsSteps,
} from "../recall/ranking/memory_words.ts";
import type { RecentPlaintexts } from "./job_sealer.ts";
import { isDeleted, type JobParts, StoredJobs } from "./stored_jobs.ts";
import { textVectors } from "./text_vectors.ts";

/** Options of {@linkcode JobSteps}. */
interface JobStepsOptions extends JobParts {
  /** Keeps blobs. */
  readonly blobs: BlobStore;
  /** Texts that were accepted a moment ago. */
  readonly recent: RecentPlaintexts<BlobContent>;
  /**
   * Deals out turns: jobs get what an owner gets, and share that by their owners.
   *
   * @default work goes on until it is done
   */
  readonly turns?: Pick<FairTurns, "begin"> | undefined;
  /** The ledger package whose policy guards blobs. */
  readonly packageId: string;
}

/** The outcome of a job. */
type StepOutcome =
  /** It is done, or was changed elsewhere. */
  | { readonly kind: "done" }
  | FailedStep;

/** A job that did not get to its end. */
export interface FailedStep extends JobFailure {
  /** Tells it from jobs that are done. */
  readonly kind: "failed";
  /** The job as the store has it now. */
  readonly job: JobRow;
}

/** Bytes of blobs that are begun to be stored at once. */
const STORED_TOGETHER_BYTES = 65_536;

const DONE: StepOutcome = { kind: "done" };

/** Does what is to be done for jobs. */
export class JobSteps {
  readonly #options: JobStepsOptions;
  readonly #stored: StoredJobs;

  /** Steps over the relayer's parts. */
  constructor(options: JobStepsOptions) {
    this.#options = options;
    this.#stored = new StoredJobs(options);
  }

  /** Takes jobs as far as it can; answers in their order, never throws. */
  async run(
    jobs: readonly JobRow[],
    signal: AbortSignal,
  ): Promise<readonly StepOutcome[]> {
    const outcomes = new Map<string, StepOutcome>();
    const fail: Fail = (job, failure) => {
      outcomes.set(job.id, { kind: "failed", job, ...failure });
      // It waits, or is given up: what is new needs the room more.
      this.#options.recent.forget(job.id);
    };
    try {
      const turn = await this.#turnFor(jobs);
      const opened = await this.#openAll(jobs, { fail, turn });
      const embedded = await this.#embedAll(opened, { fail, signal, turn });
      const storing: Promise<void>[] = [];
      let begunBytes = 0;
      for (const work of embedded) {
        // Small ones begin together, for then they share a commit as well.
        if (begunBytes >= STORED_TOGETHER_BYTES) {
          await turn.pauseFor(work.job);
          begunBytes = 0;
        }
        begunBytes += work.payload.length;
        storing.push(this.#store(work, { fail, signal }));
      }
      for (const job of jobs) {
        if (job.status === "uploaded") {
          storing.push(this.#storeAgain(job, fail));
        }
      }
      await Promise.all(storing);
    } catch (error) {
      const failure = thrownFailure(error);
      if (failure.storageError === undefined) {
        this.#options.logger.error("Cannot do jobs: a part failed", {
          error: describeError(error),
        });
      }
      for (const job of jobs) {
        if (!outcomes.has(job.id)) fail(job, failure);
      }
    }
    return jobs.map(({ id }) => outcomes.get(id) ?? DONE);
  }

  async #turnFor(jobs: readonly JobRow[]): Promise<JobTurn> {
    const [first] = jobs;
    if (first === undefined) return NO_TURN;
    const begun = await this.#options.turns?.begin(keyOf(first));
    if (begun?.kind !== "ok") return NO_TURN;
    const { turn } = begun;
    return {
      pause: () => turn.pause(),
      pauseFor(job) {
        turn.moveTo(keyOf(job));
        return turn.pause();
      },
    };
  }

  async #openAll(
    jobs: readonly JobRow[],
    { fail, turn }: { readonly fail: Fail; readonly turn: JobTurn },
  ): Promise<readonly OpenedJob[]> {
    const opened: OpenedJob[] = [];
    for (const job of jobs) {
      if (job.status === "uploaded") continue;
      await turn.pauseFor(job);
      const one = await this.#open(job, { fail, pausing: turn });
      if (one !== undefined) opened.push(one);
    }
    return opened;
  }

  async #open(
    job: JobRow,
    { fail, pausing }: { readonly fail: Fail; readonly pausing: Pausing },
  ): Promise<OpenedJob | undefined> {
    const { vault, recent } = this.#options;
    const { payload } = job;
    if (payload === undefined) return void fail(job, GONE_FAILURE);
    const known = recent.get(job.id);
    if (known !== undefined) return { job, payload, content: known };
    try {
      const outcome = await vault.open(job.owner, payload, { pausing });
      if (outcome.kind === "ok") {
        return { job, payload, content: outcome.value };
      }
      fail(job, openFailure(outcome.why));
    } catch (error) {
      // One that cannot be opened is not to stop the others.
      this.#failed(job, { error, fail, message: "Cannot open job" });
    }
    return undefined;
  }

  async #embedAll(
    opened: readonly OpenedJob[],
    { fail, signal, turn }: {
      readonly fail: Fail;
      readonly signal: AbortSignal;
      readonly turn: JobTurn;
    },
  ): Promise<readonly EmbeddedJob[]> {
    if (opened.length === 0) return [];
    const { embedder, logger } = this.#options;
    const reasons = new Set<string>();
    const texts: string[] = [];
    const words: MemoryWords[] = [];
    for (const { job, content: { text } } of opened) {
      await turn.pauseFor(job);
      const options = { pausing: turn };
      texts.push(await finishInSlices(vectorTextSteps(text), options));
      words.push(await finishInSlices(memoryWordsSteps(text), options));
    }
    const outcomes = await textVectors(texts, {
      embedder,
      signal,
      pausing: turn,
      onFailure: (reason) => reasons.add(reason),
    });
    const embedded = opened.flatMap((work, at): readonly EmbeddedJob[] => {
      const outcome = outcomes[at];
      if (outcome?.kind === "ok") {
        return [{ ...work, vector: outcome.vector, words: words[at] }];
      }
      fail(work.job, outcome?.failure ?? INTERNAL_FAILURE);
      return [];
    });
    if (reasons.size > 0) {
      logger.warn("Cannot embed texts", {
        reason: [...reasons].join("; "),
        jobs: opened.length - embedded.length,
      });
    }
    return embedded;
  }

  /** From a vector to a memory that recall finds, and on to the end. */
  async #store(
    work: EmbeddedJob,
    { fail, signal }: { readonly fail: Fail; readonly signal: AbortSignal },
  ): Promise<void> {
    const { blobs, store, recent, vault } = this.#options;
    const { job } = work;
    let current = job;
    try {
      // A deletion meanwhile has looked for its blob already, so a crash
      // between the blob and the commit that fails would leave that for ever.
      const [known] = await store.jobs(job.owner, [job.id]);
      if (isDeleted(known)) return recent.forget(job.id);
      const bytes = await vault.protect(job.owner, work.payload);
      const blobId = await blobs.put(bytes, { signal });
      const sizeBytes = bytes.length;
      const memory = await this.#memoryOf(work, { blobId, sizeBytes });
      const outcome = await store.commit(indexingChanges(job, memory));
      if (outcome.kind === "conflict") {
        return await this.#leave(job, { blobId, fail });
      }
      current = {
        ...job,
        status: "uploaded",
        blobId,
        version: job.version + 1,
      };
      this.#find(work, memory);
      await this.#stored.note(current, sizeBytes);
    } catch (error) {
      this.#failed(current, { error, fail, message: "Cannot store memory" });
    }
  }

  async #memoryOf(
    { job, content, vector, words }: EmbeddedJob,
    blob: Pick<NewMemory, "blobId" | "sizeBytes">,
  ): Promise<NewMemory> {
    const { vault, packageId } = this.#options;
    const { id, owner, namespace, agentId, createdAtMs, importance } = job;
    const { metadata } = content;
    return {
      id,
      owner,
      namespace,
      ...blob,
      createdAtMs,
      agentId,
      packageId,
      importance,
      keyId: job.keyId,
      sealedIndex: await vault.sealIndex(owner, {
        vector,
        model: this.#options.embedder.model,
        ...{ metadata, words },
      }),
      supersedes: job.supersedes,
    };
  }

  /** An earlier attempt came as far as the row, and perhaps no further. */
  async #storeAgain(job: JobRow, fail: Fail): Promise<void> {
    try {
      await this.#stored.again(job);
    } catch (error) {
      this.#failed(job, { error, fail, message: "Cannot note memory" });
    }
  }

  #failed(
    job: JobRow,
    { error, fail, message }: {
      readonly error: unknown;
      readonly fail: Fail;
      readonly message: string;
    },
  ): void {
    const failure = thrownFailure(error);
    fail(job, failure);
    // Storage that failed is told of once, not for each job.
    if (failure.storageError !== undefined) return;
    this.#options.logger.warn(`${message}: it is tried again`, {
      job: job.id,
      error: describeError(error),
    });
  }

  /**
   * The job was changed meanwhile, and whatever changed it goes on with it. When
   * it was deleted, only this attempt knows of the blob.
   */
  async #leave(
    job: JobRow,
    { blobId, fail }: { readonly blobId: string; readonly fail: Fail },
  ): Promise<void> {
    const { store, blobs, recent } = this.#options;
    const [current] = await store.jobs(job.owner, [job.id]);
    if (current?.version === job.version) return fail(job, INTERNAL_FAILURE);
    recent.forget(job.id);
    if (isDeleted(current)) await blobs.remove(blobId);
  }

  /** From now on recall finds it, and not what it took the place of. */
  #find({ content, vector, words }: EmbeddedJob, memory: NewMemory): void {
    const { metadata } = content;
    this.#stored.index(memory, { vector, metadata, words });
    this.#options.recent.forget(memory.id);
    this.#options.onSettled(memory.id);
  }
}

/** The turn of a batch. */
interface JobTurn extends Pausing {
  /** Gives way, and has the owner of the job pay from now on. */
  pauseFor(job: JobRow): Promise<void> | undefined;
}

const NO_TURN: JobTurn = { ...NEVER_PAUSING, pauseFor: () => undefined };

function keyOf({ owner }: JobRow): FairKey {
  return { group: "jobs", member: owner };
}

type Fail = (job: JobRow, failure: JobFailure) => void;

interface OpenedJob {
  readonly job: JobRow;
  readonly payload: Uint8Array;
  readonly content: BlobContent;
}

interface EmbeddedJob extends OpenedJob {
  readonly vector: Float32Array;
  readonly words: MemoryWords | undefined;
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
