/**
 * Answers as short texts, so that a test shows at a glance what it expects.
 *
 * @module
 */

import {
  CODE,
  type RateLimitResponse,
} from "../../proto/rate_limit_response.ts";

/** The overall code, then that of each descriptor: `OVER: OK OVER`. */
export function codesOf(response: RateLimitResponse): string {
  const statuses = response.statuses.map(({ code }) => codeName(code));
  return `${codeName(response.overallCode)}: ${statuses.join(" ")}`;
}

/** The limit that each descriptor was judged by, 0 or more; `-` for none. */
export function limitsOf(response: RateLimitResponse): string {
  return response.statuses.map(({ currentLimit }) =>
    currentLimit === undefined ? "-" : String(currentLimit.requestsPerUnit)
  ).join(" ");
}

/** What remains for each descriptor. */
export function remainingOf(response: RateLimitResponse): readonly number[] {
  return response.statuses.map(({ limitRemaining }) => limitRemaining);
}

/** The headers: `name=value name=value`. */
export function headersOf(response: RateLimitResponse): string {
  return response.responseHeadersToAdd.map(({ key, value }) =>
    `${key}=${value}`
  ).join(" ");
}

function codeName(code: number): string {
  return code === CODE.OK ? "OK" : code === CODE.OVER_LIMIT ? "OVER" : "?";
}
