/**
 * Judges what counts mean: the decision on each descriptor, how its hits are
 * divided among the statistics, and the answer to the request.
 *
 * @module
 */

import {
  CODE,
  type Code,
  type DescriptorStatus,
  type HeaderValue,
  type RateLimitResponse,
  UNIT,
} from "../../../proto/rate_limit_response.ts";
import type { JsonObject } from "../../../proto/struct.ts";
import type { CounterResult } from "../counters/counter_store.ts";
import { secondsUntilReset } from "../counters/fixed_window.ts";
import { isUnitWindow, type Limit, type Rule } from "../rules/snapshot.ts";
import { dynamicMetadata, type JudgedLimit } from "./dynamic_metadata.ts";
import type { PlannedDescriptor, PlannedLimit } from "./plan.ts";

/** The decision on one descriptor that touched a counter. */
export interface Judgement {
  /** The decision as it would be without shadow mode. */
  readonly code: Code;
  /** Requests that remain, from 0 to 2³² − 1. */
  readonly remaining: number;
  /** Whole seconds to the end of the window, or those of a verdict. */
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

/** What the judgement of a count depends on. */
interface JudgeOptions {
  /** Requests allowed in one window, or at once by a token bucket. */
  readonly limit: number;
  /** Hits of this call. */
  readonly hits: number;
  /** Length of the window in seconds. */
  readonly windowSeconds: number;
  /** Time of the call in whole Unix seconds. */
  readonly nowSeconds: number;
  /** Share of the limit above which hits count as near it, 0 to 1. */
  readonly nearLimitRatio: number;
}

/** Judges the answer of a store on a descriptor that touched a counter. */
export function judgePlanned(
  planned: PlannedLimit,
  result: CounterResult,
  options: Pick<JudgeOptions, "nowSeconds" | "nearLimitRatio">,
): Judgement {
  const { limit, hits } = planned;
  return judge(result, {
    limit: getCapacity(limit),
    hits,
    windowSeconds: limit.windowSeconds,
    nowSeconds: options.nowSeconds,
    nearLimitRatio: options.nearLimitRatio,
  });
}

/** Returns the most hits that a limit ever admits at once. */
export function getCapacity({ burst, requestsPerUnit }: Limit): number {
  return burst ?? requestsPerUnit;
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
    remaining: result.remaining,
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

/**
 * Returns the count above which hits are near a limit: computed in 32-bit
 * floats, so that it agrees with the service this replaces.
 */
export function nearThreshold(limit: number, ratio: number): number {
  const product = Math.fround(Math.fround(limit) * Math.fround(ratio));
  // Rounding may lift the product of a great limit above the limit itself.
  return Math.min(limit, Math.floor(product));
}

/** The decision on one descriptor, and the rule it was made by. */
interface JudgedDescriptor {
  /** The decision. */
  readonly status: DescriptorStatus;
  /**
   * The rule; undefined when no rule applied, or when the limit came with the
   * request.
   */
  readonly rule: Rule | undefined;
  /**
   * All limits of the descriptor; undefined where the status tells all there is
   * to tell: one limit, by a unit.
   */
  readonly limits: readonly JudgedLimit[] | undefined;
}

/** How answers are composed. */
interface ComposeOptions {
  /** True when every descriptor is a quota. */
  readonly quotaMode: boolean;
  /** Names of the headers to add; undefined adds none. */
  readonly headers: LimitHeaderNames | undefined;
  /** The request's part of the dynamic metadata; undefined adds none. */
  readonly requestMetadata: JsonObject | undefined;
}

/**
 * Judges a descriptor: by its strictest limit, where it has several.
 *
 * @param judge Returns the judgement by a limit; undefined when its counter was
 * not asked, which is as if there were no such limit.
 */
export function judgeDescriptor(
  planned: PlannedDescriptor,
  judge: (limit: PlannedLimit) => Judgement | undefined,
): JudgedDescriptor {
  if (planned.kind !== "limited") {
    return planned.kind === "unlimited"
      ? { status: UNLIMITED, rule: planned.rule, limits: undefined }
      : NO_LIMIT;
  }
  const { others, limit, rule } = planned;
  if (others === undefined && isUnitWindow(limit)) {
    const judgement = judge(planned);
    if (judgement === undefined) return NO_LIMIT;
    const status = limitedStatus(planned, judgement);
    return { status, rule, limits: undefined };
  }
  const limits: (JudgedLimit & Pick<PlannedLimit, "rule">)[] = [];
  for (const one of [planned, ...others ?? []]) {
    const judgement = judge(one);
    if (judgement === undefined) continue;
    const status = limitedStatus(one, judgement);
    limits.push({ limit: one.limit, rule: one.rule, status });
  }
  const [first, ...rest] = limits;
  if (first === undefined) return NO_LIMIT;
  const strictest = rest.reduce(
    (best, one) => isStricter(one, best) ? one : best,
    first,
  );
  return { status: strictest.status, rule: strictest.rule, limits };
}

const MAX_UINT32 = 0xffff_ffff;

const NO_LIMIT: JudgedDescriptor = {
  status: { code: CODE.OK, limitRemaining: 0 },
  rule: undefined,
  limits: undefined,
};

const UNLIMITED: DescriptorStatus = {
  code: CODE.OK,
  limitRemaining: MAX_UINT32,
};

/**
 * True when a limit is stricter than another of its descriptor: it refuses, and
 * for longer; or less remains of it. A shadowed one never is.
 */
function isStricter(
  one: JudgedLimit & Pick<PlannedLimit, "rule">,
  other: JudgedLimit & Pick<PlannedLimit, "rule">,
): boolean {
  const isShadow = one.rule?.shadowMode === true;
  if (isShadow !== (other.rule?.shadowMode === true)) return !isShadow;
  if (one.status.code !== other.status.code) {
    return one.status.code === CODE.OVER_LIMIT;
  }
  return one.status.code === CODE.OVER_LIMIT
    ? getReset(one) > getReset(other)
    : one.status.limitRemaining < other.status.limitRemaining;
}

function getReset({ status }: JudgedLimit): number {
  return status.durationUntilResetSeconds ?? 0;
}

/** Composes the whole answer, before global shadow mode. */
export function composeResponse(
  judged: readonly JudgedDescriptor[],
  options: ComposeOptions,
): RateLimitResponse {
  const { quotaMode, headers, requestMetadata } = options;
  const verdicts = judged.map(({ status, rule, limits }) => ({
    status,
    limits,
    code: status.code,
    isQuota: quotaMode || rule?.quotaMode === true,
  }));
  const response: RateLimitResponse = {
    overallCode: overallCode(verdicts),
    statuses: judged.map(({ status }) => status),
    responseHeadersToAdd: headers === undefined
      ? []
      : limitHeaders(verdicts, headers),
  };
  if (requestMetadata === undefined) return response;
  return {
    ...response,
    dynamicMetadata: dynamicMetadata(requestMetadata, {
      rules: metadataOfPassed(judged),
      limits: judged.map(({ limits = [] }) => limits),
    }),
  };
}

function metadataOfPassed(judged: readonly JudgedDescriptor[]): JsonObject[] {
  const metadata: JsonObject[] = [];
  for (const { status, rule } of judged) {
    if (status.code === CODE.OK && rule?.metadata !== undefined) {
      metadata.push(rule.metadata);
    }
  }
  return metadata;
}

function limitedStatus(
  planned: PlannedLimit,
  judgement: Judgement,
): DescriptorStatus {
  const { limit, rule } = planned;
  const { requestsPerUnit } = limit;
  const unit = UNIT[limit.unit];
  const name = rule?.name ?? "";
  return {
    code: rule?.shadowMode === true ? CODE.OK : judgement.code,
    currentLimit: name === ""
      ? { requestsPerUnit, unit }
      : { requestsPerUnit, unit, name },
    limitRemaining: judgement.remaining,
    durationUntilResetSeconds: judgement.resetSeconds,
  };
}

/** What the overall code depends on, of one descriptor. */
interface DescriptorVerdict {
  /** The decision on the descriptor, rule shadow mode applied. */
  readonly code: Code;
  /** True when the descriptor is a quota. */
  readonly isQuota: boolean;
}

/**
 * Returns `OVER_LIMIT` when any normal descriptor is over its limit, or when
 * the request has quotas and all of them are used up.
 */
function overallCode(verdicts: readonly DescriptorVerdict[]): Code {
  let quotas = 0;
  let usedUp = 0;
  for (const { code, isQuota } of verdicts) {
    const over = code === CODE.OVER_LIMIT;
    if (over && !isQuota) return CODE.OVER_LIMIT;
    if (isQuota) {
      quotas++;
      if (over) usedUp++;
    }
  }
  return quotas > 0 && usedUp === quotas ? CODE.OVER_LIMIT : CODE.OK;
}

/** Names of the headers that tell a client about its limit. */
export interface LimitHeaderNames {
  /** Carries the limit. */
  readonly limit: string;
  /** Carries the requests that remain. */
  readonly remaining: string;
  /** Carries the seconds until the limit resets. */
  readonly reset: string;
}

/** A status that the headers may describe. */
interface HeaderCandidate {
  /** The status. */
  readonly status: DescriptorStatus;
  /** The limits of the descriptor, where the status doesn't tell them. */
  readonly limits: readonly JudgedLimit[] | undefined;
  /** True for a quota, which never refuses by itself. */
  readonly isQuota: boolean;
}

/**
 * Returns the headers of one answer. They describe the first status with the
 * least remaining; a normal status that is over its limit takes the place of
 * any before it, so the last of those wins. Empty when no limit applied. Where
 * the descriptor has several limits, or one by a window without a unit, they
 * follow the limit with their windows in seconds: `10, 10;w=1, 250;w=86400`.
 */
function limitHeaders(
  candidates: readonly HeaderCandidate[],
  names: LimitHeaderNames,
): HeaderValue[] {
  const chosen = chooseCandidate(candidates);
  if (chosen?.status.currentLimit === undefined) return [];
  const { currentLimit, limitRemaining, durationUntilResetSeconds } =
    chosen.status;
  const policies = (chosen.limits ?? []).map(({ limit }) =>
    `${limit.requestsPerUnit};w=${limit.windowSeconds}`
  );
  return [
    {
      key: names.limit,
      value: [currentLimit.requestsPerUnit, ...policies].join(", "),
    },
    { key: names.remaining, value: String(limitRemaining) },
    { key: names.reset, value: String(durationUntilResetSeconds ?? 0) },
  ];
}

function chooseCandidate(
  candidates: readonly HeaderCandidate[],
): HeaderCandidate | undefined {
  let chosen: HeaderCandidate | undefined;
  for (const candidate of candidates) {
    const { status, isQuota } = candidate;
    if (status.currentLimit === undefined) continue;
    const refuses = status.code === CODE.OVER_LIMIT && !isQuota;
    if (
      chosen === undefined || refuses ||
      status.limitRemaining < chosen.status.limitRemaining
    ) chosen = candidate;
  }
  return chosen;
}
