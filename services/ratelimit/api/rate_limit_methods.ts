/**
 * The gRPC methods of `envoy.service.ratelimit.v3.RateLimitService`, and the
 * statistics of unary methods.
 *
 * @module
 */

import { encodeRateLimitResponse } from "../../../proto/rate_limit_response.ts";
import { WireWriter } from "../../../proto/wire_writer.ts";
import type { Clock } from "../../shared/clock.ts";
import type {
  CallObserver,
  GrpcAnswer,
  GrpcCall,
  GrpcMethod,
  GrpcMethods,
} from "../../shared/grpc/method.ts";
import type { Stats } from "../stats/stats.ts";
import type { ReadField } from "../../shared/telemetry/tracing.ts";
import type {
  DecisionCall,
  DecisionEndpoint,
  EndpointOutcome,
} from "./decision_endpoint.ts";
import { refusalFailure } from "./refusal.ts";

/** Full path of the one method of the service. */
export const SHOULD_RATE_LIMIT_PATH =
  "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

const ANSWER_BUFFER_BYTES = 16_384;

/** Returns the gRPC methods of the service. */
export function rateLimitMethods(endpoint: DecisionEndpoint): GrpcMethods {
  // One buffer for many answers: a new one for each costs more than encoding.
  const writer = new WireWriter(ANSWER_BUFFER_BYTES);
  const toAnswer = (outcome: EndpointOutcome): GrpcAnswer =>
    outcome.kind === "refused"
      ? refusalFailure(outcome)
      : encodeRateLimitResponse(outcome.response, { writer });
  return {
    [SHOULD_RATE_LIMIT_PATH]: {
      kind: "unary",
      handle: (request, call) =>
        endpoint.decideAs(request, {
          answer: toAnswer,
          call: endpoint.isTraced ? toDecisionCall(call) : undefined,
        }),
    },
  };
}

const NO_FIELD: ReadField = () => undefined;
const RPC_ATTRIBUTES = {
  "rpc.system": "grpc",
  "rpc.service": "envoy.service.ratelimit.v3.RateLimitService",
  "rpc.method": "ShouldRateLimit",
};

function toDecisionCall({ metadata }: GrpcCall): DecisionCall {
  return {
    field: metadata === undefined ? NO_FIELD : (name) => metadata[name],
    attributes: RPC_ATTRIBUTES,
  };
}

/**
 * Wraps methods so that their calls are counted under
 * `ratelimit_server.‹Method›.total_requests` and timed under `.response_time`.
 * Streams are left as they are.
 */
export function measuredMethods(
  methods: GrpcMethods,
  options: { readonly stats: Stats; readonly clock: Clock },
): GrpcMethods {
  return Object.fromEntries(
    Object.entries(methods).map(([path, method]) => [
      path,
      measured(path, method, options),
    ]),
  );
}

/** Name of the counter of calls for a decision. */
export const DECISION_REQUESTS: string =
  "ratelimit_server.ShouldRateLimit.total_requests";

function measured(
  path: string,
  method: GrpcMethod,
  options: { readonly stats: Stats; readonly clock: Clock },
): GrpcMethod {
  if (method.kind !== "unary") return method;
  const { stats, clock } = options;
  const name = `ratelimit_server.${path.slice(path.lastIndexOf("/") + 1)}`;
  const requests = stats.counter(`${name}.total_requests`);
  const responseTime = stats.timer(`${name}.response_time`);
  const observer: CallObserver = {
    begun() {
      requests.add();
      return clock.nowMs();
    },
    ended: (begunMs) => responseTime.record(clock.nowMs() - begunMs),
  };
  return { ...method, observer };
}
