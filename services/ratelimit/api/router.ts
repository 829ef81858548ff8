/**
 * Routes the requests of an HTTP port to their handlers.
 *
 * @module
 */

import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import { RouteTree } from "../../shared/http/route_tree.ts";
import type { Logger } from "../../shared/logger.ts";
import { problem } from "./problem.ts";

/** A method and a path, with the handler that answers them. */
export interface Route {
  /** The method; `"GET"` answers HEAD as well, `"*"` all methods. */
  readonly method: "*" | "GET" | "POST" | "DELETE";
  /** The path, beginning with a slash. */
  readonly path: string;
  /** Answers the requests that match. */
  readonly handle: HttpHandler;
}

/** What a router is made of. */
interface RouterOptions {
  /** The routes. */
  readonly routes: readonly Route[];
  /** Logs the errors of handlers. */
  readonly logger: Logger;
  /**
   * True when a slash at the end of a path is ignored.
   *
   * @default false
   */
  readonly ignoreLastSlash?: boolean;
}

/**
 * Makes a handler of routes. An unknown path is answered with 404, a known path
 * with another method with 405 and `Allow`, and an error of a handler with 500
 * and nothing of the error's text; all are problem answers. When a handler
 * answers without a promise, so does the router.
 *
 * @throws {TypeError} when a path is malformed or when two routes have the same
 * method and path
 */
export function createRouter(options: RouterOptions): HttpHandler {
  const { routes, logger, ignoreLastSlash = false } = options;
  const tree = new RouteTree<Route>();
  for (const route of routes) tree.add(route.method, route.path, route);

  return (request) => {
    const [asked = ""] = request.target.split("?", 1);
    const path = ignoreLastSlash && asked.length > 1 && asked.endsWith("/")
      ? asked.slice(0, -1)
      : asked;
    const match = tree.match(request.method, path);
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

function answer(
  request: HttpRequest,
  { route, logger }: { readonly route: Route; readonly logger: Logger },
): HttpResponse | Promise<HttpResponse> {
  const fail = (error: unknown): HttpResponse => {
    // The route's pattern is logged, not the path: a path may hold what no log
    // should.
    logger.error("Cannot answer request: the handler failed", {
      method: request.method,
      route: route.path,
      error: error instanceof Error
        ? error.stack ?? String(error)
        : String(error),
    });
    return problem({ status: 500 });
  };
  try {
    const response = route.handle(request);
    return response instanceof Promise ? response.catch(fail) : response;
  } catch (error) {
    return fail(error);
  }
}
