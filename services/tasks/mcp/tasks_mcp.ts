/**
 * The endpoint for agents, `/mcp` of each tenant's host. It is loaded with the
 * first request for it.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import { addressGroup } from "../../shared/ip_network.ts";
import type { Logger } from "../../shared/logger.ts";
import { McpEndpoint } from "../../shared/mcp/http_endpoint.ts";
import { type EndedToolCall, McpServer } from "../../shared/mcp/server.ts";
import { describeError } from "../../shared/settled.ts";
import {
  type Destination,
  type DestinationOptions,
  Destinations,
} from "../http/locate.ts";
import type { AnyRoute } from "../http/route.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import type { AgentContext } from "./route_tool.ts";
import { taskCatalog } from "./task_catalog.ts";

/** Options of {@linkcode openTasksMcp}. */
export interface TasksMcpOptions extends DestinationOptions {
  /** Answers the API, which the tools ask. */
  readonly handler: HttpHandler;
  /** All routes of the API. */
  readonly routes: readonly AnyRoute[];
  /** The version that clients are told. */
  readonly version: string;
  /** Measures time. */
  readonly clock: Clock;
  /** Logs failures. */
  readonly logger: Logger;
  /** Makes the ids of sessions, which cannot be guessed. */
  readonly newId: () => string;
  /** Most bytes of a request. */
  readonly maxBodyBytes: number;
  /**
   * Called with each call of a tool that has ended.
   *
   * @default not called
   */
  readonly onCall?: (call: EndedToolCall) => void;
}

/** The endpoint. */
export interface TasksMcp {
  /** Answers requests for `/mcp`; undefined for all others. */
  readonly answer: (request: HttpRequest) => Promise<HttpResponse> | undefined;
  /** How many sessions are open. */
  readonly sessions: () => number;
  /** Answers the calls under way, and ends the sessions. */
  readonly drain: () => void;
  /** Ends all sessions, streams and calls. */
  readonly end: () => void;
}

/** The path at each tenant's host. */
const PATH = "/mcp";
/** The most bytes of a request, whatever the API takes. */
const MAX_BYTES = 4_194_304;
/** How long a stream is open before its credential is checked again. */
const MAX_STREAM_MS = 300_000;

/** Opens the endpoint. */
export function openTasksMcp(options: TasksMcpOptions): TasksMcp {
  const { clock, logger, newId } = options;
  const destinations = new Destinations(options);
  // A request at the endpoint's path may have lost the start that named its
  // tenant.
  const places = new WeakMap<HttpRequest, Destination>();
  const placeOf = (request: HttpRequest): Destination =>
    places.get(request) ?? destinations.of(request);
  const doorkeeper = new Doorkeeper(options);
  const endpoint = new McpEndpoint<AgentContext>({
    server: new McpServer<AgentContext>({
      catalog: taskCatalog(options),
      clock,
      ...options.onCall === undefined ? {} : { onCall: options.onCall },
      onError(error, method) {
        const fields = { method, error: describeError(error) };
        logger.error("Cannot answer a call of an agent", fields);
      },
    }),
    paths: { endpoint: PATH },
    clock,
    newId,
    maxBodyBytes: Math.min(options.maxBodyBytes, MAX_BYTES),
    maxStreamMs: MAX_STREAM_MS,
    door: {
      // No page of another origin is meant to hold a key of a tenant.
      isOriginAllowed: () => false,
      clientGroup: (request) =>
        addressGroup(placeOf(request).origin.clientAddress ?? ""),
      enter: (request) =>
        doorkeeper.enter(request, {
          destination: placeOf(request),
          onRefused: (owner) => endpoint.endOf(owner),
        }),
    },
  });
  return {
    answer(request) {
      const destination = destinations.of(request);
      const { part, path } = destination;
      if (part.kind !== "tenant" || path !== PATH) return undefined;
      const moved = atPath(request);
      places.set(moved, destination);
      return endpoint.answer(moved);
    },
    sessions: () => endpoint.sessions,
    drain: () => endpoint.drain(),
    end: () => endpoint.end(),
  };
}

/** The same request at the endpoint's path, for the endpoint to match. */
function atPath(request: HttpRequest): HttpRequest {
  return request.target === PATH ? request : {
    method: request.method,
    target: request.target.replace(/^[^?]*/, PATH),
    headers: request.headers,
    peer: request.peer,
    isTls: request.isTls,
    isGone: () => request.isGone(),
    onGone: (listener) => request.onGone(listener),
    body: (maxBytes) => request.body(maxBytes),
  };
}
