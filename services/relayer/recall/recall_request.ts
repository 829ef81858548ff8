/**
 * The request and the outcome of a recall, and the order of its hits; see the
 * spec of the library, "recall".
 *
 * @module
 */

import type { WorkOptions } from "../concurrency/bounded_work.ts";
import type { Metadata, OwnerKeyFailure } from "../vault/vault.ts";
import {
  byDistance,
  type IndexHit,
  type RankingExplanation,
} from "./memory_index.ts";

/** How hits are weighed; see the spec of the library, "scoringWeights". */
interface ScoringWeights {
  /** Weight of a hit's relevance; of 1 minus its distance where it has none. */
  readonly semantic: number;
  /** Weight of how new the memory is. */
  readonly recency: number;
  /** Days after which the recency of a memory is half of what it was. */
  readonly recencyHalfLifeDays: number;
  /** Weight of the memory's importance. */
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

/** What finds memories and ranks them. */
export type Ranking =
  /** Their vectors alone, by cosine. */
  | "semantic"
  /** Words and vectors together, and the signs of conversations. */
  | "fused";

/** What a client wants to recall. */
export interface RecallRequest extends WorkOptions {
  /** The owner's address. */
  readonly owner: string;
  /** The namespace. */
  readonly namespace: string;
  /** The text to search for, or the vector of a text. */
  readonly query: string | Float32Array;
  /** Most hits, 1 to 100. */
  readonly limit: number;
  /** How the hits are put in order. */
  readonly ordering: Ordering;
  /**
   * How memories are found and ranked. A query that is a vector is ranked by
   * vectors alone.
   * @default the service's own
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether each memory comes with what its rank is made of.
   * @default {false}
   */
  readonly explain?: boolean | undefined;
  /**
   * Only memories whose metadata has all of these values.
   * @default all
   */
  readonly filter?: Metadata | undefined;
  /**
   * Only these memories, such as those that an earlier answer had no room for.
   * @default all
   */
  readonly ids?: readonly string[] | undefined;
  /**
   * Most bytes of blobs that are read and answered with, but always one memory.
   * @default {1048576}
   */
  readonly maxBytes?: number | undefined;
  /**
   * When the recall has to be over, in milliseconds from now; later it fails
   * with a timeout.
   *
   * @default no deadline
   */
  readonly deadlineMs?: number | undefined;
}

/** A memory that was recalled. */
export interface RecalledMemory {
  /** Its id. */
  readonly id: string;
  /** Its blob. */
  readonly blobId: string;
  /** Its text; absent where only vectors were asked for. */
  readonly text?: string | undefined;
  /** Cosine distance. */
  readonly distance: number;
  /**
   * How likely the memory answers the question, 0 to 1, where words ranked as
   * well; .3 is a fair threshold.
   */
  readonly relevance?: number | undefined;
  /** What its rank is made of, where that was asked for. */
  readonly explanation?: RankingExplanation | undefined;
  /**
   * The weighted sum that put the memory in its place, where the request had
   * weights that matter.
   */
  readonly score?: number | undefined;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** How much it matters; null when it is not known. */
  readonly importance: number | null;
  /** What the client says of it; absent where only vectors were asked for. */
  readonly metadata?: Metadata | undefined;
}

/** The stage at which time ran out, by the names that released clients know. */
export type RecallStage =
  | "embed"
  | "vector_search"
  | "walrus_download"
  | "seal_decrypt";

/** The outcome of a recall. */
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
    /**
     * Whether words ranked the memories although vectors were asked for, as the
     * embedder's do not fit.
     *
     * @default {false}
     */
    readonly isByWords?: boolean;
    /**
     * Whether memories may be missing, as the owner's were still being read.
     *
     * @default {false}
     */
    readonly isPartial?: boolean;
  }
  | {
    readonly kind: "timeout";
    readonly stage: RecallStage;
    readonly elapsedMs: number;
  }
  | {
    readonly kind: "unavailable";
    readonly retryAfterMs?: number | undefined;
  }
  | {
    /** The owner's key cannot be had; no memory is lost by that. */
    readonly kind: "locked";
    readonly why: OwnerKeyFailure;
  };

/** A hit in the order of the answer. */
export interface OrderedHit {
  /** The hit. */
  readonly hit: IndexHit;
  /**
   * The weighted sum that put the hit in its place, where the request had
   * weights that matter.
   */
  readonly score?: number | undefined;
}

/** Options of {@linkcode orderHits}. */
interface OrderHitsOptions {
  /** How the hits are put in order. */
  readonly ordering: Ordering;
  /** Most hits. */
  readonly limit: number;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

const DAY_MS = 86_400_000;
const RECENT_FACTOR = 5;
const MAX_RECENT = 50;
/** The importance of a memory for which none is known. */
const UNKNOWN_IMPORTANCE = 0.5;

/** How many of the closest are put in order, to answer with `limit` of them. */
export function candidateCount(limit: number, ordering: Ordering): number {
  if (ordering.kind !== "recent") return limit;
  return Math.max(limit, Math.min(MAX_RECENT, RECENT_FACTOR * limit));
}

/** Puts hits in order, of which the best stands first, and cuts them off. */
export function orderHits(
  hits: readonly IndexHit[],
  options: OrderHitsOptions,
): readonly OrderedHit[] {
  const { ordering, limit, nowMs } = options;
  if (ordering.kind === "recent") {
    return [...hits].sort(byTime).slice(0, limit).map((hit) => ({ hit }));
  }
  if (ordering.kind === "relevance" || !matters(ordering.weights)) {
    return hits.slice(0, limit).map((hit) => ({ hit }));
  }
  const { weights } = ordering;
  return hits
    .map((hit) => ({ hit, score: computeScore(hit, { weights, nowMs }) }))
    .sort((left, right) =>
      right.score - left.score || byDistance(left.hit, right.hit)
    )
    .slice(0, limit);
}

/** Tells whether the weights can change the order in which hits were found. */
function matters(weights: ScoringWeights): boolean {
  return weights.recency > 0 || weights.importance > 0;
}

function computeScore(
  hit: IndexHit,
  options: { readonly weights: ScoringWeights; readonly nowMs: number },
): number {
  const { weights, nowMs } = options;
  const likeness = hit.fused?.relevance ?? 1 - hit.distance;
  const ageDays = Math.max(0, nowMs - hit.createdAtMs) / DAY_MS;
  const freshness = weights.recency > 0
    ? 2 ** (-ageDays / weights.recencyHalfLifeDays)
    : 0;
  return weights.semantic * likeness +
    weights.recency * freshness +
    weights.importance * (hit.importance ?? UNKNOWN_IMPORTANCE);
}

function byTime(left: IndexHit, right: IndexHit): number {
  return right.createdAtMs - left.createdAtMs || byDistance(left, right);
}
