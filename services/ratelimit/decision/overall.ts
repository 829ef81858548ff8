/**
 * The decision on a whole request.
 *
 * @module
 */

import { CODE, type Code } from "../../../proto/rate_limit_response.ts";

/** What the whole decision needs to know of one descriptor. */
export interface DescriptorVerdict {
  /** The decision on the descriptor, rule shadow mode applied. */
  readonly code: Code;
  /** True when the descriptor is a quota. */
  readonly isQuota: boolean;
}

/**
 * `OVER_LIMIT` when any normal descriptor is over its limit, or when the
 * request has quotas and all of them are used up.
 */
export function overallCode(verdicts: readonly DescriptorVerdict[]): Code {
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
