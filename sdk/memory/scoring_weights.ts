/**
 * Weights in the form that relayers read.
 *
 * @module
 */

import { describe, optionalNumber } from "./arguments.ts";
import type { ScoringWeights } from "./recall_types.ts";
import { quote } from "./server_text.ts";

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
