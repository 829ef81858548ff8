/**
 * What ranks the memories that a relayer finds: how it is asked for, with which
 * weights, and what it says of a memory's place.
 *
 * @module
 */

import {
  isObject,
  readNumber,
  readOptionalNumber,
  readStrings,
} from "./answer_reader.ts";
import { describe, optionalNumber } from "./arguments.ts";
import type { ClientParts } from "./client_parts.ts";
import type {
  Ranking,
  RankingOptions,
  RecallExplanation,
  ScoringWeights,
} from "./recall_types.ts";
import { quote } from "./server_text.ts";

/**
 * A ranking, or undefined.
 *
 * @throws {TypeError} When it is something else.
 */
export function checkRanking(value: unknown): Ranking | undefined {
  if (value === undefined || value === "semantic" || value === "fused") {
    return value;
  }
  throw new TypeError(
    'Cannot use ranking: it is neither "semantic" nor "fused"',
  );
}

/**
 * Ranking and explanation that are asked for.
 *
 * @throws {TypeError} When one is not what it must be.
 */
export function checkRankingOptions(
  { ranking, explain }: RankingOptions,
): RankingOptions {
  if (explain !== undefined && typeof explain !== "boolean") {
    throw new TypeError("Cannot use explain: it is neither true nor false");
  }
  return { ranking: checkRanking(ranking), explain };
}

/**
 * The members of a body that ask for them: none for a relayer that knows of no
 * rankings. Where nothing is asked for, the relayer is not asked what it knows.
 *
 * @throws {MemError} When the relayer cannot be reached, or it and this client do not
 * fit each other.
 */
export async function rankingMembers(
  parts: ClientParts,
  options: RankingOptions,
): Promise<RankingOptions> {
  const ranking = options.ranking ?? parts.ranking;
  const explain = options.explain === true ? true : undefined;
  const isPlain = ranking === undefined && explain === undefined;
  return isPlain || !await parts.canRank() ? {} : { ranking, explain };
}

/**
 * How well a memory fits, as far as the relayer says.
 *
 * @throws {MemError} When that is no number.
 */
export function readRelevance(json: unknown): number | undefined {
  const relevance = readOptionalNumber(json, "relevance");
  return relevance === undefined
    ? undefined
    : Math.min(1, Math.max(0, relevance));
}

/**
 * What a memory's place comes from, or undefined where the relayer does not say.
 *
 * @throws {MemError} When it is not valid.
 */
export function readExplanation(json: unknown): RecallExplanation | undefined {
  const value = isObject(json) ? json["explanation"] : undefined;
  if (!isObject(value)) return undefined;
  const { parts, matched } = value;
  return {
    parts: Object.fromEntries(
      Object.keys(Object(parts)).map((name) => [name, readNumber(parts, name)]),
    ),
    matched: matched === undefined ? [] : readStrings(value, "matched"),
  };
}

/** Weights as they are sent; what is undefined is not. */
export interface WireWeights {
  /** See {@linkcode ScoringWeights.semantic}. */
  readonly semantic: number | undefined;
  /** See {@linkcode ScoringWeights.recency}. */
  readonly recency: number | undefined;
  /** See {@linkcode ScoringWeights.recencyHalfLifeDays}. */
  readonly recency_half_life_days: number | undefined;
  /** See {@linkcode ScoringWeights.importance}. */
  readonly importance: number | undefined;
}

const NAMES: readonly string[] = [
  "semantic",
  "recency",
  "recencyHalfLifeDays",
  "importance",
];

/**
 * Weights as they are sent, or undefined.
 *
 * @throws {TypeError} When they are no object, one is no finite number, or one is
 * of an unknown name.
 */
export function checkScoringWeights(
  weights: ScoringWeights | undefined,
): WireWeights | undefined {
  if (weights === undefined) return undefined;
  if (typeof weights !== "object" || weights === null) {
    throw new TypeError(
      `Cannot use scoringWeights: it is ${describe(weights)} instead of an ` +
        `object`,
    );
  }
  for (const [name, weight] of Object.entries(weights)) {
    if (weight === undefined || NAMES.includes(name)) continue;
    throw new TypeError(
      `Cannot use scoringWeights: there is no weight ${quote(name)}, but ` +
        NAMES.join(", "),
    );
  }
  const { semantic, recency, recencyHalfLifeDays, importance } = weights;
  return {
    semantic: optionalNumber(semantic, "scoringWeights.semantic"),
    recency: optionalNumber(recency, "scoringWeights.recency"),
    recency_half_life_days: optionalNumber(
      recencyHalfLifeDays,
      "scoringWeights.recencyHalfLifeDays",
    ),
    importance: optionalNumber(importance, "scoringWeights.importance"),
  };
}
