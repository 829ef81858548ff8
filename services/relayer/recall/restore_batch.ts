/**
 * Restores some memories in one commit.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import {
  finishInSlices,
  pooled,
  type WorkOptions,
} from "../concurrency/bounded_work.ts";
import type { Embedder } from "../embed/embedder.ts";
import { vectorTextSteps } from "../embed/words.ts";
import { type MemoryWords, memoryWordsSteps } from "./ranking/memory_words.ts";
import type { MemoryRow, NewMemory } from "../store/rows.ts";
import type { Change } from "../store/changes.ts";
import type { RelayerStore } from "../store/store.ts";
import { isOwnerKeyFailure, type OwnerKeyFailure } from "../vault/vault.ts";
import {
  type LostMemory,
  type MissingBlob,
  type ReadLost,
  readLost,
  type RestoreParts,
} from "./lost_memories.ts";
import type { MissingLately } from "./missing_lately.ts";
import { addStored } from "./vector_index.ts";

const PAGE = 500;

/**
 * Which memories of an owner are superseded, and by which. A blob says which
 * memory its own supersedes, but not which later one supersedes its own. The
 * catalogue, the later memory and, where it is left, the row of the earlier
 * memory tell that.
 */
export class SupersededMemories {
  /**
   * The memory that supersedes an earlier one, by the id of the earlier one, as
   * rows and the catalogue say.
   */
  readonly #supersededBy = new Map<string, string>();
  /**
   * The memory that supersedes an earlier one, by the id of the earlier one, as
   * the later memory says.
   */
  readonly #supersedes = new Map<string, string>();

  /**
   * Reads what the rows of an owner say.
   *
   * @throws the signal's reason when it ends early
   */
  static async read(
    owner: string,
    options: {
      readonly store: Pick<RelayerStore, "scanMemories">;
      readonly signal: AbortSignal;
      readonly pausing: Pausing;
    },
  ): Promise<SupersededMemories> {
    const { store, signal, pausing } = options;
    const superseded = new SupersededMemories();
    let afterId: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      const rows = await store.scanMemories({
        owner,
        limit: PAGE,
        afterId,
      });
      for (const row of rows) {
        superseded.addLater(row);
        superseded.addEarlier(row);
      }
      afterId = rows.at(-1)?.id;
      if (rows.length < PAGE || afterId === undefined) return superseded;
      await pausing.pause();
    }
  }

  /** Notes which memory a later one supersedes. */
  addLater({ id, supersedes }: Pick<NewMemory, "id" | "supersedes">): void {
    if (supersedes !== undefined) this.#supersedes.set(supersedes, id);
  }

  /**
   * Notes which memory superseded an earlier one, though the later one may be
   * gone.
   */
  addEarlier(
    { id, supersededBy }: Pick<MemoryRow, "id" | "supersededBy">,
  ): void {
    if (supersededBy !== undefined) this.#supersededBy.set(id, supersededBy);
  }

  /**
   * The changes, to be committed after the memory's row, that mark memories as
   * superseded.
   */
  changesFor(memory: NewMemory): readonly Change[] {
    const { owner, id, supersedes } = memory;
    const changes: Change[] = [];
    for (const earlier of supersedes === undefined ? [id] : [supersedes, id]) {
      const supersededBy = this.#supersededBy.get(earlier) ??
        this.#supersedes.get(earlier);
      if (supersededBy === undefined) continue;
      changes.push({ kind: "supersede", owner, id: earlier, supersededBy });
    }
    return changes;
  }
}

