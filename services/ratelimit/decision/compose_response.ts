/**
 * The answer to a request out of the decisions on its descriptors.
 *
 * @module
 */

import {
  CODE,
  type Code,
  type DescriptorStatus,
  type HeaderValue,
  type JsonObject,
  type RateLimitResponse,
  UNIT,
} from "../../../proto/rate_limit_response.ts";
import type { Rule } from "../rules/snapshot.ts";
import { dynamicMetadata } from "./dynamic_metadata.ts";
import type { Judgement } from "./judge.ts";
import type { PlannedDescriptor } from "./plan.ts";

/** The decision on one descriptor, and the rule it was made by. */
interface JudgedDescriptor {
  /** The decision. */
  readonly status: DescriptorStatus;
  /** Undefined when no rule applied, or a limit came with the request. */
  readonly rule: Rule | undefined;
}

/** How answers are composed. */
interface ComposeOptions {
  /** Every descriptor is a quota. */
  readonly quotaMode: boolean;
  /** Names of the headers to add; undefined adds none. */
  readonly headers: LimitHeaderNames | undefined;
  /** The request's part of the dynamic metadata; undefined adds none. */
  readonly requestMetadata: JsonObject | undefined;
}

const MAX_UINT32 = 0xffff_ffff;

/** The status of a descriptor; limited ones have been judged. */
export function judgedDescriptor(
  planned: PlannedDescriptor,
  judgement: Judgement | undefined,
): JudgedDescriptor {
  if (planned.kind === "limited" && judgement !== undefined) {
    return { status: limitedStatus(planned, judgement), rule: planned.rule };
  }
  const isUnlimited = planned.kind === "unlimited";
  return {
    status: { code: CODE.OK, limitRemaining: isUnlimited ? MAX_UINT32 : 0 },
    rule: isUnlimited ? planned.rule : undefined,
  };
}

/** The whole answer, before global shadow mode. */
export function composeResponse(
  judged: readonly JudgedDescriptor[],
  options: ComposeOptions,
): RateLimitResponse {
  const { quotaMode, headers, requestMetadata } = options;
  const verdicts = judged.map(({ status, rule }) => ({
    status,
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
    dynamicMetadata: dynamicMetadata(requestMetadata, metadataOfPassed(judged)),
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
  planned: PlannedDescriptor & { readonly kind: "limited" },
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

/** What the whole decision needs to know of one descriptor. */
interface DescriptorVerdict {
  /** The decision on the descriptor, rule shadow mode applied. */
  readonly code: Code;
  /** True when the descriptor is a quota. */
  readonly isQuota: boolean;
}

/**
 * `OVER_LIMIT` when any normal descriptor is over its limit, or when the
 * request has quotas and all of them are used up.
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

/** Names of the headers. */
export interface LimitHeaderNames {
  /** Carries the limit. */
  readonly limit: string;
  /** Carries what remains. */
  readonly remaining: string;
  /** Carries the seconds to the end of the window. */
  readonly reset: string;
}

/** A status, and whether it belongs to a quota. */
interface HeaderCandidate {
  /** The status. */
  readonly status: DescriptorStatus;
  /** True when it never refuses by itself. */
  readonly isQuota: boolean;
}

/**
 * The headers of one answer. They speak of the first status with the least
 * remaining; a normal status that is over its limit takes the place of any
 * before it, so the last of those wins. Empty when no limit applied.
 */
function limitHeaders(
  candidates: readonly HeaderCandidate[],
  names: LimitHeaderNames,
): HeaderValue[] {
  const chosen = chooseStatus(candidates);
  if (chosen?.currentLimit === undefined) return [];
  const { currentLimit, limitRemaining, durationUntilResetSeconds } = chosen;
  return [
    { key: names.limit, value: String(currentLimit.requestsPerUnit) },
    { key: names.remaining, value: String(limitRemaining) },
    { key: names.reset, value: String(durationUntilResetSeconds ?? 0) },
  ];
}

function chooseStatus(
  candidates: readonly HeaderCandidate[],
): DescriptorStatus | undefined {
  let chosen: DescriptorStatus | undefined;
  for (const { status, isQuota } of candidates) {
    if (status.currentLimit === undefined) continue;
    const refuses = status.code === CODE.OVER_LIMIT && !isQuota;
    if (
      chosen === undefined || refuses ||
      status.limitRemaining < chosen.limitRemaining
    ) chosen = status;
  }
  return chosen;
}
