/**
 * What the index in memory keeps, is asked for and finds; which vectors fit it; and the
 * order of what was found: by distance, or by words and vectors together.
 *
 * @module
 */

import type { MemoryWords } from "./ranking/memory_words.ts";
import type {
  RankedMemory,
  RankingPart,
  WordRanked,
} from "./ranking/word_ranking.ts";
import {
  CLIENT_MODEL,
  type IndexEntry,
  type Metadata,
} from "../vault/vault.ts";

/** A memory as the index knows it. */
export interface IndexedMemory {
  /** Its id. */
  readonly id: string;
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The blob that holds the text. */
  readonly blobId: string;
  /** Bytes of the blob. */
  readonly sizeBytes: number;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** How much it matters, 0 to 1; null when it is not known. */
  readonly importance: number | null;
  /** What the client says of it. */
  readonly metadata: Metadata;
  /**
   * Its vector, of the embedder's width and of length 1; undefined where another
   * embedder made it, so that words alone find the memory until it is renewed.
   */
  readonly vector: Float32Array | undefined;
  /** What ranking knows of its text; absent where only the client can read it. */
  readonly words?: MemoryWords | undefined;
}

/** How {@linkcode IndexQuery.fused} ranks. */
export interface FusedQuery {
  /** The question. */
  readonly text: string;
  /** Whether hits say what their scores are made of. */
  readonly explain: boolean;
  /** What vectors weigh beside words: 0 leaves them out. */
  readonly vectorWeight: number;
}

/** What is looked for. */
export interface IndexQuery {
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /**
   * What to be close to; of any length but 0. Undefined where words alone rank, since
   * no vector of the question can be had; without {@linkcode IndexQuery.fused} nothing
   * is found then.
   */
  readonly vector: Float32Array | undefined;
  /** Most hits. */
  readonly limit: number;
  /**
   * Only memories of which the client said the same.
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
  extends Omit<IndexedMemory, "vector" | "words" | "metadata"> {
  /**
   * Cosine distance, 0 for the same direction and 2 for the opposite one; 1 where
   * there is no vector to compare.
   */
  readonly distance: number;
  /** How it ranks, where words and vectors rank together. */
  readonly fused?: FusedHit | undefined;
}

/** How a memory ranks by words and vectors together. */
interface FusedHit {
  /** How sure it is that the memory answers, 0 to 1; .3 is a fair cut. */
  readonly relevance: number;
  /** What it goes by, where that was asked for. */
  readonly explanation?: RankingExplanation | undefined;
}

/** What the rank of a memory is made of. */
export interface RankingExplanation {
  /** The score's parts by name; comparable within one answer only. */
  readonly parts: Readonly<Record<string, number>>;
  /** Words of the question that the memory has; absent where vectors alone rank. */
  readonly matched?: readonly string[] | undefined;
}

/** What vectors are compared with. */
export interface WantedVectors {
  /** How wide they have to be. */
  readonly width: number;
  /**
   * What has to have made them, unless a client brought them.
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

/** A memory as a hit, without what ranks it. */
export function hitOf(
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

/** What of a fused score comes from where. */
type FusedPart = RankingPart | "vector";

/** A memory in its place. */
interface FusedMemory {
  /** Its id. */
  readonly id: string;
  /** The sum of the parts; comparable within one answer only. */
  readonly score: number;
  /** How sure it is that the memory answers, 0 to 1; .3 is a fair cut. */
  readonly relevance: number;
  /** What the score is the sum of. */
  readonly parts: Readonly<Partial<Record<FusedPart, number>>>;
}

/** What is known of the vectors of the same memories. */
interface FusedVectors {
  /** The cosine of a memory; undefined for one that has no vector. */
  readonly similarityOf: (id: string) => number | undefined;
  /** The cosine that memories have which say something else. */
  readonly usual: number;
  /** What a cosine that is 1 above the usual is worth, beside all words at once. */
  readonly weight: number;
}

/** What vectors of the built-in embedder weigh: they know little but words, too. */
export const BUILT_IN_VECTOR_WEIGHT = 0.05;

/** What vectors of a model weigh: enough to find what is said in other words. */
export const MODEL_VECTOR_WEIGHT = 2.5;

/** The share of the ideal score at which relevance is .3. */
const FAIR_SHARE = 0.3;

/**
 * Puts memories that words and vectors have found into one order, the best first: both
 * parts are weighed against what a memory would have that says all of the question.
 */
export function fused(
  { memories, ideal }: WordRanked,
  vectors: FusedVectors,
): readonly FusedMemory[] {
  const whole = ideal > 0 ? ideal : 1;
  return memories
    .map((memory) => withVector(memory, { whole, vectors }))
    .sort((one, other) =>
      other.score - one.score || (one.id < other.id ? 1 : -1)
    );
}

function withVector(
  { id, score: words, parts }: RankedMemory,
  { whole, vectors }: {
    readonly whole: number;
    readonly vectors: FusedVectors;
  },
): FusedMemory {
  const { similarityOf, usual, weight } = vectors;
  const above = Math.max(0, (similarityOf(id) ?? usual) - usual);
  const vector = weight * whole * above;
  const score = words + vector;
  return {
    id,
    score,
    relevance: relevanceOf(score / whole),
    parts: weight === 0 ? parts : { ...parts, vector },
  };
}

function relevanceOf(share: number): number {
  if (share <= 0) return 0;
  // 3/7 at the fair share, so that 1 in 1 + 7/3 is .3.
  return share ** 2 / (share ** 2 + FAIR_SHARE ** 2 * 7 / 3);
}
