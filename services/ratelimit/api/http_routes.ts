/**
 * The routes of the HTTP port and of the debug port.
 *
 * @module
 */

import {
  requestFromJson,
  responseToJson,
} from "../../../proto/rate_limit_json.ts";
import { encodeRateLimitRequest } from "../../../proto/rate_limit_request.ts";
import { CODE } from "../../../proto/rate_limit_response.ts";
import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import { describeRules, type Snapshot } from "../rules/snapshot.ts";
import { statsJson, statsText } from "../stats/page.ts";
import type { StatsRegistry } from "../stats/registry.ts";
import type { DecisionEndpoint, EndpointOutcome } from "./decision_endpoint.ts";
import type { HealthState } from "./health_state.ts";
import { problem } from "./problem.ts";
import { refusalProblem } from "./refusal.ts";
import type { Route } from "./router.ts";

/** The parts behind the routes. */
interface PublicRoutesOptions {
  /** Decides. */
  readonly endpoint: DecisionEndpoint;
  /** Knows whether the service is healthy. */
  readonly health: HealthState;
  /** Largest body that is accepted. */
  readonly maxBytes: number;
}

const JSON_HEADERS = { "content-type": "application/json" } as const;

/** `POST /json` and `/healthcheck`. */
export function publicRoutes(options: PublicRoutesOptions): Route[] {
  const { health } = options;
  return [
    {
      method: "POST",
      path: "/json",
      handle: (request) => decideJson(request, options),
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

async function decideJson(
  request: HttpRequest,
  { endpoint, maxBytes }: PublicRoutesOptions,
): Promise<HttpResponse> {
  const body = await request.body(maxBytes);
  switch (body.kind) {
    case "too_large":
      return refusalProblem(endpoint.refuse(
        "too_large",
        `Cannot take request: its body is larger than ${maxBytes} bytes`,
      ));
    case "busy":
      return problem({
        status: 503,
        detail: "Cannot take request: the bodies of other requests use up " +
          "the memory for them; try again",
      });
    case "aborted":
      return body.reason === "timed_out"
        ? problem({
          status: 408,
          detail: "Cannot take request: its body did not arrive in time",
        })
        // Either the client has gone, or the service stops and reads no
        // further.
        : problem({
          status: 503,
          detail: "Cannot take request: its body did not arrive whole",
        });
    case "ok":
      return answerOf(await decideText(body.bytes, endpoint));
  }
}

function decideText(
  body: Uint8Array,
  endpoint: DecisionEndpoint,
): EndpointOutcome | Promise<EndpointOutcome> {
  const text = textOf(body);
  if (text === undefined) {
    return endpoint.refuse(
      "malformed",
      "Cannot read request: its body is not UTF-8",
    );
  }
  const parsed = requestFromJson(text);
  return parsed.kind === "invalid"
    ? endpoint.refuse("malformed", parsed.reason)
    // One matcher for both protocols: it reads the bytes of the message.
    : endpoint.decide(encodeRateLimitRequest(parsed.request));
}

function answerOf(outcome: EndpointOutcome): HttpResponse {
  if (outcome.kind === "refused") return refusalProblem(outcome);
  const { response } = outcome;
  return {
    status: response.overallCode === CODE.OVER_LIMIT ? 429 : 200,
    headers: JSON_HEADERS,
    body: responseToJson(response),
  };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The parts behind the routes. */
interface DebugRoutesOptions {
  /** The current rules; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  /** All statistics. */
  readonly registry: StatsRegistry;
}

const PAGES: readonly { readonly path: string; readonly help: string }[] = [
  { path: "/", help: "this list" },
  { path: "/rlconfig", help: "the rules in force, a line each" },
  {
    path: "/stats",
    help: "all statistics; ?filter=TEXT keeps names with TEXT, " +
      "?format=json gives JSON",
  },
];

/** `/`, `/rlconfig` and `/stats`. */
export function debugRoutes(options: DebugRoutesOptions): Route[] {
  return [
    {
      method: "GET",
      path: "/",
      handle: () =>
        textPage(PAGES.map(({ path, help }) => `${path}: ${help}\n`).join("")),
    },
    {
      method: "GET",
      path: "/rlconfig",
      handle: () => textPage(rulesText(options.snapshot())),
    },
    {
      method: "GET",
      path: "/stats",
      handle: (request) => statsPage(request, options.registry),
    },
  ];
}

function rulesText(snapshot: Snapshot | undefined): string {
  if (snapshot === undefined) return "no rate limit configuration loaded\n";
  return describeRules(snapshot).map((line) => `${line}\n`).join("");
}

function statsPage(
  { target }: HttpRequest,
  registry: StatsRegistry,
): HttpResponse {
  const start = target.indexOf("?");
  const query = new URLSearchParams(start === -1 ? "" : target.slice(start));
  const filter = query.get("filter") ?? "";
  const snapshot = registry.snapshot();
  return query.get("format") === "json"
    ? {
      status: 200,
      headers: JSON_HEADERS,
      body: JSON.stringify(statsJson(snapshot, filter)),
    }
    : textPage(statsText(snapshot, filter));
}

function textPage(text: string): HttpResponse {
  return {
    status: 200,
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: text,
  };
}
