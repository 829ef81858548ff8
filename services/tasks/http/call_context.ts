/**
 * What the handler of a route is given of its request.
 *
 * @module
 */

import { singleValue } from "../access/host.ts";
import type { CallContext } from "./call.ts";
import { parseTraceParent } from "./request_headers.ts";
import type { Incoming } from "./locate.ts";

/** Options of {@linkcode contextOf}: what was found out on the way. */
export interface ContextOptions extends
  Pick<
    CallContext,
    | "params"
    | "caller"
    | "pausing"
    | "charge"
    | "along"
    | "admitAgain"
    | "answerPlace"
    | "nowMs"
  > {
  /** The host of the service, for requests that name none. */
  readonly serviceHost: string;
}

/** Makes what the handler of a route is given. */
export function contextOf(
  incoming: Incoming,
  options: ContextOptions,
): CallContext {
  const { params, caller, pausing, nowMs, serviceHost } = options;
  const { along, admitAgain, answerPlace, charge } = options;
  const { request, requestId, origin, path, rawQuery, prefix, tenant } =
    incoming;
  const host = singleValue(origin.host) ?? serviceHost;
  return {
    params,
    caller,
    pausing,
    charge,
    along,
    admitAgain,
    answerPlace,
    path,
    rawQuery,
    requestId,
    trace: parseTraceParent(request.headers.get("traceparent")),
    tenant,
    baseUrl: `${origin.scheme}://${host}${prefix}` +
      (tenant === undefined ? "" : "/api"),
    peer: origin.clientAddress ?? "",
    nowMs,
    header: (name) => request.headers.get(name),
    isGone: () => request.isGone(),
    onGone: (listener) => request.onGone(listener),
  };
}
