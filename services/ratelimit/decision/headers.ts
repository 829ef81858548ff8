/**
 * The headers that tell a client its limit, where they are enabled.
 *
 * @module
 */

import {
  CODE,
  type DescriptorStatus,
  type HeaderValue,
} from "../../../proto/rate_limit_response.ts";

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
export interface HeaderCandidate {
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
export function limitHeaders(
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
