/**
 * The index of one namespace of one owner: the vectors of its memories, and the
 * words of those whose text is known.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
import { IndexPartition, type PartitionColumns } from "./index_partition.ts";
import {
  fused,
  type FusedQuery,
  type IndexedMemory,
  type IndexHit,
  toHit,
} from "./memory_index.ts";
import { type WordColumns, WordRanking } from "./ranking/word_ranking.ts";
import type { RowArena } from "./row_arena.ts";
import {
  createRowQuery,
  type PackedVector,
  type RowQuery,
} from "./vector_rows.ts";

/** A search of a namespace. */
interface NamespaceSearch {
  /** Most hits, at least 1. */
  readonly limit: number;
  /**
   * Which entries count.
   *
   * @default all
   */
  readonly accepts?:
    | ((memory: Pick<IndexedMemory, "metadata">) => boolean)
    | undefined;
  /**
   * Only entries of these ids.
   *
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
  /**
   * Words and vectors rank together.
   *
   * @default the vectors alone
   */
  readonly fused?: FusedQuery | undefined;
}

/** The index of a namespace in columns, as a snapshot has it. */
export interface NamespaceColumns {
  /** Vectors and what is known of their memories, segment by segment. */
  readonly segments: readonly PartitionColumns[];
  /** The words of the memories. */
  readonly words: WordColumns;
}

/**
 * Words are asked for at least this many candidates, and vectors too, before
 * all are ranked.
 */
const MIN_CANDIDATES = 50;
/** Memories that are sampled to tell how close unrelated ones usually are. */
const SAMPLED = 64;
/** A sample of this size gives half of the usual cosine, a larger one more. */
const FEW_SAMPLED = 4;

/**
 * Cosines up to this many spreads above the median are chance: of 160, one is
 * that far.
 */
const USUAL_SPREADS = 2.5;
/** The share of cosines that are above the median minus one spread. */
const LOWER_SHARE = 0.84;

/** Bytes that a memory without vector takes beside its words and metadata. */
const UNPLACED_BYTES = 1_024;

/** The distance where there is nothing to compare. */
const UNCOMPARED = 1;

/** A memory that words alone find. */
type Unplaced = Omit<IndexedMemory, "vector" | "words">;

/** The memories of a namespace; each has an id of its own. */
export class NamespaceIndex {
  readonly #vectors: IndexPartition;
  readonly #words = new WordRanking();
  /** Memories whose vectors another embedder made. */
  readonly #unplaced = new Map<string, Unplaced>();
  #unplacedBytes = 0;

  /** A namespace that keeps its vectors in `arena`. */
  constructor(arena: RowArena) {
    this.#vectors = new IndexPartition(arena);
  }

  /** How many memories there are. */
  get size(): number {
    return this.#vectors.size + this.#unplaced.size;
  }

  /** About how many bytes they take. */
  get bytes(): number {
    return this.#vectors.bytes + this.#words.bytes + this.#unplacedBytes;
  }

  /** Whether there is a memory of an id. */
  has(id: string): boolean {
    return this.#vectors.has(id) || this.#unplaced.has(id);
  }

  /** Whether there is a memory of an id with a vector in the index. */
  hasVector(id: string): boolean {
    return this.#vectors.has(id);
  }

  /** The ids of all memories. */
  *ids(): Iterable<string> {
    yield* this.#vectors.ids();
    yield* this.#unplaced.keys();
  }

  /**
   * Adds a memory whose id is not there yet; without a vector only words find
   * it.
   *
   * @throws {RangeError} when there is no more room
   */
  add(
    memory: Omit<IndexedMemory, "vector">,
    packed: PackedVector | undefined,
  ): void {
    const { id, createdAtMs, words } = memory;
    if (words !== undefined) this.#words.put(id, { createdAtMs, words });
    if (packed === undefined) {
      // Copied one by one: callers give rows, which have kilobytes more.
      const { owner, namespace, blobId, sizeBytes } = memory;
      const { importance, metadata } = memory;
      const unplaced: Unplaced = {
        ...{ id, owner, namespace, blobId, sizeBytes },
        ...{ createdAtMs, importance, metadata },
      };
      this.#unplaced.set(id, unplaced);
      this.#unplacedBytes += estimateBytes(unplaced);
      return;
    }
    try {
      this.#vectors.add(memory, packed);
    } catch (error) {
      this.#words.remove(id);
      throw error;
    }
  }

  /** Removes a memory, if it exists. */
  remove(id: string): void {
    this.#words.remove(id);
    this.#vectors.remove(id);
    const unplaced = this.#unplaced.get(id);
    if (unplaced === undefined) return;
    this.#unplaced.delete(id);
    this.#unplacedBytes -= estimateBytes(unplaced);
  }

