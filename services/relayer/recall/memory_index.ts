/**
 * The index in memory, as the rest of the relayer sees it, and which vectors fit it.
 *
 * @module
 */

import type { Steps } from "../concurrency/bounded_work.ts";
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
  /** Its vector, of the embedder's width and of length 1. */
  readonly vector: Float32Array;
}

/** What is looked for. */
export interface IndexQuery {
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** What to be close to; of any length but 0. */
  readonly vector: Float32Array;
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
}

/** A memory that was found. */
export interface IndexHit extends Omit<IndexedMemory, "vector" | "metadata"> {
  /** Cosine distance, 0 for the same direction and 2 for the opposite one. */
  readonly distance: number;
}

/** Finds memories by their vectors. */
export interface MemoryIndex {
  /**
   * Adds a memory, or puts it in the place of one of the same id in the same
   * namespace.
   */
  add(memory: IndexedMemory): void;
  /** Removes a memory from every namespace; does nothing when it has none. */
  remove(owner: string, id: string): void;
  /** Removes a namespace, if it exists. */
  removeNamespace(owner: string, namespace: string): void;
  /**
   * The steps to the closest memories, the closest first; ties by id. Memories
   * that come or go between two steps may be found or not; all others are found.
   */
  searchSteps(query: IndexQuery): Steps<readonly IndexHit[]>;
  /** How many memories there are. */
  readonly size: number;
}

/** An index that can be asked what is in it. */
export interface ListedIndex extends MemoryIndex {
  /** Whether there is such a memory. */
  has(owner: string, id: string): boolean;
}

/** What vectors are compared with. */
interface WantedVectors {
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
