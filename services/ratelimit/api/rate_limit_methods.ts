/**
 * `envoy.service.ratelimit.v3.RateLimitService` over the transport seam.
 *
 * @module
 */

import { encodeRateLimitResponse } from "../../../proto/rate_limit_response_codec.ts";
import { WireWriter } from "../../../proto/wire_writer.ts";
import type { GrpcAnswer, GrpcMethods } from "../../shared/grpc/method.ts";
import type { DecisionEndpoint, EndpointOutcome } from "./decision_endpoint.ts";
import { refusalFailure } from "./refusal_status.ts";

/** Full path of the one method of the service. */
export const SHOULD_RATE_LIMIT_PATH =
  "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

const ANSWER_BUFFER_BYTES = 16_384;

/** The methods of the service. */
export function rateLimitMethods(endpoint: DecisionEndpoint): GrpcMethods {
  // One buffer for many answers: making one for each costs more than encoding.
  const writer = new WireWriter(ANSWER_BUFFER_BYTES);
  const answerOf = (outcome: EndpointOutcome): GrpcAnswer =>
    outcome.kind === "refused"
      ? refusalFailure(outcome)
      : encodeRateLimitResponse(outcome.response, { writer });
  return {
    [SHOULD_RATE_LIMIT_PATH]: {
      kind: "unary",
      handle(request) {
        const outcome = endpoint.decide(request);
        return outcome instanceof Promise
          ? outcome.then(answerOf)
          : answerOf(outcome);
      },
    },
  };
}
