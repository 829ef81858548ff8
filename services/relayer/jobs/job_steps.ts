/**
 * Runs the steps of jobs in batches: decrypt, embed, store the blob, write the
 * memory. Each step can be repeated, so a job that a crash interrupted is run
 * again after it.
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
import type { Change } from "../store/changes.ts";
import { type BlobContent, NO_MODEL, refusedModel } from "../vault/vault.ts";
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
import { noteBlob } from "./noted_blobs.ts";
import type { RecentPlaintexts } from "./job_sealer.ts";
import {
  hasStored,
  isDeleted,
  type JobParts,
  StoredJobs,
} from "./stored_jobs.ts";
import { textVectors } from "./text_vectors.ts";

/** Options of {@linkcode JobSteps}. */
interface JobStepsOptions extends JobParts {
  /** Keeps blobs. */
  readonly blobs: BlobStore;
  /** Texts that were accepted a moment ago, decrypted. */
  readonly recent: RecentPlaintexts<BlobContent>;
  /**
   * Shares the thread: all jobs together get one owner's share, divided by the
   * jobs' owners.
   *
   * @default jobs never pause
   */
  readonly turns?: Pick<FairTurns, "begin"> | undefined;
  /** The ledger package whose policy guards blobs. */
  readonly packageId: string;
  /**
   * Called with each job whose memory was stored without its vector, which the
   * embedder may make later.
   */
  readonly onVectorDue: (job: Pick<JobRow, "owner" | "id">) => void;
}

/** The outcome of one attempt of a job. */
type StepOutcome =
  /** The job is done, or was changed elsewhere. */
  | { readonly kind: "done" }
  | FailedStep;

/** A job whose attempt failed. */
export interface FailedStep extends JobFailure {
  /** Tells failed jobs from done ones. */
  readonly kind: "failed";
  /** The job as the store has it now. */
  readonly job: JobRow;
}

/** Bytes of blobs that begin to be stored together, without a pause. */
const STORED_TOGETHER_BYTES = 65_536;

const DONE: StepOutcome = { kind: "done" };

/** Runs the steps of jobs. */
export class JobSteps {
  readonly #options: JobStepsOptions;
  readonly #stored: StoredJobs;

  /** Steps over the relayer's parts. */
  constructor(options: JobStepsOptions) {
    this.#options = options;
    this.#stored = new StoredJobs(options);
  }

