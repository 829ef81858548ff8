/**
 * Formats responses as short texts, so that a test shows at a glance what it
 * expects.
 *
 * @module
 */

import {
  CODE,
  type RateLimitResponse,
} from "../../proto/rate_limit_response.ts";

/**
 * Returns the overall code, then the code of each descriptor: `OVER: OK OVER`.
 */
export function formatCodes(response: RateLimitResponse): string {
  const statuses = response.statuses.map(({ code }) => codeName(code));
  return `${codeName(response.overallCode)}: ${statuses.join(" ")}`;
}

/**
 * Returns the limit that applied to each descriptor; `-` where no limit
 * applied.
 */
export function formatLimits(response: RateLimitResponse): string {
  return response.statuses.map(({ currentLimit }) =>
    currentLimit === undefined ? "-" : String(currentLimit.requestsPerUnit)
  ).join(" ");
}

/** Returns the remaining requests of each descriptor. */
export function listRemaining(response: RateLimitResponse): readonly number[] {
  return response.statuses.map(({ limitRemaining }) => limitRemaining);
}

/** Returns the response headers as `name=value name=value`. */
export function formatHeaders(response: RateLimitResponse): string {
  return response.responseHeadersToAdd.map(({ key, value }) =>
    `${key}=${value}`
  ).join(" ");
}

function codeName(code: number): string {
  return code === CODE.OK ? "OK" : code === CODE.OVER_LIMIT ? "OVER" : "?";
}
