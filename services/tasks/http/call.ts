/**
 * The call that a route's handler is given for a request. Also reads two
 * headers that all routes share: the request's id, and what the client prefers
 * (RFC 7240).
 *
 * @module
 */

import { newRequestId } from "../../shared/http1/response.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { MaybePromise } from "../../shared/settled.ts";
import type { Caller } from "../access/caller.ts";
import type { PlanLimits, Tenant } from "../domain/records.ts";
import type { LeaseHolder } from "../engine/leases.ts";
import type { Write } from "../store/store.ts";
import type { Admission, RequestGate } from "./admission.ts";
import type { Answer, AnswerHeaders } from "./answer.ts";
import type { AnswerPlace } from "../engine/bulk/operation.ts";
import type { Incoming } from "./locate.ts";

/** A request as its handler gets it, before query and body are read. */
export interface CallContext {
  /** The values of the path's `:name` segments, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The path of the request as it was sent. */
  readonly path: string;
  /** The query string as it was sent, without the question mark. */
  readonly rawQuery: string;
  /**
   * Lets the requests of other tenants go first. A handler with much to do
   * calls it after every millisecond of work at most:
   * `await call.pausing.pause()`.
   */
  readonly pausing: Pausing;
  /**
   * Counts a request that acts on many tasks as several requests against the
   * rate of its plan.
   */
  charge(tasks: number): void;
  /** The id of the request. */
  readonly requestId: string;
  /** The tenant; absent on hosts that are no tenant's. */
  readonly tenant: Tenant | undefined;
  /** The limits of the tenant's plan; absent without a tenant. */
  readonly limits: PlanLimits | undefined;
  /** The caller; absent on public routes. */
  readonly caller: Caller | undefined;
  /**
   * The holder that the lease's token claims to be; on the routes of a lease
   * alone.
   */
  readonly holder?: LeaseHolder | undefined;
  /**
   * The URL of the API as clients see it, such as
   * `https://acme.example.com/api`.
   */
  readonly baseUrl: string;
  /** The address of the client. */
  readonly peer: string;
  /** The time the request is answered at, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * The writes that keep an answer, so that a client that repeats its request
   * gets the same one. They belong in the transaction that has the request's
   * effect. Empty without an Idempotency-Key, and for answers that are not
   * kept.
   */
  extraWrites(answer: Answer): readonly Write[];
  /**
   * Where the answer is kept, for effects that outlive the request; absent
   * without an Idempotency-Key.
   */
  readonly answerPlace?: AnswerPlace | undefined;
  /**
   * Authenticates the caller again, for routes that let callers wait: a
   * credential may be revoked or expire meanwhile.
   */
  reauthorize(): MaybePromise<Admission>;
  /**
   * Makes a function that does so when the request is over. It keeps the
   * credential, and nothing else of the request.
   */
  reauthorizer(): () => MaybePromise<Admission>;
  /** The value of a header, whatever the case of its name. */
  header(name: string): string | undefined;
  /** Tells whether the client has disconnected. */
  isGone(): boolean;
  /**
   * Calls `listener` once when the client disconnects, or at once if it already
   * has.
   *
   * @returns A function that stops listening.
   */
  onGone(listener: () => void): () => void;
}

/** A request as its handler gets it. */
export interface Call<Query, Body> extends CallContext {
  /** The query, as the route's schema reads it. */
  readonly query: Query;
  /** The body, as the route's schema reads it. */
  readonly body: Body;
}

/** Options of {@linkcode createContext}: what is known of the request by now. */
interface ContextOptions extends
  Pick<
    CallContext,
    | "params"
    | "caller"
    | "holder"
    | "pausing"
    | "charge"
    | "extraWrites"
    | "answerPlace"
    | "nowMs"
  > {
  /** The host that the request names. */
  readonly host: string;
  /** What admitted the caller. */
  readonly gate: Pick<RequestGate, "admit" | "readmission">;
}

/** Makes the context of a call. Query and body are added when they are read. */
export function createContext(
  incoming: Incoming,
  options: ContextOptions,
): CallContext {
  const { params, caller, holder, pausing, nowMs, host } = options;
  const { extraWrites, gate, answerPlace, charge } = options;
  const { request, requestId, origin, rawQuery, prefix, path } = incoming;
  const { tenant, limits } = incoming;
  return {
    params,
    caller,
    holder,
    pausing,
    charge,
    extraWrites,
    reauthorize: () => gate.admit(),
    reauthorizer: () => gate.readmission(),
    answerPlace,
    path: prefix + path,
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
export function getTenant(call: Pick<CallContext, "tenant">): Tenant {
  if (call.tenant !== undefined) return call.tenant;
  throw new TypeError("Cannot find the tenant: the route is not of its host");
}

/**
 * The limits of the tenant's plan, for routes of tenants' hosts.
 *
 * @throws {TypeError} when there are none: the route is of another host
 */
export function getLimits(call: Pick<CallContext, "limits">): PlanLimits {
  if (call.limits !== undefined) return call.limits;
  throw new TypeError("Cannot find the limits: the route is not of a tenant");
}

/**
 * The caller of a call, for routes that are not public.
 *
 * @throws {TypeError} when there is no caller: the route is public
 */
export function getCaller(call: Pick<CallContext, "caller">): Caller {
  if (call.caller !== undefined) return call.caller;
  throw new TypeError("Cannot authenticate: the route is public");
}

/** Ids that need no quoting in a log, a URL path or a header. */
const SAFE_ID = /^[A-Za-z0-9._~:+/=@-]{1,128}$/;

/**
 * The id of a request: the client's own, when it is safe to repeat, or else a
 * new one.
 */
export function pickRequestId(header: string | undefined): string {
  return header !== undefined && SAFE_ID.test(header) ? header : newRequestId();
}

/** The preference for an answer with the smallest body that will do. */
const MINIMAL = "return=minimal";

/**
 * The header that tells that {@linkcode prefersMinimal} was heeded (RFC 7240,
 * 3).
 */
export const MINIMAL_APPLIED: AnswerHeaders = { "preference-applied": MINIMAL };

/**
 * Whether a `Prefer` header asks for `return=minimal` (RFC 7240, 4.2). When a
 * preference is stated more than once, the first one counts (section 2).
 * Preferences that are malformed or unknown are ignored.
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
