/**
 * The vectors of one namespace of one owner.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import type { Metadata } from "../vault/vault.ts";
import { DenseRows } from "./dense_rows.ts";
import {
  byDistance,
  type IndexedMemory,
  type IndexHit,
  toHit,
} from "./memory_index.ts";
import type { RowArena } from "./row_arena.ts";
import { type SegmentColumns, SparseRows } from "./sparse_rows.ts";
import {
  Candidates,
  LargestBounds,
  type PackedVector,
  type RowOwner,
  type RowQuery,
  type VectorRows,
} from "./vector_rows.ts";

/** A memory in a partition. */
interface PartitionEntry
  extends Omit<IndexedMemory, "vector" | "words">, RowOwner {
  /** The rows that keep its vector. */
  readonly rows: VectorRows<PartitionEntry>;
}

/** A search of a partition. */
interface PartitionSearch {
  /** Most hits. */
  readonly limit: number;
  /**
   * Which entries count.
   *
   * @default all
   */
  readonly accepts?: ((entry: PartitionEntry) => boolean) | undefined;
  /**
   * Only entries of these ids.
   *
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
}

/**
 * A segment of a partition as a snapshot has it: columns with an item for each
 * row.
 */
export interface PartitionColumns {
  /** The ids of memories; empty where a row was removed. */
  readonly ids: readonly string[];
  /** The blobs with the texts. */
  readonly blobIds: readonly string[];
  /** Bytes of the blobs. */
  readonly sizes: Float64Array;
  /** When the memories were written, in milliseconds since the epoch. */
  readonly times: Float64Array;
  /** The importance of the memories; NaN where it is not known. */
  readonly importances: Float64Array;
  /** The metadata of the memories as JSON; empty where there is no metadata. */
  readonly metadata: readonly string[];
  /** The vectors of the memories. */
  readonly vectors: SegmentColumns;
}

/** Exact distances that one step computes. */
const EXACT_PER_STEP = 256;
/**
 * Bytes that an entry takes beside its numbers and texts. They were measured as
 * what 100,000 entries add to the process, with all that the runtime keeps for
 * them.
 */
const ENTRY_BYTES = 1_600;
/** What a member of an object takes beside its texts. */
const MEMBER_BYTES = 48;
const NO_METADATA: Metadata = Object.freeze({});

/** The memories of a namespace that have vectors. */
export class IndexPartition {
  readonly #entries = new Map<string, PartitionEntry>();
  readonly #dense: DenseRows<PartitionEntry>;
  readonly #sparse: SparseRows<PartitionEntry>;
  #entryBytes = 0;

