/**
 * Finds the route of a request by host, method and path.
 *
 * @module
 */

import {
  type RouteMatch as TreeMatch,
  RouteTree,
} from "../../shared/http/route_tree.ts";
import type { HostKind } from "./locate.ts";
import type { RouteFacts } from "./route.ts";

/** What a route is found by. */
type Routable = Pick<
  RouteFacts,
  "method" | "path" | "hosts" | "isOutsideBase"
>;

/** The outcome of looking for a route on a host. */
export type RouteMatch<R> =
  | TreeMatch<R>
  | {
    /** Answer 308: the resource has no slash at its end. */
    readonly kind: "redirect";
    /** The path without the slash; the query follows it. */
    readonly path: string;
  };

/** Finds routes. */
export interface RouteMatcher<R> {
  /** The routes of a host. */
  on(host: HostKind): HostMatcher<R>;
}

/** Finds routes of one host. */
interface HostMatcher<R> {
  /**
   * Finds the route for a method and a path, which is without query, as a
   * {@linkcode RouteTree} does.
   */
  match(method: string, path: string): RouteMatch<R>;
}

/** Options of {@linkcode createMatcher}. */
interface MatcherOptions {
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

function hostMatcher<R>(tree: RouteTree<R>): HostMatcher<R> {
  function match(method: string, path: string): RouteMatch<R> {
    const found = tree.match(method, path);
    if (found.kind !== "not_found") return found;
    if (!path.endsWith("/") || path === "/") return found;
    const bare = path.slice(0, -1);
    // Two slashes are an empty segment, which no path has.
    return bare.endsWith("/") || tree.allow(bare) === undefined
      ? found
      : { kind: "redirect", path: bare };
  }

  return { match };
}