/** Options of {@linkcode restoreBatch}. */
interface RestoreBatchOptions extends RestoreParts, WorkOptions {
  /** Hears of blobs that the blob store does not have. */
  readonly missingLately: Pick<MissingLately, "note">;
  /** Which memories are superseded, and by which. */
  readonly superseded: SupersededMemories;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

/** The outcome of a batch. */
type RestoreBatchOutcome =
  | {
    readonly kind: "ok";
    /**
     * Ids of memories that are in the index again; memories that a full index
     * has no room for have their rows only.
     */
    readonly restoredIds: readonly string[];
    /** The number of blobs that are unavailable or can never be decrypted. */
    readonly failed: number;
    /** Bytes of blobs that were read. */
    readonly readBytes: number;
  }
  /** The key servers give no key of the owner. */
  | { readonly kind: "locked"; readonly why: OwnerKeyFailure }
  | { readonly kind: "unavailable"; readonly reason: string };

const PARALLEL_BLOBS = 10;

interface Embedded {
  readonly memory: LostMemory;
  readonly vector: Float32Array;
  /** Undefined where only the client can read the text. */
  readonly words: MemoryWords | undefined;
}

/**
 * Reads blobs, makes their vectors, writes their rows and adds them to the
 * index.
 *
 * @throws the signal's reason when it ends early, and what the store throws
 */
export async function restoreBatch(
  blobs: readonly MissingBlob[],
  options: RestoreBatchOptions,
): Promise<RestoreBatchOutcome> {
  const { embedder, signal, logger, pausing = NEVER_PAUSING } = options;
  const got = await pooled(blobs, {
    parallel: PARALLEL_BLOBS,
    signal,
    work: async ({ entry }) => ({
      entry,
      blob: await options.blobs.get(entry.blobId, { signal }),
    }),
  });
  const read: ReadLost[] = [];
  for (const one of got) {
    await pausing.pause();
    signal.throwIfAborted();
    const outcome = await readLost(one, options);
    if (outcome.kind === "later" && isOwnerKeyFailure(outcome.why)) {
      return { kind: "locked", why: outcome.why };
    }
    read.push(outcome);
  }
  tellFailures(read, logger);
  for (const { entry, blob } of got) {
    if (blob.kind !== "missing") continue;
    options.missingLately.note(entry.owner, entry.blobId);
  }
  const lost = read.filter((outcome) => outcome.kind === "lost");
  const embedded = await embedAll(
    read.flatMap((outcome) => outcome.kind === "ok" ? [outcome.memory] : []),
    { embedder, signal, pausing },
  );
  if (embedded.kind === "unavailable") return embedded;
  const rows = await Promise.all(
    embedded.memories.map((memory) => buildRow(memory, options)),
  );
  signal.throwIfAborted();
  const withRow = new Set(
    blobs.filter(({ hasRow }) => hasRow).map(({ entry }) => entry.memoryId),
  );
  for (const { entry } of blobs) {
    const { memoryId: id, supersededBy } = entry;
    if (supersededBy !== undefined) {
      options.superseded.addEarlier({ id, supersededBy });
    }
  }
  await write(rows, { ...options, lost, withRow });
  await removeDeleted(embedded.memories, options);
  const { storedIds, restoredIds } = await addToIndex(
    embedded.memories,
    options,
  );
  return {
    kind: "ok",
    restoredIds,
    failed: lost.length + rows.length - storedIds.length,
    readBytes: got.reduce(
      (sum, { blob }) => sum + (blob.kind === "ok" ? blob.bytes.length : 0),
      0,
    ),
  };
}

function tellFailures(read: readonly ReadLost[], logger: Logger): void {
  const reasons: Record<string, number> = {};
  for (const outcome of read) {
    if (outcome.kind === "ok") continue;
    reasons[outcome.why] = (reasons[outcome.why] ?? 0) + 1;
  }
  if (Object.keys(reasons).length === 0) return;
  logger.warn("Cannot restore some blobs", reasons);
}

/**
 * Memories that came with a vector keep it; those without get one of their
 * text.
 */
async function embedAll(
  lost: readonly LostMemory[],
  options: {
    readonly embedder: Embedder;
    readonly signal: AbortSignal;
    readonly pausing: Pausing;
  },
): Promise<
  | { readonly kind: "ok"; readonly memories: readonly Embedded[] }
  | { readonly kind: "unavailable"; readonly reason: string }
> {
  const texts: string[] = [];
  const words: (MemoryWords | undefined)[] = [];
  for (const { text } of lost) {
    words.push(
      text === undefined
        ? undefined
        : await finishInSlices(memoryWordsSteps(text), options),
    );
    if (text === undefined) continue;
    texts.push(await finishInSlices(vectorTextSteps(text), options));
  }
  const made = texts.length === 0
    ? { kind: "ok" as const, vectors: [] }
    : await options.embedder.embed(texts, options);
  if (made.kind === "unavailable") {
    return { kind: "unavailable", reason: made.reason };
  }
  const queue = [...made.vectors];
  const memories = lost.flatMap((memory, at): readonly Embedded[] => {
    const vector = memory.vector ?? queue.shift();
    return vector === undefined ? [] : [{ memory, vector, words: words[at] }];
  });
  return memories.length === lost.length
    ? { kind: "ok", memories }
    : { kind: "unavailable", reason: "Cannot restore: vectors are missing" };
}

async function buildRow(
  { memory, vector, words }: Embedded,
  options: RestoreParts,
): Promise<NewMemory> {
  const { vault, packageId, embedder: { model } } = options;
  const { entry, bytes, metadata, supersedes, keyId } = memory;
  const { memoryId: id, owner, namespace, blobId } = entry;
  const { createdAtMs, agentId, importance } = memory;
  return {
    ...{ id, owner, namespace, blobId, createdAtMs, agentId, importance },
    sizeBytes: bytes.length,
    packageId,
    sealedIndex: entry.sealedIndex ??
      await vault.sealIndex(owner, { vector, model, metadata, words }),
    keyId,
    supersedes,
  };
}

async function write(
  rows: readonly NewMemory[],
  options: RestoreBatchOptions & {
    readonly lost: readonly Extract<ReadLost, { kind: "lost" }>[];
    /** Ids of memories that have a row, which only lacks a vector. */
    readonly withRow: ReadonlySet<string>;
  },
): Promise<void> {
  const { store, superseded, lost, withRow } = options;
  for (const row of rows) superseded.addLater(row);
  const changes: Change[] = [
    ...lost.filter(({ isNoted }) => isNoted).map(({ entry }) => ({
      kind: "bad_blob" as const,
      owner: entry.owner,
      blobId: entry.blobId,
    })),
    ...rows.map((memory): Change => {
      if (!withRow.has(memory.id)) return { kind: "new_memory", memory };
      const { owner, id, sealedIndex } = memory;
      return { kind: "reindex", owner, id, sealedIndex };
    }),
    ...rows.flatMap((row) => superseded.changesFor(row)),
  ];
  if (changes.length > 0) await store.commit(changes);
}

/**
 * Removes rows of memories that were deleted while they were restored. A
 * deletion destroys the memory's key, and takes a memory that its client sealed
 * from the catalogue.
 */
async function removeDeleted(
  memories: readonly Embedded[],
  { vault, store, catalog, pausing }: RestoreBatchOptions,
): Promise<void> {
  const changes: Extract<Change, { kind: "remove_memory" }>[] = [];
  for (const { memory } of memories) {
    const { owner, memoryId: id, memorySecret } = memory.entry;
    if (memory.text === undefined) {
      // No key of the vault opens it, so the catalogue alone tells.
      const isDeleted = await catalog.findEntry(owner, id) === undefined;
      if (isDeleted) changes.push({ kind: "remove_memory", owner, id });
      continue;
    }
    // A secret that the catalogue had may have come back after its deletion.
    if (
      memorySecret !== undefined && memory.keyId !== undefined &&
      await catalog.findEntry(owner, id) === undefined
    ) await vault.destroy(owner, memory.keyId);
    // Another relayer may have deleted it.
    const opened = await vault.open(owner, memory.bytes, {
      pausing,
      isCertain: true,
    });
    if (opened.kind === "ok" || opened.why !== "key_gone") continue;
    changes.push({ kind: "remove_memory", owner, id });
  }
  if (changes.length > 0) await store.commit(changes);
}

/**
 * Adds restored memories to the index as the store has them now: rows may be
 * deleted or replaced at any moment.
 */
async function addToIndex(
  memories: readonly Embedded[],
  { store, index, logger }: RestoreParts,
): Promise<
  {
    /** Ids of memories that have a row. */
    readonly storedIds: readonly string[];
    /** Ids of those that the index has, or must not have. */
    readonly restoredIds: readonly string[];
  }
> {
  const [first] = memories;
  if (first === undefined) return { storedIds: [], restoredIds: [] };
  const ids = memories.map(({ memory }) => memory.entry.memoryId);
  const rows = await store.memories(first.memory.entry.owner, ids);
  const storedIds: string[] = [];
  const restoredIds: string[] = [];
  for (const [at, { memory, vector, words }] of memories.entries()) {
    const row: MemoryRow | undefined = rows[at];
    if (row === undefined) continue;
    const { id, owner, supersedes, supersededBy } = row;
    storedIds.push(id);
    if (supersedes !== undefined) index.remove(owner, supersedes);
    const isThere = supersededBy !== undefined ||
      addStored({ ...row, metadata: memory.metadata, vector, words }, {
        index,
        logger,
      });
    if (isThere) restoredIds.push(id);
  }
  return { storedIds, restoredIds };
}
