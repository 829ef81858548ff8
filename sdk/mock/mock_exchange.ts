/**
 * The mock's routes, and the types of its requests, answers and handlers.
 *
 * @module
 */

import type { ClientClock } from "../memory/client_clock.ts";
import type { MockStore } from "./mock_store.ts";
import { RELAYER_ROUTES } from "./relayer_routes.ts";

/**
 * A route of the relayer: the method, and the path with names for its variable
 * segments.
 */
export type MockRoute =
  | "GET /version"
  | "GET /health"
  | "GET /config"
  | "GET /api/whoami"
  | "POST /api/remember"
  | "POST /api/remember/bulk"
  | "GET /api/remember/:id"
  | "POST /api/remember/bulk/status"
  | "POST /api/recall"
  | "POST /api/analyze"
  | "POST /api/ask"
  | "POST /api/embed"
  | "DELETE /api/memories/:id"
  | "POST /api/forget"
  | "POST /api/restore"
  | "POST /api/stats"
  | "POST /api/remember/manual"
  | "POST /api/recall/manual"
  | "GET /v1/owners/:owner/memories"
  | "GET /v1/owners/:owner/namespaces";

/** All routes. */
export const MOCK_ROUTES: readonly MockRoute[] = Object.keys(RELAYER_ROUTES)
  .filter((name): name is MockRoute => Object.hasOwn(RELAYER_ROUTES, name));

/** The route of a request. */
interface FoundRoute {
  /** The route. */
  readonly route: MockRoute;
  /** Whether its requests are signed. */
  readonly isSigned: boolean;
  /** The values of the path's variable segments, in order. */
  readonly params: readonly string[];
}

/** Finds the route of a request; undefined when there is none. */
export function findRoute(
  method: string,
  path: string,
): FoundRoute | undefined {
  const segments = path.split("/");
  for (const route of MOCK_ROUTES) {
    const [itsMethod = "", pattern = ""] = route.split(" ");
    const names = pattern.split("/");
    const fits = itsMethod === method && names.length === segments.length &&
      names.every((name, at) => name.startsWith(":") || name === segments[at]);
    if (!fits) continue;
    const params = segments.filter((_, at) => names[at]?.startsWith(":"));
    const isSigned = RELAYER_ROUTES[route].access !== "open";
    return { route, isSigned, params: params.map(decoded) };
  }
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A percent sign that does not begin an escape is kept; no id contains one.
    return segment;
  }
}

/** What a client sent to the mock. */
export interface MockRequest {
  /** The HTTP method. */
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  /** What stands behind the question mark. */
  readonly query: URLSearchParams;
  /** The header fields, as they came. */
  readonly headers: Headers;
  /** The body as JSON; undefined where there is none. */
  readonly body: unknown;
  /** Aborts what waits for the answer. */
  readonly signal: AbortSignal;
}

/** The answer that a client gets. */
export interface MockAnswer {
  /** The HTTP status code. */
  readonly status: number;
  /** The body; undefined for none. */
  readonly json: unknown;
  /** Header fields; undefined for none. */
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** Options of a relayer in memory. */
export interface MockRelayerOptions {
  /** Tells the time and sets timers. */
  readonly clock: ClientClock;
  /** Returns the facts in a text. */
  readonly facts: (text: string) => readonly string[];
  /** Answers a question from texts. */
  readonly answer: (question: string, texts: readonly string[]) => string;
  /**
   * The most bytes of memories in a recall's answer, which always has at least
   * one memory.
   */
  readonly maxAnswerBytes: number;
}

/** A request whose route was found. */
export interface MockCall extends MockRequest {
  /** The values of the path's variable segments, such as `:id`, in order. */
  readonly params: readonly string[];
}

/** The functions that answer the requests of each route. */
export type MockHandlers = Readonly<
  Record<MockRoute, (call: MockCall) => MockAnswer | Promise<MockAnswer>>
>;

/** The parts that the handlers share. */
export interface MockParts extends MockRelayerOptions {
  /** The memories and jobs. */
  readonly store: MockStore;
}

/** Returns an answer with a status. */
export function createAnswer(
  status: number,
  json: unknown,
  headers?: Readonly<Record<string, string>>,
): MockAnswer {
  return { status, json, headers };
}

/** Returns an answer with the status 200. */
export function ok(json: unknown): MockAnswer {
  return createAnswer(200, json);
}
