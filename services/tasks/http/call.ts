/**
 * What the handler of a route is called with, one object for each request, and
 * what its headers say whatever the route is: the id of the request, and what the
 * client prefers (RFC 7240).
 *
 * @module
 */

import { newRequestId } from "../../shared/http/exchange.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { MaybePromise } from "../../shared/settled.ts";
import type { Caller } from "../access/caller.ts";
import type { PlanLimits, Tenant } from "../domain/records.ts";
import type { LeaseHolder } from "../engine/leases.ts";
import type { Write } from "../store/store.ts";
import type { Admission } from "./admission.ts";
import type { Answer, AnswerHeaders } from "./answer.ts";
import type { AnswerPlace } from "../engine/bulk/operation.ts";
import type { Incoming } from "./locate.ts";

/** A request without what its route's schemas read of it. */
export interface CallContext {
  /** The values of the path's `:name` segments, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query as it came, without question mark. */
  readonly rawQuery: string;
  /**
   * Lets the requests of other tenants go first. Handlers that do much call it
   * between slices of a millisecond or less: `await call.pausing.pause()`.
   */
  readonly pausing: Pausing;
  /**
   * Counts what a request does to many tasks as further requests of its plan's
   * rate.
   */
  charge(tasks: number): void;
  /** The id of the request. */
  readonly requestId: string;
  /** The tenant; absent on hosts that are no tenant's. */
  readonly tenant: Tenant | undefined;
  /** The limits of its plan; absent where the tenant is. */
  readonly limits: PlanLimits | undefined;
  /** Who calls; absent on public routes. */
  readonly caller: Caller | undefined;
  /** Who says to hold the lease of the path, on the routes of a lease alone. */
  readonly holder?: LeaseHolder | undefined;
  /** Where the API is, as clients see it: `https://acme.example.com/api`. */
  readonly baseUrl: string;
  /** The address of the client. */
  readonly peer: string;
  /** The time the request is answered at, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * The writes that keep an answer for a client that repeats its request; they
   * belong into the very transaction that holds the effect. Empty where the client
   * gave no Idempotency-Key, and for answers that are not kept.
   */
  extraWrites(answer: Answer): readonly Write[];
  /**
   * Where the answer is kept, for effects that outlive the request; absent where
   * the client gave no Idempotency-Key.
   */
  readonly answerPlace?: AnswerPlace | undefined;
  /**
   * Authenticates the caller again, for routes that let their callers wait: a
   * credential may have been revoked or have expired meanwhile.
   */
  reauthorize(): MaybePromise<Admission>;
  /** The value of a header, whatever the case of its name. */
  header(name: string): string | undefined;
  /** Tells whether the client has gone away. */
  isGone(): boolean;
  /**
   * Calls `listener` once when the client goes away, at once if it has.
   *
   * @returns Stops listening.
   */
  onGone(listener: () => void): () => void;
}

/** A request as its handler gets it. */
export interface Call<Query, Body> extends CallContext {
  /** What the route's query schema read. */
  readonly query: Query;
  /** What the route's body schema read. */
  readonly body: Body;
}

/** Options of {@linkcode contextOf}: what was found out on the way. */
interface ContextOptions extends
  Pick<
    CallContext,
    | "params"
    | "caller"
    | "holder"
    | "pausing"
    | "charge"
    | "extraWrites"
    | "reauthorize"
    | "answerPlace"
    | "nowMs"
  > {
  /** The host that the request names. */
  readonly host: string;
}

/** Makes the call that the handler of a route is given, but for query and body. */
export function contextOf(
  incoming: Incoming,
  options: ContextOptions,
): CallContext {
  const { params, caller, holder, pausing, nowMs, host } = options;
  const { extraWrites, reauthorize, answerPlace, charge } = options;
  const { request, requestId, origin, rawQuery, prefix } = incoming;
  const { tenant, limits } = incoming;
  return {
    params,
    caller,
    holder,
    pausing,
    charge,
    extraWrites,
    reauthorize,
    answerPlace,
    rawQuery,
    requestId,
    tenant,
    limits,
    baseUrl: `${origin.scheme}://${host}${prefix}` +
      (tenant === undefined ? "" : "/api"),
    peer: origin.clientAddress ?? "",
    nowMs,
    header: (name) => request.headers.get(name),
    isGone: () => request.isGone(),
    onGone: (listener) => request.onGone(listener),
  };
}

/**
 * The tenant of a call, for routes of tenants' hosts.
 *
 * @throws {TypeError} when there is none: the route is of another host
 */
export function tenantOf(call: Pick<CallContext, "tenant">): Tenant {
  if (call.tenant !== undefined) return call.tenant;
  throw new TypeError("Cannot tell the tenant: the route is not of its host");
}

/**
 * The limits of the tenant's plan, for routes of tenants' hosts.
 *
 * @throws {TypeError} when there are none: the route is of another host
 */
export function limitsOf(call: Pick<CallContext, "limits">): PlanLimits {
  if (call.limits !== undefined) return call.limits;
  throw new TypeError("Cannot tell the limits: the route is not of a tenant");
}

/**
 * Who makes a call, for routes that are not public.
 *
 * @throws {TypeError} when there is no caller: the route is public
 */
export function callerOf(call: Pick<CallContext, "caller">): Caller {
  if (call.caller !== undefined) return call.caller;
  throw new TypeError("Cannot tell who calls: the route is public");
}

/** What needs no quoting in a log, a URL path or a header. */
const SAFE_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/**
 * The id of a request: the client's own, when it is safe to repeat, or else a
 * new one.
 */
export function requestIdOf(header: string | undefined): string {
  return header !== undefined && SAFE_ID.test(header) ? header : newRequestId();
}

/** The preference for an answer that says no more than it must. */
const MINIMAL = "return=minimal";

/** Tells that {@linkcode prefersMinimal} was heeded (RFC 7240, 3). */
export const MINIMAL_APPLIED: AnswerHeaders = { "preference-applied": MINIMAL };

/**
 * Whether a `Prefer` header asks for `return=minimal` (RFC 7240, 4.2). Of a
 * preference that is stated more than once the first counts (section 2), and
 * what is malformed or unknown is as if it was not there.
 */
export function prefersMinimal(header: string | undefined): boolean {
  if (header === undefined) return false;
  for (const preference of header.split(",")) {
    const [stated = ""] = preference.split(";", 1);
    const [name = "", value = ""] = stated.split("=", 2)
      .map((part) => part.trim());
    if (name.toLowerCase() !== "return") continue;
    return value.replace(/^"(.*)"$/, "$1") === "minimal";
  }
  return false;
}
