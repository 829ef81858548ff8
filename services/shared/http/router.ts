/**
 * Finds the handler for a request by method and path.
 *
 * @module
 */

import type { Logger } from "../logger.ts";
import type { ConnectionInfo } from "./peer.ts";
import { problem } from "./problem.ts";

/** A method a route answers to; `"*"` stands for all. */
export type RouteMethod =
  | "*"
  | "DELETE"
  | "GET"
  | "OPTIONS"
  | "PATCH"
  | "POST"
  | "PUT";

/** What a handler gets beside the request. */
export interface RouteContext {
  /** The values of the path's `:name` segments, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The connection; absent when the router is called without a server. */
  readonly info: ConnectionInfo | undefined;
}

/** Answers a request. */
export type RouteHandler = (
  request: Request,
  context: RouteContext,
) => Response | Promise<Response>;

/** One method and path, and who answers. */
export interface Route {
  /** The method; `"GET"` answers HEAD as well. */
  readonly method: RouteMethod;
  /** The path, beginning with a slash; a segment `:name` matches any one. */
  readonly path: string;
  /** Answers the requests that match. */
  readonly handle: RouteHandler;
}

/** What a router is made of. */
export interface RouterOptions {
  /** The routes; a literal path goes before a pattern, then in this order. */
  readonly routes: readonly Route[];
  /** Takes the errors of handlers. */
  readonly logger: Logger;
}

/** Answers every request; the second argument is absent in tests. */
export type Router = (
  request: Request,
  info?: ConnectionInfo,
) => Response | Promise<Response>;

interface Pattern {
  readonly segments: readonly string[];
  readonly route: Route;
}

interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** What ends a host within a URL; the rest would pass for the path. */
const NO_HOST = /[/?#\\@]/;
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/**
 * Makes a router. Unknown paths are answered with 404, known ones with another
 * method with 405 and `Allow`, errors of handlers with 500 and nothing of their
 * content, all as problems. Where a handler answers at once, so does the
 * router: no promise is made.
 *
 * @throws {TypeError} when a path does not begin with a slash or when two
 * routes have the same method and path
 */
export function createRouter(options: RouterOptions): Router {
  const literals = new Map<string, Route[]>();
  const patterns: Pattern[] = [];
  checkRoutes(options.routes);
  for (const route of options.routes) {
    if (route.path.includes("/:")) {
      patterns.push({ segments: route.path.split("/"), route });
    } else {
      literals.set(route.path, [...literals.get(route.path) ?? [], route]);
    }
  }

  return (request, info) => {
    const { method } = request;
    const host = request.headers.get("host");
    if (host !== null && NO_HOST.test(host)) {
      return problem({ status: 400, detail: "The Host header names no host" });
    }
    const path = pathOf(request.url);
    const answering = { request, method, info, logger: options.logger };
    const literal = literals.get(path)?.find((one) => one.method === method);
    if (literal !== undefined) {
      return answer({ route: literal, params: NO_PARAMS }, answering);
    }
    const matches = matchesOf(path, literals, patterns);
    if (matches.length === 0) return problem({ status: 404 });
    const match = matches.find((one) => one.route.method === method) ??
      matches.find((one) => answers(one.route, method));
    if (match === undefined) {
      return problem({
        status: 405,
        headers: { allow: allowedMethods(matches) },
      });
    }
    return answer(match, answering);
  };
}

/** Takes the path out of a URL; far cheaper than parsing all of it. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const query = url.indexOf("?", start);
  const path = query === -1 ? url.slice(start) : url.slice(start, query);
  const fragment = path.indexOf("#");
  return fragment === -1 ? path : path.slice(0, fragment);
}

function matchesOf(
  path: string,
  literals: ReadonlyMap<string, readonly Route[]>,
  patterns: readonly Pattern[],
): Match[] {
  const matches: Match[] = [];
  for (const route of literals.get(path) ?? []) {
    matches.push({ route, params: NO_PARAMS });
  }
  if (patterns.length === 0) return matches;
  const segments = path.split("/");
  for (const pattern of patterns) {
    const params = paramsOf(pattern.segments, segments);
    if (params !== undefined) matches.push({ route: pattern.route, params });
  }
  return matches;
}

function paramsOf(
  pattern: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: [string, string][] = [];
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (!expected.startsWith(":")) {
      if (expected !== segment) return undefined;
      continue;
    }
    const value = decodeSegment(segment);
    if (value === undefined || value === "") return undefined;
    params.push([expected.slice(1), value]);
  }
  return Object.fromEntries(params);
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    // Broken percent-encoding names nothing, so it matches nothing.
    return undefined;
  }
}

function answers(route: Route, method: string): boolean {
  return route.method === "*" || (route.method === "GET" && method === "HEAD");
}

function allowedMethods(matches: readonly Match[]): string {
  const methods = new Set<string>();
  for (const { route } of matches) {
    methods.add(route.method);
    if (route.method === "GET") methods.add("HEAD");
  }
  return [...methods].sort().join(", ");
}

interface Answering {
  readonly request: Request;
  readonly method: string;
  readonly info: ConnectionInfo | undefined;
  readonly logger: Logger;
}

function answer(
  { route, params }: Match,
  { request, method, info, logger }: Answering,
): Response | Promise<Response> {
  const fail = (error: unknown): Response => {
    // The pattern, not the path: paths may hold what no log should.
    logger.error("Cannot answer request: the handler failed", {
      method,
      route: route.path,
      error: describe(error),
    });
    return problem({ status: 500 });
  };
  const finish = (response: Response): Response =>
    method === "HEAD" ? withoutBody(response) : response;
  try {
    const response = route.handle(request, { params, info });
    return response instanceof Promise
      ? response.then(finish).catch(fail)
      : finish(response);
  } catch (error) {
    return fail(error);
  }
}

function withoutBody(response: Response): Response {
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  // A stream nobody reads has to be told; its failure matters to nobody.
  response.body.cancel().catch(() => {});
  return new Response(null, { status, statusText, headers });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? String(error) : String(error);
}

function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const { method, path } of routes) {
    if (!path.startsWith("/")) {
      throw new TypeError(
        `Cannot add route "${path}": it does not begin with a slash`,
      );
    }
    const key = `${method} ${path.replaceAll(/\/:[^/]*/g, "/:")}`;
    if (seen.has(key)) {
      throw new TypeError(
        `Cannot add route "${method} ${path}": it is there already`,
      );
    }
    seen.add(key);
  }
}
