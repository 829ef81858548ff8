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
import type { FairKey } from "../../shared/fair_queue.ts";
import type { Turn, TurnOutcome } from "../../shared/fair_turns.ts";
import type { Caller } from "../auth/caller.ts";
import {
  admitOpen,
  admitOwner,
  admitSigned,
  type Arrival,
  chargeBytes,
} from "./admission.ts";
import {
  type Answer,
  bodyBytes,
  refused,
  renderAnswer,
  renderInSlices,
} from "./answer.ts";
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
  const begun = await parts.turns.begin(strangerOf(request), request);
  if (begun.kind !== "ok") return renderAnswer(noTurn(begun));
  const { turn } = begun;
  const { signal, release } = goneSignal(request);
  const arrival: Arrival = {
    ...{ request, params, query, arrivedMs, signal },
    pausing: turn,
  };
  try {
    switch (route.access) {
      case "open": {
        const admission = await admitOpen(arrival, route);
        if (admission.kind === "refused") return admission.response;
        return renderAnswer(await route.answer(admission.call));
      }
      case "signed": {
        const admission = await admitSigned(arrival, { parts, route, turn });
        if (admission.kind === "refused") return admission.response;
        const { call } = admission;
        const answer = await route.answer(call);
        return await finished(answer, { parts, turn, spender: call.caller });
      }
      case "owner": {
        const admission = await admitOwner(arrival, { parts, route, turn });
        if (admission.kind === "refused") return admission.response;
        const { call } = admission;
        const answer = await route.answer(call);
        return await finished(answer, { parts, turn, spender: call.spender });
      }
    }
  } catch (error) {
    const { logger, storage } = parts;
    const name = `${route.method} ${route.path}`;
    return renderAnswer(failureAnswer(error, { logger, storage, route: name }));
  } finally {
    release();
  }
}

/** Strangers by their addresses: together they get what one owner gets. */
function strangerOf({ peer }: HttpRequest): FairKey {
  return { group: "strangers", member: peer.address };
}

function noTurn(
  outcome: Exclude<TurnOutcome, { readonly kind: "ok" }>,
): Answer {
  // Who disconnected does not see the answer.
  return outcome.kind === "gone"
    ? refused(408, "Cannot answer: the client has gone away")
    : refused(503, "Cannot answer: too many requests wait already", outcome);
}

/** Writes the answer out, and charges what it was. */
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
