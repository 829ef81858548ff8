/**
 * Memories, queries and hits of the index in memory; which vectors fit the
 * index; and the order of hits: by distance, or by words and vectors together.
 *
 * @module
 */

import type { MemoryWords } from "./ranking/memory_words.ts";
import { newestFirst } from "./ranking/newest_memory.ts";
import type {
  RankedMemory,
  RankingPart,
  WordRanked,
} from "./ranking/word_ranking.ts";
import type { NewMemory } from "../store/rows.ts";
import {
  CLIENT_MODEL,
  type IndexEntry,
  type Metadata,
  refusedModel,
} from "../vault/vault.ts";

/** A memory as the index knows it. */
export interface IndexedMemory extends
  Pick<
    NewMemory,
    | "id"
    | "owner"
    | "namespace"
    | "blobId"
    | "sizeBytes"
    | "createdAtMs"
    | "importance"
  > {
  /** What the client says of it. */
  readonly metadata: Metadata;
  /**
   * Its vector, of the embedder's width and of length 1. It is undefined where
   * another embedder made it or none has yet: words alone then find the memory
   * until it is renewed.
   */
  readonly vector: Float32Array | undefined;
  /**
   * What ranking knows of its text; absent where only the client can read it.
   */
  readonly words?: MemoryWords | undefined;
  /**
   * The entry that the store has of all that; the index does not keep it. Where
   * it is left out, it is opened when the memory comes by the feed of a shared
   * store.
   */
  readonly sealedIndex?: Uint8Array | undefined;
}

/** A question by which words and vectors together rank memories. */
export interface FusedQuery {
  /** The question. */
  readonly text: string;
  /** Whether hits say what their scores are made of. */
  readonly explain: boolean;
  /** What vectors weigh beside words: 0 leaves them out. */
  readonly vectorWeight: number;
}

/** A query of the index. */
export interface IndexQuery {
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /**
   * The vector that memories have to be close to, of any length but 0.
   * Undefined where the question has no vector, so that words alone rank; then
   * nothing is found without {@linkcode IndexQuery.fused}.
   */
  readonly vector: Float32Array | undefined;
  /** Most hits. */
  readonly limit: number;
  /**
   * Only memories whose metadata has all of these values.
   * @default all
   */
  readonly filter?: Metadata | undefined;
  /**
   * Only these memories.
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
  /**
   * Words and vectors rank together.
   * @default the vectors alone
   */
  readonly fused?: FusedQuery | undefined;
}

/** A memory that was found. */
export interface IndexHit
  extends Omit<IndexedMemory, "vector" | "words" | "metadata" | "sealedIndex"> {
  /**
   * Cosine distance, 0 for the same direction and 2 for the opposite one; 1
   * where there is no vector to compare.
   */
  readonly distance: number;
  /** How it ranks, where words and vectors rank together. */
  readonly fused?: FusedHit | undefined;
}

/** How a memory ranks by words and vectors together. */
interface FusedHit {
  /**
   * How likely the memory answers the question, 0 to 1; .3 is a fair threshold.
   */
  readonly relevance: number;
  /** What the rank is made of, where the query asked for that. */
  readonly explanation?: RankingExplanation | undefined;
}

/** What the rank of a memory is made of. */
export interface RankingExplanation {
  /** The score's parts by name; comparable within one answer only. */
  readonly parts: Readonly<Record<string, number>>;
  /**
   * Words of the question that the memory has; absent where vectors alone rank.
   */
  readonly matched?: readonly string[] | undefined;
}

/** Which vectors can be compared with those of the embedder. */
export interface WantedVectors {
  /** How many numbers a vector must have. */
  readonly width: number;
  /**
   * The model that must have made a vector, unless a client brought it.
   *
   * @default anything
   */
  readonly model?: string | undefined;
}

/** Tells whether a vector is of the wanted width and maker. */
export function vectorFits(
  { vector, model }: Pick<IndexEntry, "vector" | "model">,
  wanted: WantedVectors,
): boolean {
  if (vector.length !== wanted.width) return false;
  return isOfClient({ model }) || wanted.model === undefined ||
    model === wanted.model;
}

/** Tells whether a vector is a client's, which cannot be made again here. */
export function isOfClient({ model }: Pick<IndexEntry, "model">): boolean {
  return model === CLIENT_MODEL;
}

/** What became of a memory's vector. */
export type VectorState = "ready" | "pending" | "refused";

