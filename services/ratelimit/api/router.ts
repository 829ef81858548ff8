/**
 * Answers requests of an HTTP port by its routes.
 *
 * @module
 */

import { problem } from "../../shared/http/problem.ts";
import { RouteTree } from "../../shared/http/route_tree.ts";
import type { Logger } from "../../shared/logger.ts";

/** One method and path, and who answers. */
export interface Route {
  /** The method; `"GET"` answers HEAD as well, `"*"` all methods. */
  readonly method: "*" | "GET" | "POST";
  /** The path, beginning with a slash. */
  readonly path: string;
  /** Answers the requests that match. */
  readonly handle: (request: Request) => Response | Promise<Response>;
}

/** What a router is made of. */
interface RouterOptions {
  /** The routes. */
  readonly routes: readonly Route[];
  /** Takes the errors of handlers. */
  readonly logger: Logger;
}

/** Answers every request. */
export type Router = (request: Request) => Response | Promise<Response>;

/** What ends a host within a URL; the rest would pass for the path. */
const NO_HOST = /[/?#\\@]/;

/**
 * Makes a router. Unknown paths are answered with 404, known ones with another
 * method with 405 and `Allow`, errors of handlers with 500 and nothing of their
 * content, all as problems. Where a handler answers at once, so does the
 * router: no promise is made.
 *
 * @throws {TypeError} when a path is malformed or when two routes have the same
 * method and path
 */
export function createRouter({ routes, logger }: RouterOptions): Router {
  const tree = new RouteTree<Route>();
  for (const route of routes) tree.add(route.method, route.path, route);

  return (request) => {
    const host = request.headers.get("host");
    if (host !== null && NO_HOST.test(host)) {
      return problem({ status: 400, detail: "The Host header names no host" });
    }
    const match = tree.match(request.method, pathOf(request.url));
    switch (match.kind) {
      case "route":
        return answer(request, { route: match.route, logger });
      case "method_not_allowed":
        return problem({ status: 405, headers: { allow: match.allow } });
      case "not_found":
        return problem({ status: 404 });
    }
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

function answer(
  request: Request,
  { route, logger }: { readonly route: Route; readonly logger: Logger },
): Response | Promise<Response> {
  const { method } = request;
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
    const response = route.handle(request);
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
  // A stream that is not read must be cancelled; its failure does not matter.
  response.body.cancel().catch(() => {});
  return new Response(null, { status, statusText, headers });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? String(error) : String(error);
}
