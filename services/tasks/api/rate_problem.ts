/**
 * Refusing the requests that are more than a plan allows.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { problem, type ProblemAnswer } from "./http/problem_answer.ts";
import type { Incoming } from "./locate.ts";
import type { RequestRate } from "./request_rate.ts";

/** What requests are counted with. */
export interface Rating {
  /** Counts them. */
  readonly rate: RequestRate;
  /** The time. */
  readonly clock: Clock;
  /** Hears of those that are refused. */
  readonly logger: Logger;
}

/** The problem of a request beyond what a tenant's plan allows in a second. */
export function rateProblem(
  { tenant, limits, origin: { clientAddress } }: Incoming,
  { rate, clock, logger }: Rating,
): ProblemAnswer | undefined {
  const perSecond = limits?.requestsPerSecond;
  if (tenant === undefined || typeof perSecond !== "number") return undefined;
  const nowMs = clock.nowMs();
  const verdict = rate.take(tenant.id, { perSecond, nowMs });
  if (verdict.kind === "ok") return undefined;
  logger.debug("Too many requests of a tenant", {
    tenant: tenant.id,
    client: clientAddress ?? "",
  });
  return problem("rate_limited", {
    detail: `Cannot answer: the plan allows ${perSecond} requests a second`,
    retryAfterMs: verdict.retryAfterMs,
    headers: {
      "ratelimit-policy": `"plan";q=${perSecond};w=1`,
      "ratelimit": `"plan";r=0;t=${Math.ceil(verdict.retryAfterMs / 1_000)}`,
    },
  });
}
