/**
 * Answers requests: finds the route, lets the caller in, has the route answer.
 *
 * @module
 */

import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import {
  type Admission,
  admitOpen,
  admitOwner,
  admitSigned,
  type Arrival,
} from "./admission.ts";
import { type Answer, refused, renderAnswer } from "./answer.ts";
import { goneSignal } from "./call_signal.ts";
import { corsHeaders, isPreflight, preflightHeaders } from "./cors.ts";
import { nowOf } from "./elapsed.ts";
import { failureAnswer } from "./failure_answer.ts";
import type { RelayerParts } from "./parts.ts";
import type { Route } from "./route.ts";
import { RouteMatcher } from "./route_matcher.ts";
import { allRoutes } from "./routes/all_routes.ts";

/** Makes the handler of the relayer's port. */
export function createHandler(parts: RelayerParts): HttpHandler {
  const matcher = new RouteMatcher(allRoutes(parts));
  return async (request) => {
    const response = await respond(request, { parts, matcher });
    const cors = corsHeaders(request.headers, parts.corsOrigins);
    return { ...response, headers: { ...response.headers, ...cors } };
  };
}

interface Context {
  readonly parts: RelayerParts;
  readonly matcher: RouteMatcher;
}

async function respond(
  request: HttpRequest,
  { parts, matcher }: Context,
): Promise<HttpResponse> {
  const { method, target, headers } = request;
  const { path, query } = splitTarget(target);
  if (isPreflight(method, headers)) {
    return renderAnswer({ status: 204, headers: preflightHeaders() });
  }
  if (method === "OPTIONS") return optionsAnswer(matcher.allow(path));
  const match = matcher.match(method, path);
  switch (match.kind) {
    case "not_found":
      return renderAnswer(refused(404, "Cannot find path: there is none such"));
    case "method_not_allowed":
      return notAllowed(match.allow);
    case "route": {
      const arrivedMs = nowOf(parts.clock);
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
        tookMs: nowOf(parts.clock) - arrivedMs,
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
  const { signal, release } = goneSignal(request);
  const arrival: Arrival = { request, params, query, arrivedMs, signal };
  try {
    switch (route.access) {
      case "open":
        return await answered(await admitOpen(arrival, route), route.answer);
      case "signed":
        return await answered(
          await admitSigned(arrival, { parts, route }),
          route.answer,
        );
      case "owner":
        return await answered(
          await admitOwner(arrival, { parts, route }),
          route.answer,
        );
    }
  } catch (error) {
    const { logger, storage } = parts;
    const name = `${route.method} ${route.path}`;
    return renderAnswer(failureAnswer(error, { logger, storage, route: name }));
  } finally {
    release();
  }
}

async function answered<Call>(
  admission: Admission<Call>,
  answer: (call: Call) => Answer | Promise<Answer>,
): Promise<HttpResponse> {
  return admission.kind === "ok"
    ? renderAnswer(await answer(admission.call))
    : admission.response;
}

function optionsAnswer(allow: string | undefined): HttpResponse {
  return allow === undefined
    ? renderAnswer(refused(404, "Cannot find path: there is none such"))
    : renderAnswer({ status: 204, headers: { allow } });
}

function notAllowed(allow: string): HttpResponse {
  const { status, json } = refused(
    405,
    `Cannot use this method here: ${allow} are taken`,
  );
  return renderAnswer({ status, json, headers: { allow } });
}

function splitTarget(
  target: string,
): { readonly path: string; readonly query: string } {
  const mark = target.indexOf("?");
  return mark === -1
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
