/**
 * The routes of the HTTP port: decisions over JSON, and the health check.
 *
 * @module
 */

import {
  requestFromJson,
  responseToJson,
} from "../../../proto/rate_limit_json.ts";
import { CODE } from "../../../proto/rate_limit_response.ts";
import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import type { DecisionEndpoint, EndpointOutcome } from "./decision_endpoint.ts";
import type { HealthState } from "./health_state.ts";
import { problem } from "./problem.ts";
import { refusalProblem } from "./refusal.ts";
import type { Route } from "./router.ts";

/** The parts behind the routes. */
interface PublicRoutesOptions {
  /** Decides the requests. */
  readonly endpoint: DecisionEndpoint;
  /** Tells whether the service is healthy. */
  readonly health: HealthState;
  /** Largest body in bytes that is accepted. */
  readonly maxBytes: number;
}

const HTTP_ATTRIBUTES = {
  "http.request.method": "POST",
  "http.route": "/json",
};
const JSON_HEADERS = { "content-type": "application/json" } as const;

/** Returns the routes `POST /json` and `/healthcheck`. */
export function publicRoutes(options: PublicRoutesOptions): Route[] {
  const { health } = options;
  // One decoder for all requests: making one takes as long as reading a short
  // text.
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  const json = { ...options, utf8 };
  return [
    {
      method: "POST",
      path: "/json",
      handle: (request) => decideJson(request, json),
    },
    {
      // Probes use whatever method they like.
      method: "*",
      path: "/healthcheck",
      handle: () =>
        health.isHealthy
          ? textPage("OK")
          : problem({ status: 503, detail: health.reasons.join("; ") }),
    },
  ];
}

interface DecideJsonOptions extends PublicRoutesOptions {
  readonly utf8: TextDecoder;
}

async function decideJson(
  request: HttpRequest,
  { endpoint, maxBytes, utf8 }: DecideJsonOptions,
): Promise<HttpResponse> {
  const body = await request.body(maxBytes);
  switch (body.kind) {
    case "too_large":
      return refusalProblem(endpoint.refuse(
        "too_large",
        `Cannot accept request: its body is larger than ${maxBytes} bytes`,
      ));
    case "busy":
      return problem({
        status: 503,
        detail: "Cannot accept request: the bodies of other requests use all " +
          "memory for them; try again",
      });
    case "aborted":
      return body.reason === "timed_out"
        ? problem({
          status: 408,
          detail: "Cannot accept request: its body did not arrive in time",
        })
        // The client has gone, or the service stops and reads no further.
        : problem({
          status: 503,
          detail: "Cannot accept request: its body did not arrive whole",
        });
    case "ok":
      return toAnswer(
        await decideText(body.bytes, { endpoint, request, utf8 }),
      );
  }
}

function decideText(
  body: Uint8Array,
  { endpoint, request: { headers }, utf8 }: {
    readonly endpoint: DecisionEndpoint;
    readonly request: HttpRequest;
    readonly utf8: TextDecoder;
  },
): EndpointOutcome | Promise<EndpointOutcome> {
  const text = decodeText(body, utf8);
  if (text === undefined) {
    return endpoint.refuse(
      "malformed",
      "Cannot read request: its body is not UTF-8",
    );
  }
  const parsed = requestFromJson(text);
  return parsed.kind === "invalid"
    ? endpoint.refuse("malformed", parsed.reason)
    : endpoint.decide(parsed.request, {
      field: (name) => headers.get(name),
      attributes: HTTP_ATTRIBUTES,
    });
}

function toAnswer(outcome: EndpointOutcome): HttpResponse {
  if (outcome.kind === "refused") return refusalProblem(outcome);
  const { response } = outcome;
  return {
    status: response.overallCode === CODE.OVER_LIMIT ? 429 : 200,
    headers: JSON_HEADERS,
    body: responseToJson(response),
  };
}

function decodeText(bytes: Uint8Array, utf8: TextDecoder): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function textPage(text: string): HttpResponse {
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: text,
  };
}