  /** A partition that keeps its coarse rows in `arena`. */
  constructor(arena: RowArena) {
    this.#dense = new DenseRows(arena);
    this.#sparse = new SparseRows(arena.width);
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** About how many bytes the entries take. */
  get bytes(): number {
    return this.#entryBytes + this.#dense.bytes + this.#sparse.bytes;
  }

  /** Whether there is an entry of an id. */
  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** The entry of an id; undefined when there is none. */
  entry(id: string): PartitionEntry | undefined {
    return this.#entries.get(id);
  }

  /**
   * The cosines of at most `count` entries, a sample of rows that are far
   * apart, the greatest first.
   */
  sampledCosines(query: RowQuery, count: number): Float64Array {
    const { size } = this.#sparse;
    const ofSparse = Math.round(count * size / Math.max(1, this.size));
    const sampled = [
      ...this.#sparse.sample(ofSparse),
      ...this.#dense.sample(count - ofSparse),
    ];
    return Float64Array.from(
      sampled,
      (entry) => entry.rows.cosine(entry, query),
    ).sort().reverse();
  }

  /** The ids of all entries. */
  ids(): Iterable<string> {
    return this.#entries.keys();
  }

  /**
   * Adds a memory whose id is not there yet.
   *
   * @throws {RangeError} when the arena is full
   */
  add(
    memory: Omit<IndexedMemory, "vector" | "words">,
    packed: PackedVector,
  ): void {
    const { id, owner, namespace, blobId, sizeBytes } = memory;
    const { createdAtMs, importance, metadata } = memory;
    const rows = packed.columns === undefined ? this.#dense : this.#sparse;
    const entry: PartitionEntry = {
      ...{ id, owner, namespace, blobId, sizeBytes },
      ...{ createdAtMs, importance, rows, row: 0 },
      metadata: isEmpty(metadata) ? NO_METADATA : metadata,
    };
    rows.add(entry, packed);
    this.#entries.set(id, entry);
    this.#entryBytes += estimateBytes(entry);
  }

  /** Whether all vectors have numbers in few columns. */
  get isSparse(): boolean {
    return this.#dense.size === 0;
  }

  /**
   * The columns of all sparse segments, in their order, as views of the
   * partition's memory.
   */
  *columns(): Generator<PartitionColumns> {
    for (const { entries, columns: vectors } of this.#sparse.saved()) {
      yield {
        ids: entries.map((entry) => entry?.id ?? ""),
        blobIds: entries.map((entry) => entry?.blobId ?? ""),
        sizes: Float64Array.from(entries, (entry) => entry?.sizeBytes ?? 0),
        times: Float64Array.from(entries, (entry) => entry?.createdAtMs ?? 0),
        importances: Float64Array.from(
          entries,
          (entry) => entry?.importance ?? NaN,
        ),
        metadata: entries.map((entry) =>
          entry === undefined || entry.metadata === NO_METADATA
            ? ""
            : JSON.stringify(entry.metadata)
        ),
        vectors,
      };
    }
  }

  /**
   * Takes over the next segment of a snapshot; to be called before anything is
   * added.
   */
  adopt(
    columns: PartitionColumns,
    { owner, namespace }: Pick<IndexedMemory, "owner" | "namespace">,
  ): void {
    const { ids, blobIds, metadata, sizes, times, importances } = columns;
    const entries = ids.map((id, local): PartitionEntry | undefined => {
      if (id === "") return undefined;
      const importance = importances[local] ?? NaN;
      const said = metadata[local] ?? "";
      const entry: PartitionEntry = {
        id,
        owner,
        namespace,
        blobId: blobIds[local] ?? "",
        sizeBytes: sizes[local] ?? 0,
        createdAtMs: times[local] ?? 0,
        importance: Number.isNaN(importance) ? null : importance,
        rows: this.#sparse,
        row: 0,
        metadata: said === "" ? NO_METADATA : JSON.parse(said),
      };
      this.#entries.set(id, entry);
      this.#entryBytes += estimateBytes(entry);
      return entry;
    });
    this.#sparse.adopt({ entries, columns: columns.vectors });
  }

  /** Removes a memory, if it exists. */
  remove(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#entryBytes -= estimateBytes(entry);
    entry.rows.remove(entry);
  }

  /**
   * The steps that remove all memories; nothing else may change the partition
   * meanwhile.
   */
  *clearSteps(): Steps<void> {
    yield* this.#dense.clearSteps();
    yield* this.#sparse.clearSteps();
    this.#entries.clear();
    this.#entryBytes = 0;
  }

  /**
   * The steps to the closest entries that `accepts` lets through, the closest
   * first, ties by id. Exact.
   */
  *searchSteps(
    query: RowQuery,
    { limit, accepts, ids }: PartitionSearch,
  ): Steps<readonly IndexHit[]> {
    if (ids !== undefined) {
      const entries = [...new Set(ids)].flatMap((id) => {
        const entry = this.#entries.get(id);
        return entry === undefined || accepts?.(entry) === false ? [] : [entry];
      });
      return closest(entries.map((entry) => comparedHit(entry, query)), limit);
    }
    const candidates = new Candidates<PartitionEntry>(limit);
    yield* this.#sparse.collectSteps({ query, accepts, candidates });
    yield* this.#dense.collectSteps({ query, accepts, candidates });
    return yield* this.#findClosest(candidates, { query, limit });
  }

  /**
   * Compares candidates exactly, the most promising first, and gives the
   * closest.
   */
  *#findClosest(
    candidates: Candidates<PartitionEntry>,
    { query, limit }: { readonly query: RowQuery; readonly limit: number },
  ): Steps<readonly IndexHit[]> {
    const bars = new LargestBounds<PartitionEntry>(limit);
    const hits = new Map<string, IndexHit>();
    for (const [at, candidate] of candidates.sorted().entries()) {
      const { entry, least, most } = candidate;
      if (most < bars.bar) break;
      if (at % EXACT_PER_STEP === EXACT_PER_STEP - 1) yield;
      // Some were removed between two steps, or were looked at twice.
      if (this.entry(entry.id) !== entry || hits.has(entry.id)) continue;
      const hit = least === most
        ? toHit(entry, 1 - most)
        : comparedHit(entry, query);
      hits.set(entry.id, hit);
      bars.offer(entry, 1 - hit.distance);
    }
    return closest([...hits.values()], limit);
  }
}

function estimateBytes({ id, blobId, metadata }: PartitionEntry): number {
  let bytes = ENTRY_BYTES + id.length + blobId.length;
  for (const [name, value] of Object.entries(metadata)) {
    bytes += MEMBER_BYTES + name.length +
      (typeof value === "string" ? value.length : 0);
  }
  return bytes;
}

function isEmpty(metadata: Metadata): boolean {
  for (const _ in metadata) return false;
  return true;
}

function comparedHit(entry: PartitionEntry, query: RowQuery): IndexHit {
  return toHit(entry, 1 - entry.rows.cosine(entry, query));
}

function closest(
  hits: readonly IndexHit[],
  limit: number,
): readonly IndexHit[] {
  return hits.toSorted(byDistance).slice(0, limit);
}
