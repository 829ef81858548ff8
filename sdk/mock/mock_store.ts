/**
 * What the mock remembers: jobs, memories, and the numbers of their changes, by which
 * listings have pages.
 *
 * @module
 */

import type { ClientClock } from "../memory/client_clock.ts";
import { quote } from "../memory/server_text.ts";
import { bytesOf, Refusal } from "./mock_fields.ts";
import type {
  JobEnd,
  MockJob,
  MockMemory,
  MockNamespace,
  MockRow,
  NewText,
  SealedData,
} from "./mock_memory.ts";
import { unitOf, vectorOf } from "./mock_vectors.ts";

const DEFAULT_IMPORTANCE = 0.5;
/** What an envelope takes beside the text, about. */
const ENVELOPE_BYTES = 256;
/** How long a key stands for what was written under it. */
const KEY_LIFE_MS = 24 * 60 * 60_000;
const FAILED = "Cannot store memory: the mock was told to fail it";
const DELETED = "Cannot store memory: it was deleted; send its text under " +
  "another idempotency_key to store it again";

/** How texts are accepted. */
interface AcceptOptions {
  /** How the jobs begin. */
  readonly status: "pending" | "running";
  /** Names the write; undefined for none. */
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

/** Remembers, of one owner. */
export class MockStore {
  /** Whether new jobs wait until they are ended. */
  isHolding = false;
  readonly #clock: ClientClock;
  readonly #jobs = new Map<string, MockJob>();
  readonly #rows = new Map<string, MockRow>();
  readonly #keys = new Map<string, KeyClaim>();
  readonly #namespaces = new Map<string, NamespaceChange>();
  readonly #listeners = new Set<() => void>();
  #lastId = 0;
  #lastChange = 0;

  /** A store that remembers nothing yet. */
  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** All that were stored, in the order of their ids. */
  get rows(): readonly MockRow[] {
    return [...this.#rows.values()];
  }

  /** A job. */
  job(id: string): MockJob | undefined {
    return this.#jobs.get(id);
  }

  /** A memory of the index. */
  kept(id: string): MockRow | undefined {
    const row = this.#rows.get(id);
    return row?.state === "kept" ? row : undefined;
  }

  /** Memories of a namespace in the index, superseded ones too. */
  keptIn(namespace: string): readonly MockRow[] {
    return this.rows.filter(({ memory, state }) =>
      state === "kept" && memory.namespace === namespace
    );
  }

  /** Memories of a namespace that recall can find. */
  found(namespace: string): readonly MockRow[] {
    return this.keptIn(namespace).filter(({ supersededBy }) =>
      supersededBy === undefined
    );
  }

  /** Namespaces with memories in the index. */
  namespaces(): readonly MockNamespace[] {
    return Array.from(this.#namespaces, ([name, changed]) => ({
      name,
      memoryCount: this.found(name).length,
      sizeBytes: this.sizeOf(name),
      ...changed,
    })).filter(({ name }) => this.keptIn(name).length > 0);
  }

  /** Bytes of the blobs of a namespace. */
  sizeOf(namespace: string): number {
    return this.keptIn(namespace)
      .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  }

  /**
   * Accepts texts, all or none, and gives the ids of their jobs: those of an earlier
   * write where the key stands for it, of which failed ones are begun again.
   *
   * @throws {Refusal} When the key stands for something else (409), or there is no
   * memory to take the place of (404).
   */
  accept(
    texts: readonly NewText[],
    { status, key }: AcceptOptions,
  ): readonly string[] {
    const fingerprint = fingerprintOf(texts);
    const claim = key === undefined ? undefined : this.#claimOf(key);
    if (claim !== undefined) {
      if (claim.fingerprint !== fingerprint) {
        throw new Refusal(
          409,
          "Cannot remember: the idempotency key stood for something else before",
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

  /** Stores what the application encrypted. The same bytes are the same blob. */
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
      vector: unitOf(vector),
      sizeBytes: Math.floor(data.replaceAll("=", "").length * 3 / 4),
      data,
      ...this.#nextChange(namespace),
      supersededBy: undefined,
      state: "kept",
    });
    return memory;
  }

  /** The memory of an id, also of one that is gone. */
  memoryOf(id: string): MockMemory | undefined {
    return (this.#rows.get(id) ?? this.#jobs.get(id))?.memory;
  }

  /**
   * Ends a job that waits.
   *
   * @returns whether there was one
   */
  endJob(id: string, end: JobEnd): boolean {
    const job = this.#jobs.get(id);
    if (job === undefined || hasEnded(job)) return false;
    this.#end(id, end);
    return true;
  }

  /** Ends all jobs that wait. */
  endJobs(end: JobEnd): void {
    for (const id of [...this.#jobs.keys()]) this.endJob(id, end);
  }

  /**
   * Deletes a memory, or the job that would become one.
   *
   * @returns its blob, empty where there was none yet; undefined when there is no
   * such memory
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
      // Listings told of its end when it was forgotten.
      ...isListed ? this.#nextChange(namespace) : {},
      state: "deleted",
    });
    return blobId;
  }

  /**
   * Takes a namespace from the index.
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
   * Puts memories into the index again. Listings tell of all of them first, and then of
   * those that are superseded once more.
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

  /** Calls `listener` whenever something becomes of a job; returns what ends that. */
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

  #claimOf(key: string): KeyClaim | undefined {
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
      vector: vectorOf(text),
      sizeBytes: bytesOf(text) + ENVELOPE_BYTES,
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
    const hasBlob = status === "done" || this.#rows.has(id);
    this.#jobs.set(id, { memory, status, error, hasBlob, isDeleted });
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

/** Whether nothing more becomes of a job by itself. */
export function hasEnded({ status }: MockJob): boolean {
  return status === "done" || status === "failed";
}

/** What has to be the same for two writes to be the same. */
function fingerprintOf(texts: readonly NewText[]): string {
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
