/**
 * Stores the mock's jobs and memories, and numbers their changes, which the
 * pages of listings are based on.
 *
 * @module
 */

import type { ClientClock } from "../memory/client_clock.ts";
import { quote } from "../memory/server_text.ts";
import { countBytes, Refusal } from "./mock_bodies.ts";
import type {
  JobEnd,
  MockJob,
  MockMemory,
  MockNamespace,
  MockRow,
  NewText,
  SealedData,
} from "./mock_memory.ts";
import { computeVector, toUnitVector } from "./mock_vectors.ts";

const DEFAULT_IMPORTANCE = 0.5;
/** About how many bytes an encrypted memory has in addition to its text. */
const ENVELOPE_BYTES = 256;
/** How long an idempotency key is remembered. */
const KEY_LIFE_MS = 24 * 60 * 60_000;
const FAILED = "Cannot store memory: the mock was told to fail it";
const DELETED = "Cannot store memory: it was deleted; send its text under " +
  "another idempotency_key to store it again";

/** Options of accepting texts. */
interface AcceptOptions {
  /** The first status of the jobs. */
  readonly status: "pending" | "running";
  /** The idempotency key of the write; undefined for none. */
  readonly key: string | undefined;
}

interface KeyClaim {
  readonly fingerprint: string;
  readonly ids: readonly string[];
  readonly madeAtMs: number;
}

interface NamespaceChange {
  readonly change: number;
  readonly changedAtMs: number;
}

/** The memories and jobs of one owner. */
export class MockStore {
  /** Whether new jobs stay pending until the test ends them. */
  isHolding = false;
  readonly #clock: ClientClock;
  readonly #jobs = new Map<string, MockJob>();
  readonly #rows = new Map<string, MockRow>();
  readonly #keys = new Map<string, KeyClaim>();
  readonly #namespaces = new Map<string, NamespaceChange>();
  readonly #listeners = new Set<() => void>();
  #lastId = 0;
  #lastChange = 0;

