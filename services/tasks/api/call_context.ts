/**
 * What the handler of a route is given of its request.
 *
 * @module
 */

import { singleValue } from "../access/host.ts";
import type { CallContext } from "./http/call.ts";
import { parseTraceParent } from "./http/request_id.ts";
import type { Incoming } from "./locate.ts";

/** Options of {@linkcode contextOf}: what was found out on the way. */
export interface ContextOptions
  extends
    Pick<CallContext, "params" | "caller" | "bodyText" | "along" | "nowMs"> {
  /** The host of the service, for requests that name none. */
  readonly serviceHost: string;
}

/** Makes what the handler of a route is given. */
export function contextOf(
  incoming: Incoming,
  { params, caller, bodyText, along, nowMs, serviceHost }: ContextOptions,
): CallContext {
  const { request, requestId, origin, path, rawQuery, tenant } = incoming;
  const host = singleValue(origin.host) ?? serviceHost;
  return {
    params,
    caller,
    bodyText,
    along,
    path,
    rawQuery,
    requestId,
    trace: parseTraceParent(request.headers.get("traceparent")),
    tenant,
    baseUrl: `${origin.scheme}://${host}${tenant === undefined ? "" : "/api"}`,
    peer: origin.clientAddress ?? "",
    nowMs,
    header: (name) => request.headers.get(name),
    isGone: () => request.isGone(),
    onGone: (listener) => request.onGone(listener),
  };
}
