/**
 * One order of memories from what their words and what their vectors say: both parts
 * are weighed against what a memory would have that says all of the question.
 *
 * @module
 */

import type { RankedMemory, RankingPart, WordRanked } from "./word_ranking.ts";

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

/** Puts memories that words and vectors have found into one order, the best first. */
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
