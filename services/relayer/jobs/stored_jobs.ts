/**
 * The end of jobs whose memories have their rows: recall finds them, and what
 * rebuilds a lost index knows them.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { describeError } from "../../shared/settled.ts";
import type { BlobCatalog } from "../blobs/blob_store.ts";
import type { Embedder } from "../embed/embedder.ts";
import { vectorFits } from "../recall/memory_index.ts";
import type { VectorIndex } from "../recall/vector_index.ts";
import type { JobRow, MemoryRow, NewMemory } from "../store/rows.ts";
import type { RelayerStore } from "../store/store.ts";
import type { IndexEntry, RelayerVault } from "../vault/vault.ts";

/** What all of the work on jobs takes. */
export interface JobParts {
  /** Keeps jobs and rows. */
  readonly store: RelayerStore;
  /** Opens what jobs hold, seals and opens vectors. */
  readonly vault: RelayerVault;
  /** Knows which blobs there are. */
  readonly catalog: Pick<BlobCatalog, "add" | "remove">;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** Finds memories. */
  readonly index: Pick<VectorIndex, "add" | "remove">;
  /** Hears of a job that is found by recall, or has ended. */
  readonly onSettled: (id: string) => void;
  /** Hears of what goes wrong. */
  readonly logger: Logger;
}

/** Brings stored jobs to their end. */
export class StoredJobs {
  readonly #options: JobParts;

  /** Nothing is brought to its end yet. */
  constructor(options: JobParts) {
    this.#options = options;
  }

  /** From now on recall finds it, and not what it took the place of. */
  index(
    memory: NewMemory,
    { vector, metadata, words }: Omit<IndexEntry, "model">,
  ): void {
    const { index, logger } = this.#options;
    const { id, owner, supersedes } = memory;
    if (supersedes !== undefined) index.remove(owner, supersedes);
    try {
      index.add({ ...memory, metadata, vector, words });
    } catch (error) {
      // It is full, say. The memory is stored all the same, and noted below.
      logger.error("Cannot add memory to the index: recall misses it", {
        job: id,
        error: describeError(error),
      });
    }
  }

  /**
   * Notes the blob in the catalogue; then the job is done.
   *
   * @throws what store and catalogue throw; trying again does no harm
   */
  async note(job: JobRow, sizeBytes: number): Promise<void> {
    const { catalog, index, store, vault } = this.#options;
    const { id, owner, namespace, createdAtMs, agentId, blobId, supersedes } =
      job;
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
      supersedes,
      memorySecret: await vault.memorySecret(owner, job.keyId),
    });
    const [memory] = await store.memories(owner, [id]);
    if (memory === undefined) {
      index.remove(owner, id);
      // Deleting takes the row and the job in one commit. The row alone goes when
      // its namespace is forgotten, and then restoring needs the entry.
      const [current] = await store.jobs(owner, [id]);
      if (isDeleted(current)) return await catalog.remove(owner, id);
    }
    await store.commit([{
      kind: "job",
      owner,
      id,
      expectedVersion: job.version,
      patch: { status: "done", payload: null },
    }]);
  }

  /**
   * What an earlier attempt stored is found and noted, however far that came.
   *
   * @throws what store, vault and catalogue throw; trying again does no harm
   */
  async again(job: JobRow): Promise<void> {
    const { store, onSettled } = this.#options;
    const [memory] = await store.memories(job.owner, [job.id]);
    if (memory !== undefined) await this.#findAgain(memory);
    onSettled(job.id);
    await this.note(job, memory?.sizeBytes ?? job.payload?.length ?? 0);
  }

  /** A commit that seemed to fail may have reached the disk. */
  async #findAgain({ owner, id, sealedIndex }: MemoryRow): Promise<void> {
    const { vault, store, embedder } = this.#options;
    const opened = await vault.openIndex(owner, sealedIndex);
    if (opened.kind === "failed") return;
    // With another embedder it was read at the start, and is found by its words.
    if (!vectorFits(opened.value, embedder)) return;
    const [memory] = await store.memories(owner, [id]);
    if (memory === undefined || memory.supersededBy !== undefined) return;
    this.index(memory, opened.value);
  }
}

/**
 * Whether a job was deleted: nothing else takes away what it holds before it is
 * done.
 */
export function isDeleted(job: JobRow | undefined): boolean {
  return job === undefined ||
    (job.status === "failed" && job.payload === undefined);
}
