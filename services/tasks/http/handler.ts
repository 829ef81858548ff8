/**
 * The HTTP handler of the public port: finds tenant, route and caller of a
 * request, reads the body, and calls the route's handler.
 *
 * @module
 */

import type { Span } from "@opentelemetry/api";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import type { FairTurns, Turn, TurnOutcome } from "../../shared/fair_turns.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import type { Logger } from "../../shared/logger.ts";
import type { CountedAnswer } from "../../shared/metrics/http_metrics.ts";
import {
  nameRoute,
  tracedHandler,
} from "../../shared/telemetry/traced_http.ts";
import type { Tracing } from "../../shared/telemetry/tracing.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import type { Caller } from "../access/caller.ts";
import type { LeaseHolder } from "../engine/leases.ts";
import { singleValue } from "../access/host.ts";
import {
  type AdmitOptions,
  isOfTenant,
  payerAfter,
  RequestGate,
  strangerAt,
} from "./admission.ts";
import {
  type Answer,
  renderAnswer,
  type RenderedAnswer,
  type RenderOptions,
} from "./answer.ts";
import { createContext, pickRequestId } from "./call.ts";
import { type IdempotentAnswers, openSlot } from "./idempotency.ts";
import {
  answerWithoutRoute,
  type Destination,
  type DestinationOptions,
  Destinations,
  type Incoming,
  locate,
  type LocateOptions,
  RouteMatcher,
} from "./locate.ts";
import {
  problem,
  type ProblemAnswer,
  problemOfError,
} from "./problem_answer.ts";
import { BodyRoom, type ReadBody, readBody } from "./read_body.ts";
import { RequestRates } from "./request_rate.ts";
import type { AnyRoute } from "./route.ts";

/** Options of {@linkcode createHandler}. */
interface HandlerOptions
  extends DestinationOptions, LocateOptions, AdmitOptions {
  /** All routes. */
  readonly routes: readonly AnyRoute[];
  /** Longest body of any request, in bytes. */
  readonly maxBodyBytes: number;
  /**
   * Most bytes of long bodies that wait until there is room to process them.
   */
  readonly maxBodiesBytes: number;
  /**
   * How many instances of the service share out the rates of requests.
   * @default one
   */
  readonly liveInstances?: () => number;
  /** Answers kept for requests with an Idempotency-Key. */
  readonly answers: IdempotentAnswers;
  /** The queue in which the requests of tenants take turns. */
  readonly turns: Pick<FairTurns, "begin">;
  /**
   * Called with how many milliseconds a request waited for its turns.
   * @default not called
   */
  readonly onWaited?: (key: FairKey, waitedMs: number) => void;
  /**
   * Called with each answer. Where no route was found, its route is "none".
   * @default not called
   */
  readonly onAnswered?: (answer: CountedAnswer) => void;
  /**
   * Called with the caller of each admitted request.
   * @default not called
   */
  readonly onCaller?: (caller: Caller | undefined) => void;
  /**
   * Makes trace spans of requests.
   * @default none are made
   */
  readonly tracing?: Tracing | undefined;
  /** The time. */
  readonly clock: Clock;
  /** Logs faults. */
  readonly logger: Logger;
}

/** Makes the handler of the public port. */
export function createHandler(options: HandlerOptions): HttpHandler {
  const handler = new Handler(options);
  return tracedHandler(
    (request, span) => handler.handle(request, span),
    options.tracing,
  );
}

