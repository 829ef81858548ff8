/**
 * A recall: the request, its outcome, and the order of its hits; see the spec of the
 * library, "recall".
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
  /** Weight of the relevance, or without one of 1 minus the distance. */
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

/** What finds memories and ranks them. */
export type Ranking =
  /** Their vectors alone, by cosine. */
  | "semantic"
  /** Words and vectors together, and the signs of conversations. */
  | "fused";

/** What is wanted. */
export interface RecallRequest extends WorkOptions {
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
   * What finds and ranks them. Where the query is no text, vectors do.
   * @default the service's own
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Whether memories that were ranked by words say what their rank is made of.
   * @default {false}
   */
  readonly explain?: boolean | undefined;
  /**
   * Only memories of which the client said the same.
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
   * When it has to be over, in milliseconds from now.
   * @default it has not
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
   * How sure it is that the memory answers, 0 to 1, where words ranked as well; .3 is
   * a fair cut.
   */
  readonly relevance?: number | undefined;
  /** What its rank is made of, where that was asked for. */
  readonly explanation?: RankingExplanation | undefined;
  /** The sum of weighed terms, where there were weights. */
  readonly score?: number | undefined;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** How much it matters; null when it is not known. */
  readonly importance: number | null;
  /** What the client says of it; absent where only vectors were asked for. */
  readonly metadata?: Metadata | undefined;
}

/** Where time ran out; names as released clients know them. */
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

/** A hit in its place. */
export interface OrderedHit {
  /** The hit. */
  readonly hit: IndexHit;
  /** The sum of weighed terms, where there were weights that matter. */
  readonly score?: number | undefined;
}

/** Options of {@linkcode orderHits}. */
interface OrderHitsOptions {
  /** How they are put in order. */
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
    .map((hit) => ({ hit, score: scoreOf(hit, { weights, nowMs }) }))
    .sort((left, right) =>
      right.score - left.score || byDistance(left.hit, right.hit)
    )
    .slice(0, limit);
}

/** Whether the order can be another one than that of the distances. */
function matters(weights: ScoringWeights): boolean {
  return weights.recency > 0 || weights.importance > 0;
}

function scoreOf(
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
