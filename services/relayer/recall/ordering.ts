/**
 * The order of what was found; see the spec of the library, "recall".
 *
 * @module
 */

import type { IndexHit } from "./memory_index.ts";
import type { Ordering, ScoringWeights } from "./recall_request.ts";

/** What weighs how much unless somebody says otherwise. */
export const DEFAULT_WEIGHTS: ScoringWeights = {
  semantic: 1,
  recency: 0,
  recencyHalfLifeDays: 30,
  importance: 0,
};

/** A hit in its place. */
export interface OrderedHit {
  /** The hit. */
  readonly hit: IndexHit;
  /** The sum of weighed terms, where there were weights that matter. */
  readonly score?: number;
}

/** Options of {@linkcode orderHits}. */
export interface OrderHitsOptions {
  /** How they are put in order. */
  readonly ordering: Ordering;
  /** Most hits. */
  readonly limit: number;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

const MAX_WEIGHT = 100;
const MIN_HALF_LIFE_DAYS = 1e-6;
const DAY_MS = 86_400_000;
const RECENT_FACTOR = 5;
const MAX_RECENT = 50;
/** What a memory matters of which nobody said it. */
const UNKNOWN_IMPORTANCE = 0.5;

/** How many of the closest are put in order, to answer with `limit` of them. */
export function candidateCount(limit: number, ordering: Ordering): number {
  if (ordering.kind !== "recent") return limit;
  return Math.max(limit, Math.min(MAX_RECENT, RECENT_FACTOR * limit));
}

/** Puts hits in order, of which the closest stands first, and cuts them off. */
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

/**
 * What is wrong with weights, as an end of a sentence; `undefined` when nothing
 * is. Weights are from 0 to 100. The half-life is not a weight: it has no upper
 * bound, and is above 0 when recency counts.
 */
export function weightsFault(weights: ScoringWeights): string | undefined {
  for (const name of ["semantic", "recency", "importance"] as const) {
    const weight = weights[name];
    if (weight >= 0 && weight <= MAX_WEIGHT) continue;
    return `"${name}" is "${weight}", not from 0 to ${MAX_WEIGHT}`;
  }
  const { recency, recencyHalfLifeDays: days } = weights;
  const least = recency > 0 ? MIN_HALF_LIFE_DAYS : 0;
  if (Number.isFinite(days) && days >= least) return undefined;
  return `"recency_half_life_days" is "${days}", not a number from ${least} on`;
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
  const ageDays = Math.max(0, nowMs - hit.createdAtMs) / DAY_MS;
  const freshness = weights.recency > 0
    ? 2 ** (-ageDays / weights.recencyHalfLifeDays)
    : 0;
  return weights.semantic * (1 - hit.distance) +
    weights.recency * freshness +
    weights.importance * (hit.importance ?? UNKNOWN_IMPORTANCE);
}

function byTime(left: IndexHit, right: IndexHit): number {
  return right.createdAtMs - left.createdAtMs || byDistance(left, right);
}

function byDistance(left: IndexHit, right: IndexHit): number {
  return left.distance - right.distance || (left.id < right.id ? -1 : 1);
}
