/**
 * The HTTP handler of the relayer: finds the route of a request, admits the
 * caller, calls the route and adds CORS header fields.
 *
 * @module
 */

import type { Span } from "@opentelemetry/api";
import { steadyMs } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import type { Turn } from "../../shared/fair_turns.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import { toClientGroup } from "../../shared/http/client_address.ts";
import { RouteTree } from "../../shared/http/route_tree.ts";
import {
  nameRoute,
  tracedHandler,
} from "../../shared/telemetry/traced_http.ts";
import type { Caller } from "../auth/authenticate.ts";
import { goneSignal } from "../concurrency/bounded_work.ts";
import { admit, answerOnce, type Arrival, chargeBytes } from "./admission.ts";
import {
  type Answer,
  bodyBytes,
  failureAnswer,
  NO_PATH,
  notAllowed,
  noTurn,
  renderAnswer,
  renderInSlices,
  withTrace,
} from "./answer.ts";
import { isPreflight, preflightHeaders, withCors } from "./cors.ts";
import type { RelayerParts } from "./parts.ts";
import type { Route } from "./route.ts";
import { manualRoutes } from "./routes/manual_routes.ts";
import { sealedRoutes } from "./routes/sealed_routes.ts";
import { deleteMemoryRoute } from "./routes/memory_routes.ts";
import { modelRoutes } from "./routes/model_routes.ts";
import { namespaceRoutes } from "./routes/namespace_routes.ts";
import { ownerRoutes, ownerTokenRoute } from "./routes/owner_routes.ts";
import { recallRoute } from "./routes/recall_routes.ts";
import { rememberRoutes } from "./routes/remember_routes.ts";
import {
  accountRoutes,
  rpcRoutes,
  serviceRoutes,
} from "./routes/service_routes.ts";

/** Returns all routes. A fixed path wins over one with `:name`. */
export function allRoutes(parts: RelayerParts): readonly Route[] {
  return [
    ...serviceRoutes(parts),
    ...rpcRoutes(parts),
    ...accountRoutes(parts),
    ...rememberRoutes(parts),
    recallRoute(parts),
    ...manualRoutes(parts),
    ...sealedRoutes(parts),
    ...modelRoutes(parts),
    ...namespaceRoutes(parts),
    deleteMemoryRoute(parts),
    ...ownerRoutes(parts),
    ownerTokenRoute(parts),
  ];
}

/** Makes the handler of the relayer's port. */
export function createHandler(parts: RelayerParts): HttpHandler {
  const routes = new RouteTree<Route>({
    isDecoding: false,
    alwaysAllowed: ["OPTIONS"],
  });
  for (const route of allRoutes(parts)) {
    routes.add(route.method, route.path, route);
  }
  return tracedHandler(async (request, span) => {
    const response = await respond(request, { parts, routes, span });
    return withCors(response, request, parts.corsOrigins);
  }, parts.tracing);
}

interface Context {
  readonly parts: RelayerParts;
  readonly routes: RouteTree<Route>;
  /** The span of the request; undefined where none is recorded. */
  readonly span: Span | undefined;
}

async function respond(
  request: HttpRequest,
  { parts, routes, span }: Context,
): Promise<HttpResponse> {
  const { method, target } = request;
  const { path, query } = splitTarget(target);
  if (isPreflight(request)) {
    return renderAnswer({ status: 204, headers: preflightHeaders() });
  }
  if (method === "OPTIONS") return optionsAnswer(routes.allow(path));
  const match = routes.match(method, path);
  switch (match.kind) {
    case "not_found":
      return renderAnswer(NO_PATH);
    case "method_not_allowed":
      return renderAnswer(notAllowed(match.allow));
    case "route": {
      if (span !== undefined) nameRoute(span, match.route);
      const arrivedMs = steadyMs(parts.clock);
      const response = await answerRoute(match.route, {
        parts,
        request,
        params: match.params,
        query,
        arrivedMs,
      });
      parts.metrics.count({
        route: `${match.route.method} ${match.route.path}`,
        status: response.status,
        tookMs: steadyMs(parts.clock) - arrivedMs,
      });
      return response;
    }
  }
}

async function answerRoute(
  route: Route,
  { parts, request, params, query, arrivedMs }: {
    readonly parts: RelayerParts;
    readonly request: HttpRequest;
    readonly params: Readonly<Record<string, string>>;
    readonly query: string;
    readonly arrivedMs: number;
  },
): Promise<HttpResponse> {
  const begun = await parts.turns.begin(toStrangerKey(request, parts), request);
  if (begun.kind !== "ok") return renderAnswer(noTurn(begun));
  const { turn } = begun;
  const { signal, end, release } = goneSignal(request);
  const arrival: Arrival = {
    ...{ request, params, query, arrivedMs, signal },
    pausing: turn,
  };
  const { logger, storage } = parts;
  const name = `${route.method} ${route.path}`;
  try {
    const admission = await admit(arrival, { parts, route, turn });
    if (admission.kind === "refused") return admission.response;
    const { spender } = admission;
    const answered = await answerOnce(admission, { parts, end });
    if (answered.kind === "refused") return answered.response;
    const answer = withTrace(answered.answer, { logger, route: name });
    return spender === undefined
      ? renderAnswer(answer)
      : await finished(answer, { parts, turn, spender });
  } catch (error) {
    return renderAnswer(failureAnswer(error, { logger, storage, route: name }));
  } finally {
    release();
  }
}

/**
 * Returns the fair-share key of an unsigned request, by its client's address:
 * all unsigned requests together get the share of one owner.
 */
function toStrangerKey(
  request: HttpRequest,
  { trustedProxies }: RelayerParts,
): FairKey {
  const member = toClientGroup(request, trustedProxies);
  return { group: "strangers", member };
}

/** Writes the answer as a response, and charges the caller for its bytes. */
async function finished(
  answer: Answer,
  { parts, turn, spender }: {
    readonly parts: RelayerParts;
    readonly turn: Turn;
    readonly spender: Caller;
  },
): Promise<HttpResponse> {
  const response = await renderInSlices(answer, turn);
  chargeBytes(spender, {
    parts,
    bytes: (answer.readBytes ?? 0) + bodyBytes(response),
  });
  return response;
}

function optionsAnswer(allow: string | undefined): HttpResponse {
  return renderAnswer(
    allow === undefined ? NO_PATH : { status: 204, headers: { allow } },
  );
}

function splitTarget(
  target: string,
): { readonly path: string; readonly query: string } {
  const mark = target.indexOf("?");
  return mark === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
