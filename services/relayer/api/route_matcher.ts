/**
 * Finds the route of a request.
 *
 * @module
 */

import type { Route } from "./route.ts";

/** What looking for a route comes to. */
export type RouteMatch =
  | {
    readonly kind: "route";
    /** The route. */
    readonly route: Route;
    /** What stands where its path has `:name`, as it was sent. */
    readonly params: Readonly<Record<string, string>>;
  }
  /** The path has routes, but none of that method. */
  | {
    readonly kind: "method_not_allowed";
    /** The methods it has, for the header `Allow`. */
    readonly allow: string;
  }
  | { readonly kind: "not_found" };

interface Pattern {
  readonly segments: readonly string[];
  readonly routes: Route[];
}

/** A table of routes. Paths are compared as they were sent, byte for byte. */
export class RouteMatcher {
  readonly #literals = new Map<string, Route[]>();
  readonly #patterns: Pattern[] = [];

  /**
   * Takes in routes.
   *
   * @throws {TypeError} when two have the same method and path
   */
  constructor(routes: readonly Route[]) {
    const byPath = new Map<string, Route[]>();
    for (const route of routes) {
      const same = byPath.get(route.path) ?? [];
      if (same.some(({ method }) => method === route.method)) {
        throw new TypeError(
          `Cannot add route "${route.method} ${route.path}": there is one`,
        );
      }
      same.push(route);
      byPath.set(route.path, same);
    }
    for (const [path, same] of byPath) {
      if (path.includes("/:")) {
        this.#patterns.push({ segments: path.split("/"), routes: same });
      } else this.#literals.set(path, same);
    }
  }

  /** Finds the route of a method and a path. */
  match(method: string, path: string): RouteMatch {
    const literal = this.#literals.get(path);
    if (literal !== undefined) return choose(literal, { method, params: {} });
    const segments = path.split("/");
    for (const pattern of this.#patterns) {
      const params = paramsOf(pattern.segments, segments);
      if (params !== undefined) {
        return choose(pattern.routes, { method, params });
      }
    }
    return { kind: "not_found" };
  }

  /** The methods of a path, for `Allow`; undefined when there is no such path. */
  allow(path: string): string | undefined {
    // No route has this method, so nothing but the list can come of it.
    const match = this.match("", path);
    return match.kind === "method_not_allowed" ? match.allow : undefined;
  }
}

function choose(
  routes: readonly Route[],
  { method, params }: {
    readonly method: string;
    readonly params: Readonly<Record<string, string>>;
  },
): RouteMatch {
  const wanted = method === "HEAD" ? "GET" : method;
  const route = routes.find((one) => one.method === wanted);
  if (route !== undefined) return { kind: "route", route, params };
  const methods = new Set<string>(["OPTIONS"]);
  for (const one of routes) {
    methods.add(one.method);
    if (one.method === "GET") methods.add("HEAD");
  }
  return { kind: "method_not_allowed", allow: [...methods].sort().join(", ") };
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
    } else if (segment === "") return undefined;
    else params.push([expected.slice(1), segment]);
  }
  return Object.fromEntries(params);
}