class Handler {
  readonly #options: HandlerOptions;
  readonly #matcher: RouteMatcher<AnyRoute>;
  readonly #destinations: Destinations;
  readonly #rates: RequestRates;
  readonly #room: BodyRoom;
  readonly #steady: Clock;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#steady = steadyClock(options.clock);
    this.#matcher = new RouteMatcher(options.routes);
    this.#destinations = new Destinations(options);
    this.#rates = new RequestRates(options);
    this.#room = new BodyRoom({
      clock: options.clock,
      maxWaitingBytes: options.maxBodiesBytes,
    });
  }

  /** Answers a request and reports the answer to `onAnswered`. */
  async handle(
    request: HttpRequest,
    span: Span | undefined,
  ): Promise<HttpResponse> {
    const { onAnswered } = this.#options;
    if (onAnswered === undefined) return await this.#handle(request, { span });
    const arrivedMs = this.#steady.nowMs();
    const trail: Trail = { span };
    const response = await this.#handle(request, trail);
    const { route } = trail;
    onAnswered({
      route: route === undefined ? "none" : `${route.method} ${route.path}`,
      status: response.status,
      tookMs: this.#steady.nowMs() - arrivedMs,
    });
    return response;
  }

  async #handle(request: HttpRequest, trail: Trail): Promise<HttpResponse> {
    const requestId = pickRequestId(request.headers.get("x-request-id"));
    const destination = this.#destinations.of(request);
    const host = singleValue(destination.origin.host) ??
      this.#options.serviceHost;
    const { scheme } = destination.origin;
    const rendering: RenderOptions = { requestId, scheme, host };
    let turn: Turn | undefined;
    try {
      const finding = this.#find({ request, requestId, destination });
      const found = finding instanceof Promise ? await finding : finding;
      if (found.kind === "route") {
        trail.route = found.route;
        if (trail.span !== undefined) nameRoute(trail.span, found.route);
      }
      const payer = found.kind === "route"
        ? found.gate.payer()
        : strangerAt(destination.origin.clientAddress);
      const asking = this.#options.turns.begin(payer, request);
      const begun = asking instanceof Promise ? await asking : asking;
      if (begun.kind !== "ok") return renderAnswer(notBegun(begun), rendering);
      turn = begun.turn;
      return found.kind === "route"
        ? await this.#answer(found, { rendering, turn })
        : renderAnswer(found.answer, rendering);
    } catch (error) {
      return renderAnswer(
        problemOfError(error, { requestId, logger: this.#options.logger }),
        rendering,
      );
    } finally {
      if (turn !== undefined) {
        this.#options.onWaited?.(turn.key, turn.waitedMs);
      }
    }
  }

  /** Finds the tenant and the route of a request. */
  #find(arrival: Arrival): MaybePromise<Found> {
    const { repositories, limitsOfPlan } = this.#options;
    const { destination, requestId } = arrival;
    const locating = locate(arrival.request, {
      repositories,
      limitsOfPlan,
      destination,
      requestId,
    });
    return andThen(locating, (located) => {
      if (located.kind === "problem") {
        return this.#onAnyHost(arrival) ?? { kind: "nowhere", answer: located };
      }
      const { incoming } = located;
      const { host, path, request: { method } } = incoming;
      const match = this.#matcher.match(host, method, path);
      return match.kind === "route"
        ? this.#foundRoute(match, incoming)
        : { kind: "nowhere", answer: answerWithoutRoute(match, incoming) };
    });
  }

  #foundRoute(
    { route, params }: Pick<FoundRoute, "route" | "params">,
    incoming: Incoming,
  ): FoundRoute {
    const gate = new RequestGate(incoming, {
      gate: { access: route.access, params },
      options: this.#options,
    });
    return { kind: "route", incoming, route, params, gate };
  }

  /**
   * Finds a route that every host offers, for a host that is no tenant's:
   * health probes address the server by its IP.
   */
  #onAnyHost(
    { request, requestId, destination: { origin, rawQuery } }: Arrival,
  ): FoundRoute | undefined {
    const [path = ""] = request.target.split("?", 1);
    const match = this.#matcher.match("apex", request.method, path);
    if (match.kind !== "route" || match.route.hosts !== "any") return undefined;
    return this.#foundRoute(match, {
      request,
      requestId,
      origin: { ...origin, host: undefined },
      rawQuery,
      path,
      prefix: "",
      host: "apex",
      tenant: undefined,
      limits: undefined,
    });
  }

  /** Admits the caller of a route, reads the body and answers. */
  async #answer(
    found: FoundRoute,
    { turn, ...given }: {
      readonly rendering: RenderOptions;
      readonly turn: Turn;
    },
  ): Promise<RenderedAnswer> {
    const { incoming, route, gate } = found;
    const rendering = { ...given.rendering, realm: incoming.tenant?.domain };
    const admitting = gate.admit();
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    const over = this.#rates.refusal(incoming, admitted);
    if (over !== undefined) return renderAnswer(over, rendering);
    if (admitted.kind === "problem") {
      return renderAnswer(admitted, rendering);
    }
    const payer = payerAfter(incoming, admitted);
    if (payer !== undefined && payer !== turn.key) {
      turn.moveTo(payer);
      await turn.pause();
    }
    const body = await readBody(incoming, {
      route,
      maxBodyBytes: this.#options.maxBodyBytes,
      pausing: turn,
      lease: admitted.lease,
      room: this.#room,
    });
    if (body.kind === "problem") return renderAnswer(body, rendering);
    let tasks = 0;
    const isOwn = isOfTenant(admitted);
    try {
      return await this.#answerBody(found, {
        rendering,
        turn,
        caller: admitted.caller,
        holder: admitted.lease?.holder,
        body,
        charge: (more) => tasks += more,
      });
    } finally {
      body.release();
      const { usedMs } = turn;
      if (isOwn) this.#rates.charge(incoming, admitted, { tasks, usedMs });
    }
  }

  /**
   * Calls the route's handler, or gives the answer again that was kept for the
   * same Idempotency-Key.
   */
  async #answerBody(
    { incoming, route, params, gate }: FoundRoute,
    { rendering, turn, caller, holder, body, charge }: {
      readonly rendering: RenderOptions;
      readonly turn: Turn;
      readonly caller: Caller | undefined;
      readonly holder: LeaseHolder | undefined;
      readonly body: ReadBody;
      readonly charge: (tasks: number) => void;
    },
  ): Promise<RenderedAnswer> {
    this.#options.onCaller?.(caller);
    const key = route.isIdempotent === true
      ? incoming.request.headers.get("idempotency-key")
      : undefined;
    const keyed = key === undefined ? undefined : await openSlot(incoming, {
      header: key,
      caller,
      body: body.bytes,
      rendering,
      answers: this.#options.answers,
    });
    // The answer to the same request that came before, or to another instance.
    const giveOther = (
      other: Exclude<typeof keyed, undefined | { readonly kind: "new" }>,
    ): RenderedAnswer => {
      if (other.kind === "problem") {
        return turn.measure(() => renderAnswer(other, rendering));
      }
      const { status, headers, body: text } = other.answer;
      return {
        status,
        headers: {
          // Answers that were kept by an earlier version lack this header.
          "cache-control": "no-store",
          ...headers,
          "x-request-id": incoming.requestId,
        },
        body: text,
      };
    };
    if (keyed !== undefined && keyed.kind !== "new") return giveOther(keyed);
    const slot = keyed?.slot;
    try {
      if (route.hasOutsideEffect === true) {
        const held = await slot?.hold();
        if (held !== undefined) return giveOther(held);
      }
      const context = createContext(incoming, {
        params,
        caller,
        holder,
        pausing: turn,
        charge,
        extraWrites: (answer) => turn.measure(() => slot?.writes(answer)) ?? [],
        gate,
        answerPlace: slot?.place,
        host: rendering.host,
        nowMs: this.#options.clock.nowMs(),
      });
      const answer = await route.answer(context, body.value);
      // A problem for an unauthenticated caller is not worth room in the store.
      const isWorthKeeping = caller !== undefined || answer.kind !== "problem";
      const other = await slot?.keep(answer, { isWorthKeeping });
      if (other !== undefined) return giveOther(other);
      return turn.measure(() =>
        slot?.rendered(answer) ?? renderAnswer(answer, rendering)
      );
    } finally {
      await slot?.close();
    }
  }
}

/** What is found out about a request, for its span and the report about it. */
interface Trail {
  readonly span: Span | undefined;
  route?: AnyRoute | undefined;
}

/** A request and what its headers say. */
interface Arrival {
  readonly request: HttpRequest;
  readonly requestId: string;
  readonly destination: Destination;
}

/** Where a request leads: to a route, or to an answer without one. */
type Found = FoundRoute | {
  readonly kind: "nowhere";
  readonly answer: Answer;
};

interface FoundRoute {
  readonly kind: "route";
  readonly incoming: Incoming;
  readonly route: AnyRoute;
  readonly params: Readonly<Record<string, string>>;
  readonly gate: RequestGate;
}

/** The problem of a request that was not given a turn. */
function notBegun(
  begun: Exclude<TurnOutcome, { readonly kind: "ok" }>,
): ProblemAnswer {
  // The client has gone, so it does not read this answer.
  if (begun.kind === "gone") return problem("overloaded");
  return problem("overloaded", {
    detail: "Cannot answer: as many of your requests as allowed wait for " +
      "their turn",
    retryAfterMs: begun.retryAfterMs,
  });
}