  /**
   * Takes each job as far as it can; resolves with the outcomes in the order of
   * the jobs, and never rejects.
   */
  async run(
    jobs: readonly JobRow[],
    signal: AbortSignal,
  ): Promise<readonly StepOutcome[]> {
    const outcomes = new Map<string, StepOutcome>();
    const fail: Fail = (job, failure) => {
      outcomes.set(job.id, { kind: "failed", job, ...failure });
      // The job waits for its retry or is given up: new texts need the room
      // more.
      this.#options.recent.forget(job.id);
    };
    try {
      const turn = await this.#turnFor(jobs);
      const opened = await this.#openAll(jobs, { fail, turn });
      const embedded = await this.#embedAll(opened, { fail, signal, turn });
      const storing: Promise<void>[] = [];
      let begunBytes = 0;
      for (const work of embedded) {
        // Small blobs begin together, so that they share a commit as well.
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
    const begun = await this.#options.turns?.begin(toFairKey(first));
    if (begun?.kind !== "ok") return NO_TURN;
    const { turn } = begun;
    return {
      pause: () => turn.pause(),
      pauseFor(job) {
        turn.moveTo(toFairKey(job));
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
      // A job that cannot be decrypted must not stop the others.
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
    // The process stops, or the batch took too long: what the embedder would
    // have answered is not known.
    if (signal.aborted) {
      for (const { job } of opened) fail(job, INTERNAL_FAILURE);
      return [];
    }
    const embedded = opened.map((work, at): EmbeddedJob => {
      const outcome = outcomes[at];
      return outcome?.kind === "ok"
        ? { ...work, vector: outcome.vector, words: words[at] }
        : { ...work, missing: outcome?.failure, words: words[at] };
    });
    if (reasons.size > 0) {
      logger.warn("Cannot embed texts; until then words find them", {
        reason: [...reasons].join("; "),
        jobs: embedded.filter(({ vector }) => vector === undefined).length,
      });
    }
    return embedded;
  }

  /**
   * Stores one embedded job: its blob, its row and its catalogue entry; recall
   * finds the memory once the row is there.
   */
  async #store(
    work: EmbeddedJob,
    { fail, signal }: { readonly fail: Fail; readonly signal: AbortSignal },
  ): Promise<void> {
    const { blobs, store, recent, vault } = this.#options;
    const { job } = work;
    let current = job;
    try {
      // A deletion that ran meanwhile has already looked for this job's blob.
      // The commit would fail, and after a crash before it nothing would ever
      // remove the blob.
      const [known] = await store.jobs(job.owner, [job.id]);
      if (isDeleted(known)) return recent.forget(job.id);
      const bytes = await vault.protect(job.owner, work.payload);
      const noted = await noteBlob(job, bytes, { blobs, store });
      if (noted === undefined) return await this.#leave(job, { fail });
      current = noted;
      const blobId = await blobs.put(bytes, { signal });
      const sizeBytes = bytes.length;
      const memory = await this.#buildMemory(work, { blobId, sizeBytes });
      const error = work.missing?.reason ?? null;
      const outcome = await store.commit(
        indexingChanges(current, { memory, error }),
      );
      if (outcome.kind === "conflict") {
        return await this.#leave(current, { blobId, fail });
      }
      current = {
        ...current,
        status: "uploaded",
        blobId,
        version: current.version + 1,
      };
      this.#find(work, memory);
      if (work.missing?.isPassing === true) this.#options.onVectorDue(job);
      await this.#stored.note(current, sizeBytes);
    } catch (error) {
      this.#failed(current, { error, fail, message: "Cannot store memory" });
    }
  }

  async #buildMemory(
    { job, content, vector, missing, words }: EmbeddedJob,
    blob: Pick<NewMemory, "blobId" | "sizeBytes">,
  ): Promise<NewMemory> {
    const { vault, embedder, packageId } = this.#options;
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
        vector: vector ?? NO_VECTOR,
        model: vector === undefined && missing?.isPassing !== false
          ? NO_MODEL
          : vector === undefined
          ? refusedModel(embedder.model)
          : embedder.model,
        ...{ metadata, words },
      }),
      supersedes: job.supersedes,
    };
  }

  /** Finishes a job whose row an earlier attempt has written. */
  async #storeAgain(job: JobRow, fail: Fail): Promise<void> {
    try {
      await this.#stored.again(job);
    } catch (error) {
      this.#failed(job, { error, fail, message: "Cannot store memory" });
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
    // A failing storage is logged once elsewhere, not for each job.
    if (failure.storageError !== undefined) return;
    this.#options.logger.warn(`${message}: it is tried again`, {
      job: job.id,
      error: describeError(error),
    });
  }

  /**
   * Ends an attempt whose commit conflicted: the job was changed meanwhile, and
   * goes on from that change. When the job was deleted, or has stored or noted
   * another blob, only this attempt knows of its own blob and removes it. It
   * also removes a blob that is noted and was not stored: the attempt that
   * removes that one may have done so before it was put.
   */
  async #leave(
    job: JobRow,
    { blobId, fail }: {
      /** The blob that this attempt has put. */
      readonly blobId?: string;
      readonly fail: Fail;
    },
  ): Promise<void> {
    const { store, blobs, recent } = this.#options;
    const [current] = await store.jobs(job.owner, [job.id]);
    if (current?.version === job.version) return fail(job, INTERNAL_FAILURE);
    recent.forget(job.id);
    if (blobId === undefined) return;
    const noted = current?.blobId;
    const isStored = current !== undefined && hasStored(current) &&
      noted === blobId;
    if (isDeleted(current) || (noted !== undefined && !isStored)) {
      await blobs.remove(blobId);
    }
  }

  /**
   * Adds the memory to the index, where recall finds it in place of the one it
   * supersedes, and tells those who wait for the job.
   */
  #find({ content, vector, words }: EmbeddedJob, memory: NewMemory): void {
    const { metadata } = content;
    this.#stored.index(memory, { vector, metadata, words });
    this.#options.recent.forget(memory.id);
    this.#options.onSettled(memory);
  }
}

/** The turn that a batch takes on the thread. */
interface JobTurn extends Pausing {
  /**
   * Pauses when other work is due, and counts what follows against the job's
   * owner.
   */
  pauseFor(job: JobRow): Promise<void> | undefined;
}

const NO_TURN: JobTurn = { ...NEVER_PAUSING, pauseFor: () => undefined };

function toFairKey({ owner }: JobRow): FairKey {
  return { group: "jobs", member: owner };
}

type Fail = (job: JobRow, failure: JobFailure) => void;

interface OpenedJob {
  readonly job: JobRow;
  readonly payload: Uint8Array;
  readonly content: BlobContent;
}

interface EmbeddedJob extends OpenedJob {
  /** The vector; undefined when the embedder has not made it. */
  readonly vector?: Float32Array | undefined;
  /** Why there is no vector. */
  readonly missing?: JobFailure | undefined;
  readonly words: MemoryWords | undefined;
}

const NO_VECTOR = new Float32Array();

/**
 * The changes of one commit: the memory's row, the job's new status, and the
 * superseded memory.
 */
function indexingChanges(
  job: JobRow,
  { memory, error }: {
    readonly memory: NewMemory;
    /** Why the memory has no vector; null when it has one. */
    readonly error: string | null;
  },
): readonly Change[] {
  const { owner, id } = job;
  const changes: Change[] = [{
    kind: "job",
    owner,
    id,
    expectedVersion: job.version,
    patch: { status: "uploaded", blobId: memory.blobId, error },
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