  /** Creates a store without memories. */
  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /**
   * All memories that were stored, also deleted ones, in the order of their
   * ids.
   */
  get rows(): readonly MockRow[] {
    return [...this.#rows.values()];
  }

  /** Returns a job. */
  job(id: string): MockJob | undefined {
    return this.#jobs.get(id);
  }

  /** Returns a memory that is in the index. */
  kept(id: string): MockRow | undefined {
    const row = this.#rows.get(id);
    return row?.state === "kept" ? row : undefined;
  }

  /**
   * Returns a namespace's memories in the index, including those that were
   * replaced.
   */
  keptIn(namespace: string): readonly MockRow[] {
    return this.rows.filter(({ memory, state }) =>
      state === "kept" && memory.namespace === namespace
    );
  }

  /** Returns a namespace's memories that recall can find. */
  found(namespace: string): readonly MockRow[] {
    return this.keptIn(namespace).filter(({ supersededBy }) =>
      supersededBy === undefined
    );
  }

  /** Returns the namespaces that have memories in the index. */
  namespaces(): readonly MockNamespace[] {
    return Array.from(this.#namespaces, ([name, changed]) => ({
      name,
      memoryCount: this.found(name).length,
      sizeBytes: this.measureSize(name),
      ...changed,
    })).filter(({ name }) => this.keptIn(name).length > 0);
  }

  /** Returns the bytes of a namespace's blobs. */
  measureSize(namespace: string): number {
    return this.keptIn(namespace)
      .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /**
   * Accepts texts, all or none, and returns the ids of their jobs. For an
   * idempotency key that was used before, these are the ids of the earlier
   * write, and its failed jobs are started again.
   *
   * @throws {Refusal} When the key was used for other content (409), or a
   * memory to replace does not exist (404).
   */
  accept(
    texts: readonly NewText[],
    { status, key }: AcceptOptions,
  ): readonly string[] {
    const fingerprint = computeFingerprint(texts);
    const claim = key === undefined ? undefined : this.#findClaim(key);
    if (claim !== undefined) {
      if (claim.fingerprint !== fingerprint) {
        throw new Refusal(
          409,
          "Cannot remember: the idempotency key was used with another request",
        );
      }
      this.#beginAgain(claim.ids);
      return claim.ids;
    }
    for (const { supersedes } of texts) {
      if (supersedes === undefined || this.kept(supersedes)) continue;
      throw new Refusal(
        404,
        `Cannot supersede memory ${quote(supersedes)}: there is none such`,
      );
    }
    const ids = texts.map((text) => {
      const memory = this.#newMemory(text);
      this.#setJob(memory.id, { memory, status });
      if (!this.isHolding) this.#end(memory.id, "done");
      return memory.id;
    });
    if (key !== undefined) {
      const madeAtMs = this.#clock.nowMs();
      this.#keys.set(key, { fingerprint, ids, madeAtMs });
    }
    return ids;
  }

  /**
   * Stores a memory that the application encrypted. The same bytes have the
   * same blob.
   */
  storeSealed({ data, vector, namespace }: SealedData): MockMemory {
    const made = this.#newMemory({
      text: "",
      namespace,
      importance: undefined,
      metadata: undefined,
      supersedes: undefined,
    });
    const same = this.rows.find((row) => row.data === data);
    const memory = {
      ...made,
      blobId: same?.memory.blobId ?? made.blobId,
      text: undefined,
      importance: undefined,
    };
    this.#rows.set(memory.id, {
      memory,
      vector: toUnitVector(vector),
      sizeBytes: Math.floor(data.replaceAll("=", "").length * 3 / 4),
      data,
      ...this.#nextChange(namespace),
      supersededBy: undefined,
      state: "kept",
    });
    return memory;
  }

  /**
   * Returns the memory with an id, also when it was deleted or is not stored
   * yet.
   */
  findMemory(id: string): MockMemory | undefined {
    return (this.#rows.get(id) ?? this.#jobs.get(id))?.memory;
  }

  /**
   * Ends a pending job.
   *
   * @returns whether the job was pending
   */
  endJob(id: string, end: JobEnd): boolean {
    const job = this.#jobs.get(id);
    if (job === undefined || hasEnded(job)) return false;
    this.#end(id, end);
    return true;
  }

  /** Ends all pending jobs. */
  endJobs(end: JobEnd): void {
    for (const id of [...this.#jobs.keys()]) this.endJob(id, end);
  }

  /**
   * Deletes a memory, or the job that would store it.
   *
   * @returns the memory's blob id, empty where there was no blob yet; undefined
   * when there is no such memory
   */
  remove(id: string): string | undefined {
    const job = this.#jobs.get(id);
    const row = this.#rows.get(id);
    const isThere = row === undefined
      ? job !== undefined && !job.isDeleted
      : row.state !== "deleted";
    if (!isThere) return undefined;
    if (job !== undefined) {
      const { memory } = job;
      this.#setJob(id, {
        ...{ memory, status: "failed", error: DELETED, isDeleted: true },
      });
    }
    if (row === undefined) return "";
    const { namespace, blobId } = row.memory;
    const isListed = row.state === "kept";
    this.#rows.set(id, {
      ...row,
      // Listings have already reported the end of a memory that was forgotten
      // before.
      ...isListed ? this.#nextChange(namespace) : {},
      state: "deleted",
    });
    return blobId;
  }

  /**
   * Removes a namespace's memories from the index.
   *
   * @returns how many memories recall could find
   */
  forget(namespace: string): number {
    const count = this.found(namespace).length;
    for (const row of this.keptIn(namespace)) {
      this.#change(row, { state: "forgotten" });
    }
    return count;
  }

  /**
   * Puts memories back into the index. Listings report all of them first, and
   * then those that were replaced once more.
   */
  restore(rows: readonly MockRow[]): void {
    for (const row of rows) this.#change(row, { state: "kept" });
    const superseded = new Map(
      rows.filter(({ supersededBy }) => supersededBy !== undefined)
        .map((row) => [row.memory.id, row]),
    );
    for (const { memory: { id, supersedes = "" } } of rows) {
      for (const earlier of [supersedes, id]) {
        const row = superseded.get(earlier);
        if (row !== undefined) this.#change(row, { state: "kept" });
        superseded.delete(earlier);
      }
    }
  }

  /**
   * Calls `listener` whenever a job changes; returns a function that stops
   * this.
   */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #newMemory({ metadata = {}, ...text }: NewText): MockMemory {
    const number = ++this.#lastId;
    return {
      ...text,
      id: `memory-${number}`,
      blobId: `blob-${number}`,
      createdAtMs: this.#clock.nowMs(),
      importance: text.importance ?? DEFAULT_IMPORTANCE,
      metadata,
    };
  }

  #findClaim(key: string): KeyClaim | undefined {
    const claim = this.#keys.get(key);
    const isKnown = claim !== undefined &&
      this.#clock.nowMs() - claim.madeAtMs < KEY_LIFE_MS;
    return isKnown ? claim : undefined;
  }

  #beginAgain(ids: readonly string[]): void {
    for (const id of ids) {
      const job = this.#jobs.get(id);
      if (job?.status !== "failed" || job.isDeleted) continue;
      this.#setJob(id, { memory: job.memory, status: "pending" });
      if (!this.isHolding) this.#end(id, "done");
    }
  }

  #end(id: string, end: JobEnd): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    const { memory } = job;
    if (end === "failed") {
      this.#setJob(id, { memory, status: end, error: FAILED });
      return;
    }
    const { text = "", namespace, supersedes } = memory;
    this.#rows.set(id, {
      memory,
      vector: computeVector(text),
      sizeBytes: countBytes(text) + ENVELOPE_BYTES,
      data: undefined,
      ...this.#nextChange(namespace),
      supersededBy: undefined,
      state: "kept",
    });
    const earlier = supersedes === undefined
      ? undefined
      : this.#rows.get(supersedes);
    if (earlier?.state === "kept") this.#change(earlier, { supersededBy: id });
    this.#setJob(id, { memory, status: end });
  }

  #setJob(
    id: string,
    { error, isDeleted = false, status, memory }:
      & Pick<MockJob, "memory" | "status">
      & { readonly error?: string; readonly isDeleted?: boolean },
  ): void {
    this.#jobs.set(id, { memory, status, error, isDeleted });
    for (const listener of [...this.#listeners]) listener();
  }

  #change(
    row: MockRow,
    changes: Partial<Pick<MockRow, "state" | "supersededBy">>,
  ): void {
    const { id, namespace } = row.memory;
    const changed = this.#nextChange(namespace);
    this.#rows.set(id, { ...row, ...changes, ...changed });
  }

  #nextChange(namespace: string): NamespaceChange {
    const changed = {
      change: ++this.#lastChange,
      changedAtMs: this.#clock.nowMs(),
    };
    this.#namespaces.set(namespace, changed);
    return changed;
  }
}

/** Tells whether a job no longer changes by itself. */
export function hasEnded({ status }: MockJob): boolean {
  return status === "done" || status === "failed";
}

/** Returns a text that is equal for two writes of the same content. */
function computeFingerprint(texts: readonly NewText[]): string {
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
