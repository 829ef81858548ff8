/**
 * Answers requests: finds tenant, route and caller, reads the body, and lets the
 * route's handler answer.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import type { Clock } from "../../shared/clock.ts";
import type { FairKey } from "../../shared/fair_queue.ts";
import type { FairTurns, Turn } from "../../shared/fair_turns.ts";
import type { Caller } from "../access/caller.ts";
import { singleValue } from "../access/host.ts";
import {
  admit,
  type AdmitOptions,
  type Gate,
  isOfTenant,
  payerAfter,
  payerOf,
  strangerAt,
} from "./admission.ts";
import { BodyRoom, type ReadBody, readBody } from "./read_body.ts";
import { contextOf } from "./call.ts";
import {
  type DestinationOptions,
  Destinations,
  type Incoming,
  locate,
  type LocateOptions,
} from "./locate.ts";
import {
  type Answer,
  renderAnswer,
  type RenderedAnswer,
  type RenderOptions,
} from "./answer.ts";
import { problem, problemOfError } from "./problem_answer.ts";
import { requestIdOf } from "./request_headers.ts";
import type { AnyRoute } from "./route.ts";
import {
  createMatcher,
  type RouteMatch,
  type RouteMatcher,
} from "./route_matcher.ts";
import { type IdempotentAnswers, openSlot } from "./idempotent_answers.ts";
import { RequestRates } from "./request_rate.ts";

/** Options of {@linkcode createHandler}. */
export interface HandlerOptions
  extends
    DestinationOptions,
    Omit<LocateOptions, "destinations">,
    AdmitOptions {
  /** All routes. */
  readonly routes: readonly AnyRoute[];
  /** Longest body of any request. */
  readonly maxBodyBytes: number;
  /** Most bytes of long bodies that wait for their turn to be worked on. */
  readonly maxBodiesBytes: number;
  /** Answers that are given again. */
  readonly answers: IdempotentAnswers;
  /** What requests take turns in, by tenant. */
  readonly turns: Pick<FairTurns, "begin">;
  /**
   * Hears how many milliseconds a request waited for its turns.
   * @default nothing does
   */
  readonly onWaited?: (key: FairKey, waitedMs: number) => void;
  /**
   * Hears who was let in.
   * @default nobody does
   */
  readonly onCaller?: (caller: Caller | undefined) => void;
  /** The time. */
  readonly clock: Clock;
  /** Hears about faults. */
  readonly logger: Logger;
}

/** Makes the handler of the public port. */
export function createHandler(options: HandlerOptions): HttpHandler {
  const handler = new Handler(options);
  return (request) => handler.handle(request);
}

