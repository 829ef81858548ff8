/**
 * Refusals, the requests that get no decision: their kinds, their form in each
 * protocol, and log lines about them that cannot flood the log.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import {
  GRPC_STATUS,
  GrpcFailure,
  type GrpcStatus,
} from "../../shared/grpc/method.ts";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import type { Logger } from "../../shared/logger.ts";
import { problem } from "./problem.ts";

/** Why a request got no decision. */
export type RefusalKind =
  /** The bytes or the text are not a request. */
  | "malformed"
  /**
   * The request can't be decided: it has no domain, no descriptors or no unit.
   */
  | "invalid"
  /** The request has more descriptors, or more bytes, than allowed. */
  | "too_large"
  /** No rules have been loaded yet. */
  | "no_configuration"
  /** The counter store did not answer. */
  | "store_unavailable";

/** A request that got no decision. */
export interface Refusal {
  /** Tells a refusal from a decision. */
  readonly kind: "refused";
  /** The kind of refusal, which gives the status. */
  readonly why: RefusalKind;
  /** The message for the caller. */
  readonly reason: string;
}

const STATUS: Readonly<
  Record<
    RefusalKind,
    { readonly grpc: GrpcStatus; readonly http: 400 | 413 | 503 }
  >
> = {
  malformed: { grpc: GRPC_STATUS.INVALID_ARGUMENT, http: 400 },
  invalid: { grpc: GRPC_STATUS.INVALID_ARGUMENT, http: 400 },
  too_large: { grpc: GRPC_STATUS.RESOURCE_EXHAUSTED, http: 413 },
  no_configuration: { grpc: GRPC_STATUS.UNAVAILABLE, http: 503 },
  store_unavailable: { grpc: GRPC_STATUS.UNAVAILABLE, http: 503 },
};

/** Returns the refusal as the failure of a gRPC call. */
export function refusalFailure(refusal: Refusal): GrpcFailure {
  return new GrpcFailure(STATUS[refusal.why].grpc, refusal.reason);
}

/** Returns the refusal as an HTTP answer. */
export function refusalProblem(refusal: Refusal): HttpResponse {
  const status = STATUS[refusal.why].http;
  return problem({ status, detail: refusal.reason });
}

const QUIET_MS = 60_000;

/**
 * Logs refusals: one of each kind in a minute as a warning, the others at
 * debug, so that they do not flood the log.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #seen = new Map<
    RefusalKind,
    { readonly sinceMs: number; count: number }
  >();

  /** A log that has seen nothing yet. */
  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Logs one refusal. */
  note(why: RefusalKind, reason: string): void {
    const nowMs = this.#clock.nowMs();
    const seen = this.#seen.get(why);
    if (seen !== undefined && nowMs - seen.sinceMs < QUIET_MS) {
      seen.count++;
      this.#logger.debug("Refused a request", { why, reason });
      return;
    }
    this.#seen.set(why, { sinceMs: nowMs, count: 0 });
    this.#logger.warn(
      "Refused a request; more of this kind are logged at " +
        "debug for a minute",
      {
        why,
        reason,
        sinceLastWarning: seen?.count,
      },
    );
  }
}
