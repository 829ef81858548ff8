/**
 * Decides a request: the part that the gRPC method and the JSON route share.
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
  /** Makes the decisions. */
  readonly decider: Decider;
  /** Gives the time of a call. */
  readonly clock: Clock;
  /** Counts refusals. */
  readonly stats: Stats;
  /** Logs refusals. */
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
   * @default no spans
   */
  readonly tracing?: Tracing | undefined;
}

/** How a request arrived, for the span of its decision. */
export interface DecisionCall {
  /**
   * Reads a metadata field of the gRPC call or a header of the HTTP request.
   */
  readonly field: ReadField;
  /** Attributes of the span that describe the protocol. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** The name that spans of decisions have in envoyproxy/ratelimit. */
const SPAN_NAME = "ShouldRateLimit Execution";
const CODE_NAMES = {
  [CODE.UNKNOWN]: "UNKNOWN",
  [CODE.OK]: "OK",
  [CODE.OVER_LIMIT]: "OVER_LIMIT",
};

/** Characters of a domain's name in a span; longer names are cut. */
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

/**
 * Bytes of the shared buffer for the texts of a JSON request; a request with
 * longer texts gets memory of its own.
 */
const VIEW_BYTES = 16_384;
const STAT = "ratelimit.service.call.should_rate_limit";

/** Decodes requests, decides on them, and counts those that get no decision. */
export class DecisionEndpoint {
  readonly #decider: Decider;
  readonly #clock: Clock;
  readonly #refusals: RefusalLog;
  readonly #serviceErrors: Counter;
  readonly #storeErrors: Counter;
  readonly #maxDescriptors: number;
  readonly #tracing: Tracing | undefined;
  // The decider has finished with the view when it returns, so one view serves
  // all calls.
  readonly #view = new RequestView();
  readonly #memory = new Uint8Array(VIEW_BYTES);

  /** Makes an endpoint from its parts. */
  constructor(options: DecisionEndpointOptions) {
    this.#decider = options.decider;
    this.#clock = options.clock;
    this.#refusals = options.refusals;
    this.#maxDescriptors = options.maxDescriptors ?? 10_000;
    this.#tracing = options.tracing;
    this.#serviceErrors = options.stats.counter(`${STAT}.service_error`);
    // Dashboards of envoyproxy/ratelimit ask for `redis_error`; here it counts
    // the failures of every kind of store.
    this.#storeErrors = options.stats.counter(`${STAT}.redis_error`);
  }

  /**
   * True when decisions are traced; otherwise a `DecisionCall` is of no use.
   */
  get isTraced(): boolean {
    return this.#tracing !== undefined;
  }

  /**
   * Decides on a request, given as values or as an encoded `RateLimitRequest`.
   * `call` describes how the request arrived, for its span; without it, no span
   * is made.
   */
  decide(
    request: Uint8Array | RateLimitRequest,
    call?: DecisionCall,
  ): EndpointOutcome | Promise<EndpointOutcome> {
    const tracing = this.#tracing;
    if (tracing === undefined || call === undefined) {
      return this.#decide(request, (outcome) => outcome);
    }
    const span = tracing.begin(SPAN_NAME, {
      role: "server",
      parent: call.field,
      attributes: call.attributes,
    });
    if (!span.isRecording()) return this.#decide(request, (outcome) => outcome);
    const fail = (error: unknown): never => {
      markFailed(span, "it threw");
      span.end();
      throw error;
    };
    try {
      const outcome = tracing.within(
        span,
        () => this.#decide(request, (outcome) => outcome),
      );
      if (outcome instanceof Promise) {
        this.#describe(span);
        return outcome.then((settled) => endSpan(span, settled), fail);
      }
      // A request that could not be decoded may leave parts of another request
      // in the view.
      if (outcome.kind === "decided") this.#describe(span);
      return endSpan(span, outcome);
    } catch (error) {
      return fail(error);
    }
  }

  /**
   * Decides as {@linkcode DecisionEndpoint.decide} does, and answers with what
   * `answer` makes of the outcome. This takes fewer promises than a `then`.
   */
  decideAs<Answer>(
    request: Uint8Array | RateLimitRequest,
    { answer, call }: {
      readonly answer: (outcome: EndpointOutcome) => Answer;
      readonly call?: DecisionCall | undefined;
    },
  ): Answer | Promise<Answer> {
    if (this.#tracing === undefined || call === undefined) {
      return this.#decide(request, answer);
    }
    const outcome = this.decide(request, call);
    return outcome instanceof Promise ? outcome.then(answer) : answer(outcome);
  }

  /**
   * Describes the request on its span, from the view: the view still holds this
   * request, as nothing else has run since it was read.
   */
  #describe(span: Span): void {
    const view = this.#view;
    const domain = view.text(view.domainStart, view.domainEnd);
    span.setAttributes({
      "domain": domain.slice(0, MAX_DOMAIN_LENGTH),
      "ratelimit.descriptors": view.descriptorCount,
    });
  }

  #decide<Answer>(
    request: Uint8Array | RateLimitRequest,
    answer: (outcome: EndpointOutcome) => Answer,
  ): Answer | Promise<Answer> {
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
      return answer(this.refuse(why, fault.reason));
    }
    const nowSeconds = Math.floor(this.#clock.nowMs() / 1000);
    return this.#decider.decideAs(view, {
      nowSeconds,
      answer: (decision) => answer(this.#outcome(decision)),
    });
  }

  /**
   * Counts and logs a refusal. Callers use it for a fault that they find before
   * they can call `decide`.
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
