/**
 * The last steps of jobs whose memories have their rows. The memory enters the
 * index, where recall finds it, and the catalogue, from which a lost index is
 * rebuilt.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type { BlobCatalog } from "../blobs/blob_store.ts";
import type { Embedder } from "../embed/embedder.ts";
import { type IndexedMemory, vectorFits } from "../recall/memory_index.ts";
import { addStored, type VectorIndex } from "../recall/vector_index.ts";
import type { JobRow, MemoryRow, NewMemory } from "../store/rows.ts";
import type { JobName, RelayerStore } from "../store/store.ts";
import type { RelayerVault } from "../vault/vault.ts";

/** Parts that all steps of jobs need. */
export interface JobParts {
  /** Keeps jobs and rows. */
  readonly store: RelayerStore;
  /** Opens payloads of jobs, seals and opens vectors. */
  readonly vault: RelayerVault;
  /** The catalogue of blobs. */
  readonly catalog: Pick<BlobCatalog, "add" | "remove">;
  /** Makes vectors. */
  readonly embedder: Embedder;
  /** The index in which recall finds memories. */
  readonly index: Pick<VectorIndex, "add" | "remove">;
  /** Called with each job that recall finds now, or that has ended. */
  readonly onSettled: (job: JobName) => void;
  /** Logs what goes wrong. */
  readonly logger: Logger;
}

/** Finishes jobs whose memories have their rows. */
export class StoredJobs {
  readonly #options: JobParts;

  /** Makes the last steps over the relayer's parts. */
  constructor(options: JobParts) {
    this.#options = options;
  }

  /**
   * Adds a memory to the index, in place of the one it supersedes. When the
   * index fails, the memory stays stored, and an error is logged.
   */
  index(
    memory: NewMemory,
    { vector, metadata, words }: Pick<
      IndexedMemory,
      "vector" | "metadata" | "words"
    >,
  ): void {
    const { index } = this.#options;
    const { owner, supersedes } = memory;
    if (supersedes !== undefined) index.remove(owner, supersedes);
    addStored({ ...memory, metadata, vector, words }, this.#options);
  }

  /**
   * Adds the blob to the catalogue, and marks the job as done.
   *
   * @throws what store and catalogue throw; a retry does no harm
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
      // Deleting a memory removes its row and its job in one commit. When only
      // the row is gone, its namespace was forgotten, and restoring it needs
      // the catalogue entry.
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
   * Finishes a job that an earlier attempt has stored: adds the memory to index
   * and catalogue, however far that attempt got.
   *
   * @throws what store, vault and catalogue throw; a retry does no harm
   */
  async again(job: JobRow): Promise<void> {
    const { store, onSettled } = this.#options;
    const [memory] = await store.memories(job.owner, [job.id]);
    if (memory !== undefined) await this.#findAgain(memory);
    onSettled(job);
    await this.note(job, memory?.sizeBytes ?? job.payload?.length ?? 0);
  }

  /**
   * Adds the memory to the index, in case its commit seemed to fail but reached
   * the disk.
   */
  async #findAgain({ owner, id, sealedIndex }: MemoryRow): Promise<void> {
    const { vault, store, embedder } = this.#options;
    const opened = await vault.openIndex(owner, sealedIndex);
    if (opened.kind === "failed") return;
    const [memory] = await store.memories(owner, [id]);
    if (memory === undefined || memory.supersededBy !== undefined) return;
    const { vector, metadata, words } = opened.value;
    // Words find a memory whose vector is of another embedder, or not made yet.
    const fits = vectorFits(opened.value, embedder);
    if (!fits && words === undefined) return;
    this.index(memory, { vector: fits ? vector : undefined, metadata, words });
  }
}

/** Whether a job has stored its memory, which has the job's blob then. */
export function hasStored({ status }: Pick<JobRow, "status">): boolean {
  return status === "uploaded" || status === "done";
}

/**
 * Whether a job was deleted: only deleting removes the payload of a job that is
 * not done.
 */
export function isDeleted(job: JobRow | undefined): boolean {
  return job === undefined ||
    (job.status === "failed" && job.payload === undefined);
}
