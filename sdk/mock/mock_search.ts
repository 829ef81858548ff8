/**
 * Finds and orders the mock's memories, and chooses those for which an answer
 * has room.
 *
 * @module
 */

import type { Metadata } from "../memory/remember_types.ts";
import type { BodyOf } from "./mock_bodies.ts";
import type { MockRow } from "./mock_memory.ts";
import { computeDistance, listBeginnings } from "./mock_vectors.ts";

/** What a request says of the order. */
export type OrderingFields = Partial<
  Pick<BodyOf<"POST /api/recall">, "sort" | "scoring_weights">
>;

/** Weights of a recall. */
type MockWeights = NonNullable<OrderingFields["scoring_weights"]>;

/** The order of the found memories. */
type MockOrdering =
  /** The most relevant first. */
  | { readonly kind: "relevance" }
  /** The newest of the most relevant first. */
  | { readonly kind: "recent" }
  /** By a weighted sum. */
  | { readonly kind: "weighed"; readonly weights: MockWeights };

/** A memory that was found. */
export interface MockHit {
  /** The memory. */
  readonly row: MockRow;
  /** Cosine distance. */
  readonly distance: number;
  /** The rank by words and vector; undefined where vectors alone rank. */
  readonly rank: MockRank | undefined;
  /** The weighted sum; undefined without weights. */
  readonly score: number | undefined;
}

/** The parameters of a search. */
export interface MockQuery {
  /** The vector of the question, of length 1. */
  readonly vector: readonly number[];
  /**
   * The question whose words rank as well; undefined where vectors alone rank.
   */
  readonly words?: string | undefined;
  /** The most memories to return. */
  readonly limit: number;
  /** The order of the results. */
  readonly ordering: MockOrdering;
  /**
   * The members that a memory's metadata must have; undefined for any metadata.
   */
  readonly filter?: Metadata | undefined;
  /** The ids of the only memories to return; undefined for all. */
  readonly ids?: readonly string[] | undefined;
  /** The current time, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

const DAY_MS = 86_400_000;
const RECENT_FACTOR = 5;
const MAX_RECENT = 50;
const UNKNOWN_IMPORTANCE = 0.5;

/** Reads the order that a request's body asks for. */
export function readOrdering(
  { sort: kind, scoring_weights: weights }: OrderingFields,
): MockOrdering {
  if (kind !== undefined) return { kind };
  const matters = weights !== undefined &&
    (weights.recency > 0 || weights.importance > 0);
  return matters ? { kind: "weighed", weights } : { kind: "relevance" };
}

/** Returns the memories that match, in order. */
export function search(
  rows: readonly MockRow[],
  query: MockQuery,
): readonly MockHit[] {
  const { vector, words, limit, ordering, filter = {}, ids, nowMs } = query;
  const wanted = Object.entries(filter);
  const ranker = words === undefined ? undefined : new MockRanker(words, rows);
  const near = rows
    .filter(({ memory }) => ids?.includes(memory.id) ?? true)
    .filter(({ memory: { metadata } }) =>
      wanted.every(([name, value]) =>
        Object.hasOwn(metadata, name) && metadata[name] === value
      )
    )
    .map((row) => {
      const distance = computeDistance(vector, row.vector);
      const rank = ranker?.computeRank(row, distance);
      return { row, distance, rank, score: undefined };
    })
    .sort(byFit);
  switch (ordering.kind) {
    case "relevance":
      return near.slice(0, limit);
    case "recent":
      return near.slice(0, candidateCount(limit)).sort(byTime).slice(0, limit);
    case "weighed":
      return near.slice(0, limit)
        .map((hit) => {
          const score = computeScore(hit, { weights: ordering.weights, nowMs });
          return { ...hit, score };
        })
        .sort((left, right) => right.score - left.score || byFit(left, right));
  }
}

/**
 * Splits hits into those for which an answer of `maxBytes` has room and the
 * others. A hit that is too large does not exclude those after it, and the
 * first always has room.
 */
export function fitting(
  hits: readonly MockHit[],
  maxBytes: number,
): {
  readonly shown: readonly MockHit[];
  readonly omitted: readonly MockHit[];
} {
  const shown: MockHit[] = [];
  const omitted: MockHit[] = [];
  let leftBytes = maxBytes;
  for (const hit of hits) {
    const { sizeBytes } = hit.row;
    if (shown.length > 0 && sizeBytes > leftBytes) {
      omitted.push(hit);
      continue;
    }
    shown.push(hit);
    leftBytes -= sizeBytes;
  }
  return { shown, omitted };
}

/** Returns how many of the most relevant memories are ordered by time. */
function candidateCount(limit: number): number {
  return Math.max(limit, Math.min(MAX_RECENT, RECENT_FACTOR * limit));
}

function computeScore(
  { row: { memory }, distance, rank }: MockHit,
  { weights, nowMs }: {
    readonly weights: MockWeights;
    readonly nowMs: number;
  },
): number {
  const { semantic, recency, importance } = weights;
  const { recency_half_life_days: halfLifeDays } = weights;
  const ageDays = Math.max(0, nowMs - memory.createdAtMs) / DAY_MS;
  const freshness = recency > 0 ? 2 ** (-ageDays / halfLifeDays) : 0;
  const likeness = rank?.relevance ?? 1 - distance;
  return semantic * likeness + recency * freshness +
    importance * (memory.importance ?? UNKNOWN_IMPORTANCE);
}

function byTime(left: MockHit, right: MockHit): number {
  return right.row.memory.createdAtMs - left.row.memory.createdAtMs ||
    byFit(left, right);
}

/**
 * Compares by relevance. Of two memories with the same relevance the newer is
 * first, since it may have the more recent state.
 */
function byFit(left: MockHit, right: MockHit): number {
  if (left.rank === undefined || right.rank === undefined) {
    return left.distance - right.distance;
  }
  return right.rank.relevance - left.rank.relevance ||
    right.row.memory.createdAtMs - left.row.memory.createdAtMs;
}

/** How well a memory matches a question by its words and its vector. */
interface MockRank {
  /** The relevance, 0 to 1. */
  readonly relevance: number;
  /** The parts that the relevance was computed from. */
  readonly parts: Readonly<Record<"words" | "vector", number>>;
  /** Words of the question that the memory contains. */
  readonly matched: readonly string[];
}

/** A word of the question. */
interface AskedWord {
  readonly word: string;
  readonly beginnings: readonly string[];
  /** The word's weight, which is larger the fewer memories contain the word. */
  readonly weight: number;
}

/**
 * The weight of a vector at distance 0, as a share of the weight of all words
 * of the question.
 */
const VECTOR_WEIGHT = 0.3;
/** The share of the largest possible weight at which the relevance is 0.3. */
const FAIR_SHARE = 0.3;

/**
 * Ranks memories for one question by words and vectors together: by the words
 * of the question that a memory contains, where rare words count more, and a
 * little by its vector. It does not imitate the real relayer's ranking, which
 * knows languages and conversations.
 */
class MockRanker {
  readonly #rows: ReadonlyMap<MockRow, ReadonlySet<string>>;
  readonly #asked: readonly AskedWord[];
  /** The weight of a memory that contains all words of the question. */
  readonly #whole: number;

