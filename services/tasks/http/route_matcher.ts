/**
 * Finds the route of a request by host, method and path.
 *
 * @module
 */

import type { HostKind, RouteFacts, RouteMethod } from "./route.ts";
import { RouteTree } from "./route_tree.ts";

/** What is to be known of a route to find it. */
export type Routable = Pick<
  RouteFacts,
  "method" | "path" | "hosts" | "isOutsideBase"
>;

/** What looking for a route comes to. */
export type RouteMatch<R> =
  | {
    readonly kind: "route";
    /** The route. */
    readonly route: R;
    /** The values of its path's parameters, percent-decoded. */
    readonly params: Readonly<Record<string, string>>;
    /** Whether the method is HEAD, so that the body is left out. */
    readonly isHead: boolean;
  }
  | {
    /** Answer 308: the resource has no slash at its end. */
    readonly kind: "redirect";
    /** The path without the slash; the query follows it. */
    readonly path: string;
  }
  | {
    /** Answer 405. */
    readonly kind: "method_not_allowed";
    /** The methods of the path, for the Allow header. */
    readonly allow: string;
  }
  | { readonly kind: "not_found" };

/** Finds routes. */
export interface RouteMatcher<R> {
  /** The routes of a host. */
  on(host: HostKind): HostMatcher<R>;
}

/** Finds routes of one host. */
export interface HostMatcher<R> {
  /**
   * Finds the route for a method and a path, which is without query.
   *
   * Paths are case-sensitive. Of all paths that fit, the one with a literal
   * segment earliest is meant, and only then the method counts.
   */
  match(method: string, path: string): RouteMatch<R>;
}

/** Options of {@linkcode createMatcher}. */
export interface MatcherOptions {
  /**
   * What stands before the paths of a host's routes.
   * @default {{tenant: "/api"}}
   */
  readonly basePaths?: Readonly<Partial<Record<HostKind, string>>>;
}

/** The hosts. */
export const HOST_KINDS: readonly HostKind[] = [
  "tenant",
  "accounts",
  "accounts_admin",
  "apex",
];

/** The base path of each host that has one, unless told otherwise. */
export const BASE_PATHS: Readonly<Partial<Record<HostKind, string>>> = {
  tenant: "/api",
};

const NOT_FOUND = { kind: "not_found" } as const;

/**
 * Makes a matcher of a route table.
 *
 * @throws {TypeError} when a path is malformed, or when two routes of a host
 * have the same method and path
 */
export function createMatcher<R extends Routable>(
  routes: readonly R[],
  options: MatcherOptions = {},
): RouteMatcher<R> {
  const { basePaths = BASE_PATHS } = options;
  const matchers = HOST_KINDS.map((host) => {
    const tree = new RouteTree<R>();
    for (const route of routes) {
      if (route.hosts !== host && route.hosts !== "any") continue;
      tree.add(route.method, fullPath(route, basePaths[host] ?? ""), route);
    }
    return [host, hostMatcher(tree)] as const;
  });
  const byHost = new Map(matchers);
  const none = hostMatcher(new RouteTree<R>());
  return { on: (host) => byHost.get(host) ?? none };
}

/**
 * The path of a route on a host with a base path.
 *
 * @throws {TypeError} when the route's path does not begin with a slash
 */
export function fullPath(
  route: Pick<Routable, "path" | "hosts" | "isOutsideBase">,
  basePath: string,
): string {
  if (!route.path.startsWith("/")) {
    throw new TypeError(
      `Cannot add route "${route.path}": it does not begin with a slash`,
    );
  }
  const isOutside = route.isOutsideBase === true || route.hosts === "any";
  if (isOutside || basePath === "") return route.path;
  return route.path === "/" ? basePath : `${basePath}${route.path}`;
}

function hostMatcher<R extends Routable>(tree: RouteTree<R>): HostMatcher<R> {
  function match(method: string, path: string): RouteMatch<R> {
    const found = tree.find(path);
    if (found === undefined) return withoutSlash(path);
    const isHead = method === "HEAD";
    // Unknown methods are none of the table's, so they find nothing.
    const wanted = (isHead ? "GET" : method) as RouteMethod;
    const target = found.place.routes.get(wanted);
    if (target === undefined) {
      return { kind: "method_not_allowed", allow: found.place.allow };
    }
    const params: Record<string, string> = {};
    const { names } = target;
    for (let index = 0; index < names.length; index++) {
      params[names[index] ?? ""] = found.values[index] ?? "";
    }
    return { kind: "route", route: target.route, params, isHead };
  }

  function withoutSlash(path: string): RouteMatch<R> {
    if (!path.endsWith("/") || path === "/") return NOT_FOUND;
    const bare = path.slice(0, -1);
    // Two slashes are an empty segment, which no path has.
    return bare.endsWith("/") || tree.find(bare) === undefined
      ? NOT_FOUND
      : { kind: "redirect", path: bare };
  }

  return { match };
}
