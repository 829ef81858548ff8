/**
 * A decision from a request: what the gRPC method and the JSON route share.
 *
 * @module
 */

import {
  decodeRateLimitRequest,
  type RateLimitRequest,
  viewRateLimitRequest,
} from "../../../proto/rate_limit_request.ts";
import {
  CODE,
  type RateLimitResponse,
} from "../../../proto/rate_limit_response.ts";
import { RequestView } from "../../../proto/request_view.ts";
import type { Span } from "@opentelemetry/api";
import type { Clock } from "../../shared/clock.ts";
import type { ReadField, Tracing } from "../../shared/telemetry/tracing.ts";
import { markFailed } from "../../shared/telemetry/tracing.ts";
import type { Decider, Decision } from "../decision/decide.ts";
import type { Counter, Stats } from "../stats/stats.ts";
import type { Refusal, RefusalKind, RefusalLog } from "./refusal.ts";

/** The outcome of a request. */
export type EndpointOutcome =
  | { readonly kind: "decided"; readonly response: RateLimitResponse }
  | Refusal;

/** The parts of a {@linkcode DecisionEndpoint}. */
interface DecisionEndpointOptions {
  /** Decides. */
  readonly decider: Decider;
  /** Gives the time of a call. */
  readonly clock: Clock;
  /** Counts refusals. */
  readonly stats: Stats;
  /** Tells of refusals. */
  readonly refusals: RefusalLog;
  /**
   * Most descriptors of one request.
   *
   * @default 10000
   */
  readonly maxDescriptors?: number;
  /**
   * Makes a span of each decision.
   *
   * @default none is made
   */
  readonly tracing?: Tracing | undefined;
}

/** How a request came. */
export interface DecisionCall {
  /** The fields of the call or the request. */
  readonly field: ReadField;
  /** What its span says of the protocol. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** The name that spans of decisions have in envoyproxy/ratelimit. */
const SPAN_NAME = "ShouldRateLimit Execution";
const CODE_NAMES = {
  [CODE.UNKNOWN]: "UNKNOWN",
  [CODE.OK]: "OK",
  [CODE.OVER_LIMIT]: "OVER_LIMIT",
};

/** Longer names of domains are cut in spans. */
const MAX_DOMAIN_LENGTH = 256;

function endSpan(span: Span, outcome: EndpointOutcome): EndpointOutcome {
  if (outcome.kind === "decided") {
    const { overallCode } = outcome.response;
    span.setAttribute("ratelimit.code", CODE_NAMES[overallCode]);
  } else {
    markFailed(span, outcome.why);
  }
  span.end();
  return outcome;
}

/** Texts of a request in JSON up to here take no memory of their own. */
const VIEW_BYTES = 16_384;
const STAT = "ratelimit.service.call.should_rate_limit";

/** Decodes, decides, and counts what could not be decided. */
export class DecisionEndpoint {
  readonly #decider: Decider;
  readonly #clock: Clock;
  readonly #refusals: RefusalLog;
  readonly #serviceErrors: Counter;
  readonly #storeErrors: Counter;
  readonly #maxDescriptors: number;
  readonly #tracing: Tracing | undefined;
  // A decider is done with the view when it returns, so one serves all calls.
  readonly #view = new RequestView();
  readonly #memory = new Uint8Array(VIEW_BYTES);

  /** An endpoint of its parts. */
  constructor(options: DecisionEndpointOptions) {
    this.#decider = options.decider;
    this.#clock = options.clock;
    this.#refusals = options.refusals;
    this.#maxDescriptors = options.maxDescriptors ?? 10_000;
    this.#tracing = options.tracing;
    this.#serviceErrors = options.stats.counter(`${STAT}.service_error`);
    // The name that dashboards of envoyproxy/ratelimit ask for; it stands for
    // every kind of store.
    this.#storeErrors = options.stats.counter(`${STAT}.redis_error`);
  }

  /** Whether decisions are traced, so that it matters how a request came. */
  get isTraced(): boolean {
    return this.#tracing !== undefined;
  }

  /**
   * Decides on a request, or on an encoded `RateLimitRequest`. `call` tells how
   * it came, for its span; without it there is none.
   */
  decide(
    request: Uint8Array | RateLimitRequest,
    call?: DecisionCall,
  ): EndpointOutcome | Promise<EndpointOutcome> {
    const tracing = this.#tracing;
    if (tracing === undefined || call === undefined) {
      return this.#decide(request);
    }
    const span = tracing.begin(SPAN_NAME, {
      role: "server",
      parent: call.field,
      attributes: call.attributes,
    });
    if (!span.isRecording()) return this.#decide(request);
    const fail = (error: unknown): never => {
      markFailed(span, "it threw");
      span.end();
      throw error;
    };
    try {
      const outcome = tracing.within(span, () => this.#decide(request));
      if (outcome instanceof Promise) {
        this.#describe(span);
        return outcome.then((settled) => endSpan(span, settled), fail);
      }
      // What could not be read may leave the view with parts of another request.
      if (outcome.kind === "decided") this.#describe(span);
      return endSpan(span, outcome);
    } catch (error) {
      return fail(error);
    }
  }

  /** Tells what the view shows: nothing else has run since it was read. */
  #describe(span: Span): void {
    const view = this.#view;
    const domain = view.text(view.domainStart, view.domainEnd);
    span.setAttributes({
      "domain": domain.slice(0, MAX_DOMAIN_LENGTH),
      "ratelimit.descriptors": view.descriptorCount,
    });
  }

  #decide(
    request: Uint8Array | RateLimitRequest,
  ): EndpointOutcome | Promise<EndpointOutcome> {
    const view = this.#view;
    const maxDescriptors = this.#maxDescriptors;
    const fault = request instanceof Uint8Array
      ? decodeRateLimitRequest(request, view, { maxDescriptors })
      : viewRateLimitRequest(request, view, {
        maxDescriptors,
        memory: this.#memory,
      });
    if (fault !== undefined) {
      const why = fault.kind === "malformed" ? "malformed" : "too_large";
      return this.refuse(why, fault.reason);
    }
    const nowSeconds = Math.floor(this.#clock.nowMs() / 1000);
    const decision = this.#decider.decide(view, nowSeconds);
    return decision instanceof Promise
      ? decision.then((settled) => this.#outcome(settled))
      : this.#outcome(decision);
  }

  /**
   * Counts and logs a refusal; for callers that see one before `decide` can.
   */
  refuse(why: RefusalKind, reason: string): Refusal {
    const isStore = why === "store_unavailable";
    (isStore ? this.#storeErrors : this.#serviceErrors).add();
    this.#refusals.note(why, reason);
    return { kind: "refused", why, reason };
  }

  #outcome(decision: Decision): EndpointOutcome {
    switch (decision.kind) {
      case "decided":
        return decision;
      case "invalid":
        return this.refuse("invalid", decision.reason);
      case "unavailable":
        return this.refuse(
          decision.cause === "store" ? "store_unavailable" : "no_configuration",
          decision.reason,
        );
    }
  }
}
