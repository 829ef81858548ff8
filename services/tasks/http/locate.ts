/**
 * Finds where a request goes: the part of the service by its host, the tenant,
 * and the route by method and path.
 *
 * @module
 */

import type { HttpHeaders, HttpRequest } from "../../shared/http/exchange.ts";
import {
  type RouteMatch as TreeMatch,
  RouteTree,
} from "../../shared/http/route_tree.ts";
import {
  type HostOutcome,
  resolveOrigin,
  resolveTarget,
  type TrustedOrigin,
} from "../access/host.ts";
import type { Network } from "../../shared/ip_network.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { PlanLimits, Tenant } from "../domain/records.ts";
import { REGISTRY, type Repositories } from "../engine/repositories.ts";
import type { Answer } from "./answer.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";

/** The kinds of hosts that the service has. */
export const HOST_KINDS = [
  "tenant",
  "accounts",
  "accounts_admin",
  "apex",
] as const;

/** The kind of a host of the service. */
export type HostKind = typeof HOST_KINDS[number];

/** The settings that decide where requests go. */
export interface DestinationOptions {
  /** The host whose subdomains are the tenants. */
  readonly serviceHost: string;
  /**
   * Whether tenants may be named by header or path instead of the host name.
   */
  readonly devFallback: boolean;
  /** Proxies whose forwarding headers are believed. */
  readonly trustedProxies: readonly Network[];
}

/** Where the header fields and the target of a request lead. */
export interface Destination {
  /** The origin of the request, as far as it can be trusted. */
  readonly origin: TrustedOrigin;
  /** The part of the service it is for. */
  readonly part: HostOutcome;
  /** The path within that part of the service. */
  readonly path: string;
  /**
   * The start of the path that named the part, such as `/t/acme`, in
   * development; usually empty.
   */
  readonly prefix: string;
  /** The query string as it was sent, without the question mark. */
  readonly rawQuery: string;
}

interface Known {
  readonly target: string;
  readonly peerAddress: string;
  readonly isTls: boolean;
  readonly destination: Destination;
}

/**
 * Reads where requests go. When a connection repeats the same bytes of headers,
 * the server gives the same headers object, so the outcome is kept by that
 * object.
 */
export class Destinations {
  readonly #options: DestinationOptions;
  readonly #known = new WeakMap<HttpHeaders, Known>();

  /** Nothing has been read yet. */
  constructor(options: DestinationOptions) {
    this.#options = options;
  }

  /** Where a request goes. */
  of(request: HttpRequest): Destination {
    const { headers, target, isTls, peer: { address: peerAddress } } = request;
    const known = this.#known.get(headers);
    const isKnown = known?.target === target && known.isTls === isTls &&
      known.peerAddress === peerAddress;
    if (isKnown) return known.destination;
    const destination = this.#read(request);
    this.#known.set(headers, { target, peerAddress, isTls, destination });
    return destination;
  }

  #read({ headers, target, peer, isTls }: HttpRequest): Destination {
    const { serviceHost, devFallback, trustedProxies } = this.#options;
    const origin = resolveOrigin({
      peerAddress: peer.address,
      isTls,
      host: headers.all("host"),
      forwardedHost: headers.all("x-forwarded-host"),
      forwardedProto: headers.all("x-forwarded-proto"),
      forwardedFor: headers.all("x-forwarded-for"),
    }, trustedProxies);
    const mark = target.indexOf("?");
    const { part, path, prefix } = resolveTarget({
      host: origin.host,
      path: mark === -1 ? target : target.slice(0, mark),
      xTenant: headers.all("x-tenant"),
    }, { serviceHost, devFallback });
    const rawQuery = mark === -1 ? "" : target.slice(mark + 1);
    return { origin, part, path, prefix, rawQuery };
  }
}

/** What is needed to find the tenant of a request. */
export interface LocateOptions {
  /** Has the tenants. */
  readonly repositories: Pick<Repositories, "tenants">;
  /** The limits of a plan, by its id. */
  readonly limitsOfPlan: (plan: string) => PlanLimits;
}

/** A request for a known part of the service, before its route is found. */
export interface Incoming {
  /** The request. */
  readonly request: HttpRequest;
  /** The request's id. */
  readonly requestId: string;
  /** The request's origin, as far as it can be trusted. */
  readonly origin: TrustedOrigin;
  /** The query string as it was sent, without the question mark. */
  readonly rawQuery: string;
  /** The path within the part of the service. */
  readonly path: string;
  /**
   * The start of the path that named the part, such as `/t/acme`, in
   * development; usually empty.
   */
  readonly prefix: string;
  /** The part of the service. */
  readonly host: HostKind;
  /** The tenant; absent on hosts that are no tenant's. */
  readonly tenant: Tenant | undefined;
  /** The limits of the tenant's plan; absent without a tenant. */
  readonly limits: PlanLimits | undefined;
}

/**
 * The part of the service a request is for, or a problem when there is no such
 * part.
 */
type Located =
  | { readonly kind: "ok"; readonly incoming: Incoming }
  | ProblemAnswer;

/**
 * Finds which part of the service a request is for. The tenant of a host is a
 * cached record, so one that another instance suspends, closes or gives another
 * domain is found as it is within four seconds.
 *
 * @returns A value at once when the tenant is remembered, otherwise a promise.
 */