  /** Creates a ranker for all memories that are searched. */
  constructor(question: string, rows: readonly MockRow[]) {
    this.#rows = new Map(rows.map((row) => {
      const words = listBeginnings(row.memory.text ?? "");
      return [row, new Set([...words.values()].flat())];
    }));
    const sets = [...this.#rows.values()];
    this.#asked = Array.from(listBeginnings(question), ([word, beginnings]) => {
      const count = sets.filter((has) => hasAny(has, beginnings)).length;
      const weight = Math.log(1 + (sets.length - count + 0.5) / (count + 0.5));
      return { word, beginnings, weight };
    });
    this.#whole = Math.max(1, sumWeights(this.#asked));
  }

  /**
   * Returns the rank of one of these memories; `distance` is that of its
   * vector.
   */
  computeRank(row: MockRow, distance: number): MockRank {
    const has = this.#rows.get(row) ?? new Set<string>();
    const found = this.#asked.filter(({ beginnings }) =>
      hasAny(has, beginnings)
    );
    const words = sumWeights(found);
    const vector = VECTOR_WEIGHT * this.#whole * Math.max(0, 1 - distance);
    const share = (words + vector) / this.#whole;
    return {
      relevance: share ** 2 / (share ** 2 + FAIR_SHARE ** 2 * 7 / 3),
      parts: { words, vector },
      matched: found.map(({ word }) => word),
    };
  }
}

function hasAny(
  has: ReadonlySet<string>,
  beginnings: readonly string[],
): boolean {
  return beginnings.some((beginning) => has.has(beginning));
}

function sumWeights(words: readonly AskedWord[]): number {
  return words.reduce((sum, { weight }) => sum + weight, 0);
}
