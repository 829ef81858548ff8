/**
 * Checks the options of how memories are ranked, and reads the relevance and
 * explanation in answers.
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
import type {
  Ranking,
  RankingOptions,
  RecallExplanation,
  ScoringWeights,
} from "./recall_types.ts";
import { quote } from "./server_text.ts";

/**
 * Returns a ranking, or undefined, as it is.
 *
 * @throws {TypeError} When the value is something else.
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
 * Returns the ranking and the explanation that a call asks for, checked.
 *
 * @throws {TypeError} When one is not valid.
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
 * Reads the relevance of a memory; undefined where the relayer does not report
 * it.
 *
 * @throws {MemError} When it is not a number.
 */
export function readRelevance(json: unknown): number | undefined {
  const relevance = readOptionalNumber(json, "relevance");
  return relevance === undefined
    ? undefined
    : Math.min(1, Math.max(0, relevance));
}

/**
 * Reads the explanation of a memory's place; undefined where the relayer does
 * not give one.
 *
 * @throws {MemError} When the explanation is not valid.
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

/** Weights in the form in which they are sent; undefined ones are left out. */
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
 * Returns weights in the form in which they are sent, or undefined.
 *
 * @throws {TypeError} When they are not an object, or a member has an unknown
 * name or is not a finite number.
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
