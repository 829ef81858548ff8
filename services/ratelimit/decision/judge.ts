/**
 * What a count means for one descriptor: the decision, and how its hits fall
 * into the statistics.
 *
 * @module
 */

import { CODE, type Code } from "../../../proto/rate_limit_response.ts";
import type { CounterResult } from "../counters/counter_store.ts";
import { secondsUntilReset } from "../counters/fixed_window.ts";

/** The decision on one descriptor that touched a counter. */
export interface Judgement {
  /** The decision as it would be without shadow mode. */
  readonly code: Code;
  /** Requests that remain, from 0 to 2³² − 1. */
  readonly remaining: number;
  /** Whole seconds to the end of the window. */
  readonly resetSeconds: number;
  /** Hits above the limit. */
  readonly overHits: number;
  /** Hits above the near-limit threshold and within the limit. */
  readonly nearHits: number;
  /** Hits of a call that was wholly within the limit. */
  readonly withinHits: number;
  /** True when the over-limit cache knew without asking the store. */
  readonly isFromCache: boolean;
}

/** What a count is judged by. */
interface JudgeOptions {
  /** Requests allowed in one window. */
  readonly limit: number;
  /** Hits of this call. */
  readonly hits: number;
  /** Length of the window. */
  readonly windowSeconds: number;
  /** Time of the call in whole Unix seconds. */
  readonly nowSeconds: number;
  /** Share of the limit above which hits count as near it, 0 to 1. */
  readonly nearLimitRatio: number;
}

/**
 * Judges the answer of a store. Hits that cross the limit are split: the part
 * above it is over, the part between the threshold and the limit is near.
 */
export function judge(
  result: CounterResult,
  options: JudgeOptions,
): Judgement {
  if (typeof result === "number") return judgeCount(result, options);
  const over = result.isOver;
  const hits = Math.max(0, options.hits);
  return {
    code: over ? CODE.OVER_LIMIT : CODE.OK,
    remaining: over ? 0 : result.remaining,
    resetSeconds: result.resetSeconds,
    overHits: result.hitsOver,
    nearHits: over
      ? hits - result.hitsOver
      : nearHitsWithin(options.limit - result.remaining, options),
    withinHits: over ? 0 : hits,
    isFromCache: result.isFromCache ?? false,
  };
}

function judgeCount(after: number, options: JudgeOptions): Judgement {
  const { limit, windowSeconds, nowSeconds } = options;
  const hits = Math.max(0, options.hits);
  const before = after - hits;
  const over = after > limit;
  const overHits = !over ? 0 : before >= limit ? hits : after - limit;
  const threshold = nearThreshold(limit, options.nearLimitRatio);
  const nearHits = !over
    ? nearHitsWithin(after, options)
    : before >= limit
    ? 0
    : limit - Math.max(threshold, before);
  return {
    code: over ? CODE.OVER_LIMIT : CODE.OK,
    remaining: over ? 0 : limit - after,
    resetSeconds: secondsUntilReset(nowSeconds, windowSeconds),
    overHits,
    nearHits,
    withinHits: over ? 0 : hits,
    isFromCache: false,
  };
}

function nearHitsWithin(after: number, options: JudgeOptions): number {
  const hits = Math.max(0, options.hits);
  const threshold = nearThreshold(options.limit, options.nearLimitRatio);
  if (after <= threshold) return 0;
  return after - hits >= threshold ? hits : after - threshold;
}

/** In 32-bit floats, so that thresholds agree with the service this replaces. */
function nearThreshold(limit: number, ratio: number): number {
  const product = Math.fround(Math.fround(limit) * Math.fround(ratio));
  // Rounding may lift the product of a great limit above the limit itself.
  return Math.min(limit, Math.floor(product));
}
