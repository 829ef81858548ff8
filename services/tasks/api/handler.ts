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
import { type Pausing, Slices } from "../../shared/slices.ts";
import type { Caller } from "../access/caller.ts";
import { singleValue } from "../access/host.ts";
import { admit, type AdmitOptions, type Gate } from "./admit.ts";
import { BodyRoom } from "./body_room.ts";
import { contextOf } from "./call_context.ts";
import { type DestinationOptions, Destinations } from "./destination.ts";
import {
  type Answer,
  renderAnswer,
  type RenderedAnswer,
  type RenderOptions,
} from "./http/answer.ts";
import { problem } from "./http/problem_answer.ts";
import { newRequestId, requestIdOf } from "./http/request_id.ts";
import type { AnyRoute } from "./http/route.ts";
import { createMatcher, type RouteMatcher } from "./http/route_matcher.ts";
import type { IdempotentAnswers } from "./idempotent_answers.ts";
import { openSlot } from "./keyed_slot.ts";
import { type Incoming, locate, type LocateOptions } from "./locate.ts";
import { problemOfError } from "./problem_of_error.ts";
import { RequestRates } from "./rate_problem.ts";
import { type ReadBody, readBody } from "./read_body.ts";

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
  /**
   * Hears who was let in.
   * @default nobody does
   */
  readonly onCaller?: (caller: Caller | undefined) => void;
  /**
   * What long bodies are read in, and long answers made.
   * @default slices of its own
   */
  readonly slices?: Pick<Slices, "open">;
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
  readonly #slices: Pick<Slices, "open">;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#matcher = createMatcher(options.routes);
    this.#destinations = new Destinations(options);
    this.#rates = new RequestRates(options);
    this.#room = new BodyRoom({
      clock: options.clock,
      maxWaitingBytes: options.maxBodiesBytes,
    });
    this.#slices = options.slices ?? new Slices();
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const requestId = requestIdOf(
      request.headers.get("x-request-id"),
      newRequestId,
    );
    const { origin } = this.#destinations.of(request);
    const host = singleValue(origin.host) ?? this.#options.serviceHost;
    const rendering: RenderOptions = { requestId, host };
    try {
      return await this.#answer(request, rendering);
    } catch (error) {
      return renderAnswer(
        problemOfError(error, { requestId, logger: this.#options.logger }),
        rendering,
      );
    }
  }

  async #answer(
    request: HttpRequest,
    rendering: RenderOptions,
  ): Promise<RenderedAnswer> {
    const located = await locate(request, {
      books: this.#options.books,
      limitsOf: this.#options.limitsOf,
      destinations: this.#destinations,
      requestId: rendering.requestId,
    });
    if (located.kind === "problem") {
      return await this.#onAnyHost(request, rendering) ??
        renderAnswer(located, rendering);
    }
    const { incoming } = located;
    const match = this.#matcher.on(incoming.host)
      .match(request.method, incoming.path);
    switch (match.kind) {
      case "route":
        return await this.#route(incoming, {
          route: match.route,
          params: match.params,
          rendering: incoming.tenant === undefined
            ? rendering
            : { ...rendering, realm: incoming.tenant.domain },
        });
      case "redirect": {
        const { rawQuery } = incoming;
        const query = rawQuery === "" ? "" : `?${rawQuery}`;
        return renderAnswer({
          kind: "empty",
          status: 308,
          headers: { location: incoming.prefix + match.path + query },
        }, rendering);
      }
      case "method_not_allowed":
        return renderAnswer(
          problem("method_not_allowed", {
            detail: `Cannot use ${request.method} here: ${match.allow} ` +
              "are offered",
            headers: { allow: match.allow },
          }),
          rendering,
        );
      case "not_found":
        return renderAnswer(
          problem("not_found", {
            detail: "Cannot find the path: there is none such",
          }),
          rendering,
        );
    }
  }

  /** Answers what every host has, where the host is nobody's: probes ask by address. */
  async #onAnyHost(
    request: HttpRequest,
    rendering: RenderOptions,
  ): Promise<RenderedAnswer | undefined> {
    const [path = "", rawQuery = ""] = request.target.split("?", 2);
    const match = this.#matcher.on("apex").match(request.method, path);
    if (match.kind !== "route" || match.route.hosts !== "any") return undefined;
    const { requestId } = rendering;
    const incoming: Incoming = {
      request,
      requestId,
      origin: { host: undefined, scheme: "http", clientAddress: undefined },
      rawQuery,
      path,
      prefix: "",
      host: "apex",
      tenant: undefined,
      limits: undefined,
    };
    const { route, params } = match;
    return await this.#route(incoming, { route, params, rendering });
  }

  async #route(
    incoming: Incoming,
    found: {
      readonly route: AnyRoute;
      readonly params: Readonly<Record<string, string>>;
      readonly rendering: RenderOptions;
    },
  ): Promise<RenderedAnswer> {
    const { route, params, rendering } = found;
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
    const pausing = this.#slices.open();
    const body = await readBody(incoming, {
      route,
      maxBodyBytes: this.#options.maxBodyBytes,
      lease: admitted.lease,
      room: this.#room,
      pausing,
    });
    if (body.kind === "problem") return renderAnswer(body, rendering);
    try {
      const { caller } = admitted;
      return await this.#answerBody(incoming, {
        ...found,
        gate,
        caller,
        body,
        pausing,
      });
    } finally {
      body.release();
    }
  }

  async #answerBody(
    incoming: Incoming,
    found: {
      readonly route: AnyRoute;
      readonly params: Readonly<Record<string, string>>;
      readonly rendering: RenderOptions;
      readonly gate: AdmitOptions & Gate;
      readonly caller: Caller | undefined;
      readonly body: ReadBody;
      readonly pausing: Pausing;
    },
  ): Promise<RenderedAnswer> {
    const { route, params, rendering, gate, caller, body, pausing } = found;
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
      renderAnswer(answer, rendering);
    try {
      const context = contextOf(incoming, {
        params,
        caller,
        pausing,
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