export function locate(
  request: HttpRequest,
  options: LocateOptions & {
    /** Where the headers and target of the request lead. */
    readonly destination: Destination;
    /** The id of the request. */
    readonly requestId: string;
  },
): MaybePromise<Located> {
  const { destination, repositories, limitsOfPlan, requestId } = options;
  const { origin, part, path, prefix, rawQuery } = destination;
  const at = (
    host: HostKind,
    tenant?: Tenant,
    limits?: PlanLimits,
  ): Located => ({
    kind: "ok",
    incoming: {
      request,
      requestId,
      origin,
      rawQuery,
      path,
      prefix,
      host,
      tenant,
      limits,
    },
  });
  switch (part.kind) {
    case "bad_host":
      return problem("bad_host", {
        detail: "Cannot find the tenant: the Host header is missing, " +
          "repeated or not a host name",
      });
    case "unknown":
      return unknownTenant();
    case "tenant":
      return andThen(
        repositories.tenants.byAlias(REGISTRY, part.label),
        (tenant) => {
          if (tenant === undefined || tenant.status === "closing") {
            return unknownTenant();
          }
          return tenant.status === "suspended"
            ? suspended(tenant)
            : at("tenant", tenant, limitsOfPlan(tenant.plan));
        },
      );
    default:
      return at(part.kind);
  }
}

/** The problem of a request of a tenant that the operator has suspended. */
export function suspended({ domain }: Tenant): ProblemAnswer {
  return problem("tenant_suspended", {
    detail: `Cannot serve "${domain}": it is suspended`,
  });
}

/** The problem of a request of no tenant. */
export function unknownTenant(): ProblemAnswer {
  return problem("tenant_not_found", {
    detail: "Cannot find the tenant: the host name is unknown",
  });
}

/**
 * The base path below which the routes of a host are; a host without an entry
 * has none.
 */
export const BASE_PATHS: Readonly<Partial<Record<HostKind, string>>> = {
  tenant: "/api",
};

/** What a route is matched by. */
export interface Routable {
  /** The method. */
  readonly method: string;
  /**
   * The path below the host's base path. A segment `:name` matches any one
   * segment.
   */
  readonly path: string;
  /** The kind of host that offers the route. */
  readonly hosts: HostKind | "any";
  /**
   * Whether the path stands at the root of the host instead of below the base
   * path of the API.
   * @default {false}
   */
  readonly isOutsideBase?: boolean;
}

/** The outcome of looking for a route on a host. */
type RouteMatch<R> =
  | TreeMatch<R>
  | {
    /** Answer 308: the resource has no slash at its end. */
    readonly kind: "redirect";
    /** The path without the slash; the query follows it. */
    readonly path: string;
  };

/** Finds routes of a table by host, method and path. */
export class RouteMatcher<R extends Routable> {
  readonly #trees: Readonly<Record<HostKind, RouteTree<R>>>;

  /**
   * Builds the index of a table of routes.
   *
   * @throws {TypeError} when a path is malformed, or when two routes of a host
   * have the same method and path
   */
  constructor(routes: readonly R[]) {
    const buildTree = (host: HostKind): RouteTree<R> => {
      const tree = new RouteTree<R>();
      for (const route of routes) {
        if (route.hosts !== host && route.hosts !== "any") continue;
        tree.add(route.method, fullPath(route, host), route);
      }
      return tree;
    };
    this.#trees = {
      tenant: buildTree("tenant"),
      accounts: buildTree("accounts"),
      accounts_admin: buildTree("accounts_admin"),
      apex: buildTree("apex"),
    };
  }

  /**
   * Finds the route of a host for a method and a path without query, by the
   * rules of {@linkcode RouteTree}. A path with one slash too many at its end
   * is redirected.
   */
  match(host: HostKind, method: string, path: string): RouteMatch<R> {
    const tree = this.#trees[host];
    const found = tree.match(method, path);
    if (found.kind !== "not_found") return found;
    if (!path.endsWith("/") || path === "/") return found;
    const bare = path.slice(0, -1);
    // Two slashes at the end are an empty segment, which no route's path has.
    return bare.endsWith("/") || tree.allow(bare) === undefined
      ? found
      : { kind: "redirect", path: bare };
  }
}

/**
 * The full path of a route on a host, with the host's base path.
 *
 * @throws {TypeError} when the route's path does not begin with a slash
 */
export function fullPath(
  route: Pick<Routable, "path" | "hosts" | "isOutsideBase">,
  host: HostKind,
): string {
  if (!route.path.startsWith("/")) {
    throw new TypeError(
      `Cannot add route "${route.path}": it does not begin with a slash`,
    );
  }
  const basePath = BASE_PATHS[host] ?? "";
  const isOutside = route.isOutsideBase === true || route.hosts === "any";
  if (isOutside || basePath === "") return route.path;
  return route.path === "/" ? basePath : `${basePath}${route.path}`;
}

/** The answer to a request that leads to no route: a redirect, or a problem. */
export function answerWithoutRoute(
  match: Exclude<RouteMatch<unknown>, { readonly kind: "route" }>,
  { rawQuery, prefix, path, host, request: { method } }: Incoming,
): Answer {
  switch (match.kind) {
    case "redirect": {
      const query = rawQuery === "" ? "" : `?${rawQuery}`;
      return {
        kind: "empty",
        status: 308,
        headers: { location: prefix + match.path + query },
      };
    }
    case "method_not_allowed":
      return problem("method_not_allowed", {
        detail: `Cannot use ${method} here: ${match.allow} are offered`,
        headers: { allow: match.allow },
      });
    case "not_found":
      return problem("not_found", {
        detail: describeUnknownPath(path, host),
      });
  }
}

/** Says that a path does not exist on a kind of host, and where to look. */
export function describeUnknownPath(path: string, host: HostKind): string {
  return `Cannot find the path: it does not exist; ${pathHint(path, host)}`;
}

function pathHint(path: string, host: HostKind): string {
  if (host === "tenant" && path.startsWith("/v1/")) {
    return "the API begins with /api/v1/";
  }
  if (host === "apex" && path.startsWith("/api/")) {
    return "the API is at each tenant's own host; name it in the Host header";
  }
  return "/docs lists all paths";
}