/**
 * Returns what became of an entry's vector: it is there, it comes once the
 * embedder makes it, or the embedder refuses the text.
 */
export function toVectorState(
  entry: Pick<IndexEntry, "vector" | "model">,
  wanted: WantedVectors & { readonly model: string },
): VectorState {
  if (vectorFits(entry, wanted)) return "ready";
  return entry.model === refusedModel(wanted.model) ? "refused" : "pending";
}

/** A memory as a hit, without what ranks it. */
export function toHit(
  memory: Pick<IndexedMemory, Exclude<keyof IndexHit, "distance" | "fused">>,
  distance: number,
): IndexHit {
  const { id, owner, namespace, blobId, sizeBytes } = memory;
  const { createdAtMs, importance } = memory;
  return {
    ...{ id, owner, namespace, blobId, sizeBytes, createdAtMs, importance },
    distance,
  };
}

/** Puts hits in order, the closest first; ties by id. */
export function byDistance(left: IndexHit, right: IndexHit): number {
  return left.distance - right.distance || (left.id < right.id ? -1 : 1);
}

/** The names of the parts that a fused score is the sum of. */
type FusedPart = RankingPart | "vector";

/** A memory with its score by words and vectors together. */
interface FusedMemory {
  /** Its id. */
  readonly id: string;
  /** The sum of the parts; comparable within one answer only. */
  readonly score: number;
  /**
   * How likely the memory answers the question, 0 to 1; .3 is a fair threshold.
   */
  readonly relevance: number;
  /** What the score is the sum of. */
  readonly parts: Readonly<Partial<Record<FusedPart, number>>>;
}

/** What the vectors say of the memories that words have ranked. */
interface FusedVectors {
  /** The cosine of a memory; undefined for one that has no vector. */
  readonly getSimilarity: (id: string) => number | undefined;
  /** The highest cosine that unrelated memories usually have. */
  readonly usual: number;
  /**
   * What a cosine 1 above the usual one scores, as a multiple of what all words
   * of the question score.
   */
  readonly weight: number;
}

/**
 * Weight of vectors of the built-in embedder: low, since they know little but
 * words, as the other half of the score does.
 */
export const BUILT_IN_VECTOR_WEIGHT = 0.05;

/**
 * Weight of vectors of a model: enough to find memories that say the same in
 * other words.
 */
export const MODEL_VECTOR_WEIGHT = 2.5;

/**
 * Weight of vectors of a model in a file. Such a vector is the mean of its
 * words' vectors, whatever stands between them, so texts that share the usual
 * words are close. In `bench:relayer` means of GloVe's vectors find most at .5;
 * at the weight of other models they put wrong memories first. At .5 a file of
 * random vectors costs less than .02 of recall@10.
 */
export const FILE_VECTOR_WEIGHT = 0.5;

/** The share of the ideal score at which relevance is .3. */
const FAIR_SHARE = 0.3;

/**
 * Puts memories that words and vectors have found into one order, the best
 * first. Both parts are measured against the score of a memory that has all
 * words of the question.
 */
export function fused(
  { memories, ideal, newest }: WordRanked,
  vectors: FusedVectors,
): readonly FusedMemory[] {
  const whole = ideal > 0 ? ideal : 1;
  const ranked = memories
    .map((memory) => withVector(memory, { whole, vectors }))
    .sort((one, other) =>
      other.score - one.score || (one.id < other.id ? 1 : -1)
    );
  return newestFirst(ranked, newest).map((memory) => ({
    ...memory,
    relevance: computeRelevance(memory.score / whole),
  }));
}

function withVector(
  { id, score: words, parts }: RankedMemory,
  { whole, vectors }: {
    readonly whole: number;
    readonly vectors: FusedVectors;
  },
): FusedMemory {
  const { getSimilarity, usual, weight } = vectors;
  const above = Math.max(0, (getSimilarity(id) ?? usual) - usual);
  const vector = weight * whole * above;
  const score = words + vector;
  return {
    id,
    score,
    relevance: computeRelevance(score / whole),
    parts: weight === 0 ? parts : { ...parts, vector },
  };
}

function computeRelevance(share: number): number {
  if (share <= 0) return 0;
  // At the fair share this is 1 / (1 + 7/3), which is .3.
  return share ** 2 / (share ** 2 + FAIR_SHARE ** 2 * 7 / 3);
}
