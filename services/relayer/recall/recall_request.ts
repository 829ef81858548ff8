/**
 * A recall and what comes of it.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { Metadata } from "../vault/vault.ts";

/** How hits are weighed; see the spec of the library, "scoringWeights". */
export interface ScoringWeights {
  /** Weight of the similarity, which is 1 minus the distance. */
  readonly semantic: number;
  /** Weight of how new it is. */
  readonly recency: number;
  /** Days in which the term of recency halves. */
  readonly recencyHalfLifeDays: number;
  /** Weight of how much it matters. */
  readonly importance: number;
}

/** How hits are put in order. */
export type Ordering =
  /** By distance alone. */
  | { readonly kind: "relevance" }
  /** By time of writing, among the closest. */
  | { readonly kind: "recent" }
  /** By a sum of weighed terms, among the closest. */
  | { readonly kind: "weighed"; readonly weights: ScoringWeights };

/** What is wanted. */
export interface RecallRequest {
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** A text, or what one was embedded as. */
  readonly query: string | Float32Array;
  /** Most hits, 1 to 100. */
  readonly limit: number;
  /** How they are put in order. */
  readonly ordering: Ordering;
  /**
   * Only memories of which the client said the same.
   * @default all
   */
  readonly filter?: Metadata;
  /**
   * Only these memories, such as those that an earlier answer had no room for.
   * @default all
   */
  readonly ids?: readonly string[];
  /**
   * Most bytes of blobs that are read and answered with, but always one memory.
   * @default {1048576}
   */
  readonly maxBytes?: number;
  /**
   * Asked between steps of long work.
   * @default it goes on until it is done
   */
  readonly pausing?: Pausing;
  /**
   * When it has to be over, in milliseconds from now.
   * @default it has not
   */
  readonly deadlineMs?: number;
  /** Ends it early, when nobody waits any more. */
  readonly signal?: AbortSignal;
}

/** A memory that was recalled. */
export interface RecalledMemory {
  /** Its id. */
  readonly id: string;
  /** Its blob. */
  readonly blobId: string;
  /** Its text; absent where only vectors were asked for. */
  readonly text?: string;
  /** Cosine distance. */
  readonly distance: number;
  /** The sum of weighed terms, where there were weights. */
  readonly score?: number;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** How much it matters; null when nobody said. */
  readonly importance: number | null;
  /** What the client says of it; absent where only vectors were asked for. */
  readonly metadata?: Metadata;
}

/** Where time ran out; names as released clients know them. */
export type RecallStage =
  | "embed"
  | "vector_search"
  | "walrus_download"
  | "seal_decrypt";

/** What comes of it. */
export type RecallOutcome =
  | {
    readonly kind: "ok";
    readonly memories: readonly RecalledMemory[];
    /** Hits whose blob could not be had or opened. */
    readonly dropped: number;
    /** Ids of hits that there was no room for, in their order. */
    readonly omittedIds: readonly string[];
    /** Bytes of blobs that were read. */
    readonly readBytes: number;
  }
  | {
    readonly kind: "timeout";
    readonly stage: RecallStage;
    readonly elapsedMs: number;
  }
  | { readonly kind: "unavailable"; readonly retryAfterMs?: number };

/** Recalls. */
export interface Recall {
  /** Finds memories, gets and opens their blobs. */
  recall(request: RecallRequest): Promise<RecallOutcome>;
  /** Finds memories; leaves blobs alone. */
  find(request: RecallRequest): Promise<RecallOutcome>;
}
