/**
 * What the index in memory keeps, is asked for and finds, and which vectors fit it.
 *
 * @module
 */

import type { MemoryWords } from "./ranking/memory_words.ts";
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