  /**
   * The steps that give this index in columns, as views of its memory. They are
   * undefined where a vector has numbers in most columns, or a memory has no
   * vector: such an index cannot be written down.
   */
  *columnSteps(): Steps<NamespaceColumns | undefined> {
    if (!this.#vectors.isSparse || this.#unplaced.size > 0) return undefined;
    const segments: PartitionColumns[] = [];
    for (const segment of this.#vectors.columns()) {
      segments.push(segment);
      yield;
    }
    return { segments, words: yield* this.#words.columnSteps() };
  }

  /**
   * The steps that fill this index, which must be empty, with the columns of
   * another one. The columns belong to this index from then on.
   */
  *adoptSteps(
    { segments, words }: NamespaceColumns,
    place: Pick<IndexedMemory, "owner" | "namespace">,
  ): Steps<void> {
    for (const segment of segments) {
      this.#vectors.adopt(segment, place);
      yield;
    }
    yield* this.#words.adoptSteps(words);
  }

  /**
   * The steps that remove all memories; nothing else may change the namespace
   * meanwhile.
   */
  *clearSteps(): Steps<void> {
    this.#words.clear();
    this.#unplaced.clear();
    this.#unplacedBytes = 0;
    yield* this.#vectors.clearSteps();
  }

  /**
   * The steps to the best memories, the best first: the closest ones, as
   * {@linkcode IndexPartition.searchSteps} finds them, or those that words and
   * vectors rank together. Without a vector only words find any.
   */
  *searchSteps(
    vector: Float32Array | undefined,
    search: NamespaceSearch,
  ): Steps<readonly IndexHit[]> {
    const { fused: question } = search;
    const query = vector && createRowQuery(vector);
    if (question !== undefined) {
      return yield* this.#fusedSteps(query, { ...search, question });
    }
    return query === undefined
      ? []
      : yield* this.#vectors.searchSteps(query, search);
  }

  /**
   * Ranks memories by words and vectors together; the candidates are those that
   * words find and those whose vectors are close.
   */
  *#fusedSteps(
    query: RowQuery | undefined,
    { limit, accepts, ids, question }: NamespaceSearch & {
      readonly question: FusedQuery;
    },
  ): Steps<readonly IndexHit[]> {
    const most = Math.max(MIN_CANDIDATES, 2 * limit);
    const close = query === undefined
      ? []
      : yield* this.#vectors.searchSteps(query, {
        ...{ limit: most, accepts, ids },
      });
    const hits = new Map(close.map((hit) => [hit.id, hit]));
    const asked = ids === undefined ? undefined : new Set(ids);
    const ranked = this.#words.search(question.text, {
      limit: most,
      accepts: asked === undefined && accepts === undefined
        ? undefined
        : (id) => asked?.has(id) !== false && this.#accepts(id, accepts),
      also: [...hits.keys()],
    });
    yield;
    const others = ranked.memories.map(({ id }) => id)
      .filter((id) => !hits.has(id));
    const more = query === undefined
      ? []
      : yield* this.#vectors.searchSteps(query, {
        ...{ limit: others.length, ids: others },
      });
    for (const hit of more) hits.set(hit.id, hit);
    const worded = new Set(ranked.memories.map(({ id }) => id));
    const wordless = close.filter(({ id }) => !worded.has(id));
    const memories = [
      ...ranked.memories,
      ...wordless.map(({ id }) => ({ id, score: 0, parts: {} })),
    ];
    const getSimilarity = (id: string): number | undefined => {
      const hit = hits.get(id);
      return hit && 1 - hit.distance;
    };
    const { ideal, newest } = ranked;
    const { vectorWeight: weight } = question;
    const usual = query === undefined
      ? 0
      : usualSimilarity(this.#vectors.sampledCosines(query, SAMPLED));
    const best = fused({ memories, ideal, newest }, {
      getSimilarity,
      usual,
      weight,
    })
      .slice(0, limit);
    const findMatched = question.explain
      ? this.#words.matcher(question.text)
      : undefined;
    const found: IndexHit[] = [];
    for (const { id, relevance, parts } of best) {
      const hit = hits.get(id) ?? this.#uncomparedHit(id);
      // Gone since: it was removed between two steps.
      if (hit === undefined) continue;
      const explanation = findMatched && { parts, matched: findMatched(id) };
      found.push({ ...hit, fused: { relevance, explanation } });
      if (findMatched !== undefined) yield;
    }
    return found;
  }

  /** The hit of a memory that has no vector, or for a query that has none. */
  #uncomparedHit(id: string): IndexHit | undefined {
    const memory = this.#entry(id);
    return memory && toHit(memory, UNCOMPARED);
  }

  #entry(id: string): Unplaced | undefined {
    return this.#vectors.entry(id) ?? this.#unplaced.get(id);
  }

  #accepts(id: string, accepts: NamespaceSearch["accepts"]): boolean {
    const entry = this.#entry(id);
    return entry !== undefined && accepts?.(entry) !== false;
  }
}

function estimateBytes({ metadata }: Unplaced): number {
  return UNPLACED_BYTES + 2 * JSON.stringify(metadata).length;
}

/**
 * The highest cosine that unrelated memories usually have, told from the
 * cosines of a sample, the greatest first. It is the median plus some spreads,
 * and less for a small sample: one memory alone would have nothing above its
 * own cosine. The spread is that of the lower half, where no answers are.
 */
function usualSimilarity(cosines: Float64Array): number {
  const { length } = cosines;
  const cosineAt = (share: number): number =>
    cosines[Math.floor(length * share)] ?? 0;
  const median = cosineAt(0.5);
  const spread = median - cosineAt(LOWER_SHARE);
  return (median + USUAL_SPREADS * spread) * length / (length + FEW_SAMPLED);
}