class Handler {
  readonly #options: HandlerOptions;
  readonly #matcher: RouteMatcher<AnyRoute>;
  readonly #destinations: Destinations;
  readonly #rates: RequestRates;
  readonly #room: BodyRoom;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#matcher = createMatcher(options.routes);
    this.#destinations = new Destinations(options);
    this.#rates = new RequestRates(options);
    this.#room = new BodyRoom({
      clock: options.clock,
      maxWaitingBytes: options.maxBodiesBytes,
    });
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const requestId = requestIdOf(request.headers.get("x-request-id"));
    const { origin } = this.#destinations.of(request);
    const host = singleValue(origin.host) ?? this.#options.serviceHost;
    const rendering: RenderOptions = { requestId, host };
    try {
      return await this.#inTurn(request, rendering);
    } catch (error) {
      return renderAnswer(
        problemOfError(error, { requestId, logger: this.#options.logger }),
        rendering,
      );
    }
  }

  /** Answers when it is the turn of the request. */
  async #inTurn(
    request: HttpRequest,
    rendering: RenderOptions,
  ): Promise<RenderedAnswer> {
    const found = await this.#find(request, rendering.requestId);
    const asking = this.#options.turns.begin(this.#payerOf(found), request);
    const begun = asking instanceof Promise ? await asking : asking;
    switch (begun.kind) {
      case "ok":
        return await this.#answerNow(found, { rendering, turn: begun.turn });
      case "refused":
        return renderAnswer(
          problem("overloaded", {
            detail:
              "Cannot answer: as many requests of yours as allowed wait " +
              "for their turn",
            retryAfterMs: begun.retryAfterMs,
          }),
          rendering,
        );
      case "gone":
        // Nothing reads this answer.
        return renderAnswer(problem("overloaded"), rendering);
    }
  }

  /** What a request is for. */
  async #find(request: HttpRequest, requestId: string): Promise<Found> {
    const located = await locate(request, {
      repositories: this.#options.repositories,
      limitsOf: this.#options.limitsOf,
      destinations: this.#destinations,
      requestId,
    });
    if (located.kind === "problem") {
      return this.#onAnyHost(request, requestId) ??
        { kind: "nowhere", answer: located, request };
    }
    const { incoming } = located;
    const match = this.#matcher.on(incoming.host)
      .match(request.method, incoming.path);
    if (match.kind === "route") return { ...match, incoming };
    return {
      kind: "nowhere",
      answer: answerWithoutRoute(match, incoming),
      request,
    };
  }

  #payerOf(found: Found): FairKey {
    if (found.kind === "route") {
      return payerOf(found.incoming, found, this.#options);
    }
    const { origin } = this.#destinations.of(found.request);
    return strangerAt(origin.clientAddress);
  }

  async #answerNow(
    found: Found,
    how: { readonly rendering: RenderOptions; readonly turn: Turn },
  ): Promise<RenderedAnswer> {
    try {
      return await this.#answer(found, how);
    } finally {
      this.#options.onWaited?.(how.turn.key, how.turn.waitedMs);
    }
  }

  async #answer(
    found: Found,
    { rendering, turn }: {
      readonly rendering: RenderOptions;
      readonly turn: Turn;
    },
  ): Promise<RenderedAnswer> {
    if (found.kind === "nowhere") return renderAnswer(found.answer, rendering);
    const { tenant } = found.incoming;
    return await this.#route(found, {
      turn,
      rendering: tenant === undefined
        ? rendering
        : { ...rendering, realm: tenant.domain },
    });
  }

  /** What every host has, where the host is no tenant's: probes ask by address. */
  #onAnyHost(request: HttpRequest, requestId: string): Found | undefined {
    const [path = "", rawQuery = ""] = request.target.split("?", 2);
    const match = this.#matcher.on("apex").match(request.method, path);
    if (match.kind !== "route" || match.route.hosts !== "any") return undefined;
    const { clientAddress } = this.#destinations.of(request).origin;
    const incoming: Incoming = {
      request,
      requestId,
      origin: { host: undefined, scheme: "http", clientAddress },
      rawQuery,
      path,
      prefix: "",
      host: "apex",
      tenant: undefined,
      limits: undefined,
    };
    return { ...match, incoming };
  }

  async #route(
    found: FoundRoute,
    { rendering, turn }: {
      readonly rendering: RenderOptions;
      readonly turn: Turn;
    },
  ): Promise<RenderedAnswer> {
    const { incoming, route, params } = found;
    const gate = {
      operatorDigests: this.#options.operatorDigests,
      authenticator: this.#options.authenticator,
      leaseSource: this.#options.leaseSource,
      access: route.access,
      params,
    };
    const admitting = admit(incoming, gate);
    const admitted = admitting instanceof Promise ? await admitting : admitting;
    const over = this.#rates.refusal(incoming, admitted);
    if (over !== undefined) return renderAnswer(over, rendering);
    if (admitted.kind === "problem") return renderAnswer(admitted, rendering);
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
      const { caller } = admitted;
      return await this.#answerBody(found, {
        rendering,
        turn,
        gate,
        caller,
        body,
        charge: (more) => tasks += more,
      });
    } finally {
      body.release();
      const { usedMs } = turn;
      if (isOwn) this.#rates.charge(incoming, admitted, { tasks, usedMs });
    }
  }

  async #answerBody(
    { incoming, route, params }: FoundRoute,
    { rendering, turn, gate, caller, body, charge }: {
      readonly rendering: RenderOptions;
      readonly turn: Turn;
      readonly gate: AdmitOptions & Gate;
      readonly caller: Caller | undefined;
      readonly body: ReadBody;
      readonly charge: (tasks: number) => void;
    },
  ): Promise<RenderedAnswer> {
    this.#options.onCaller?.(caller);
    const slot = await openSlot(incoming, {
      route,
      caller,
      body: body.bytes,
      answers: this.#options.answers,
    });
    if (slot?.kind === "problem") return renderAnswer(slot, rendering);
    if (slot?.kind === "replay") {
      const { status, headers, body: text } = slot.answer;
      return {
        status,
        headers: {
          // Answers that an earlier version kept do not say it.
          "cache-control": "no-store",
          ...headers,
          "x-request-id": incoming.requestId,
        },
        ...(text === undefined ? {} : { body: text }),
      };
    }
    const render = (answer: Answer): RenderedAnswer =>
      turn.measure(() => renderAnswer(answer, rendering));
    try {
      const context = contextOf(incoming, {
        params,
        caller,
        pausing: turn,
        charge,
        along: (answer) => slot?.slot.writes(answer, render) ?? [],
        admitAgain: () => admit(incoming, gate),
        answerPlace: slot?.slot.place,
        serviceHost: this.#options.serviceHost,
        nowMs: this.#options.clock.nowMs(),
      });
      const answer = await route.answer(context, body.value);
      // What a stranger is refused is worth no place in the store.
      const isKept = caller !== undefined || answer.kind !== "problem";
      if (isKept) await slot?.slot.keep(answer, render);
      return render(answer);
    } finally {
      slot?.slot.close();
    }
  }
}

/** Where a request leads. */
type Found = FoundRoute | {
  readonly kind: "nowhere";
  readonly answer: Answer;
  readonly request: HttpRequest;
};

interface FoundRoute {
  readonly kind: "route";
  readonly incoming: Incoming;
  readonly route: AnyRoute;
  readonly params: Readonly<Record<string, string>>;
}

function answerWithoutRoute(
  match: Exclude<RouteMatch<AnyRoute>, { readonly kind: "route" }>,
  { rawQuery, prefix, request: { method } }: Incoming,
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
        detail: "Cannot find the path: there is none such",
      });
  }
}
