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
import type { Caller } from "../access/caller.ts";
import { singleValue } from "../access/host.ts";
import { REGISTRY } from "../engine/books.ts";
import { StoreBusyError } from "../store/store.ts";
import { admit, type AdmitOptions } from "./admit.ts";
import {
  type Answer,
  renderAnswer,
  type RenderedAnswer,
  type RenderOptions,
} from "./http/answer.ts";
import type { CallContext } from "./http/call.ts";
import { parseIdempotencyKey } from "./http/idempotency_key.ts";
import { readJsonBody } from "./http/json_body.ts";
import { problem, type ProblemAnswer } from "./http/problem_answer.ts";
import {
  newRequestId,
  parseTraceParent,
  requestIdOf,
} from "./http/request_id.ts";
import type { AnyRoute } from "./http/route.ts";
import { createMatcher, type RouteMatcher } from "./http/route_matcher.ts";
import type { IdempotentAnswers, KeyedSlot } from "./idempotent_answers.ts";
import { type Incoming, locate, type LocateOptions } from "./locate.ts";
import { RequestRate } from "./request_rate.ts";

/** Options of {@linkcode createHandler}. */
export interface HandlerOptions extends LocateOptions, AdmitOptions {
  /** All routes. */
  readonly routes: readonly AnyRoute[];
  /** Longest body of any request. */
  readonly maxBodyBytes: number;
  /** Answers that are given again. */
  readonly answers: IdempotentAnswers;
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

/** A body is read up to here before the plan of a tenant says something. */
const NO_PLAN = { payloadBytes: 65_536, batchSize: 0 };

/** Makes the handler of the public port. */
export function createHandler(options: HandlerOptions): HttpHandler {
  const handler = new Handler(options);
  return (request) => handler.handle(request);
}

class Handler {
  readonly #options: HandlerOptions;
  readonly #matcher: RouteMatcher<AnyRoute>;
  readonly #rate = new RequestRate();

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#matcher = createMatcher(options.routes);
  }

  async handle(request: HttpRequest): Promise<HttpResponse> {
    const requestId = requestIdOf(
      request.headers.get("x-request-id"),
      newRequestId,
    );
    const isHead = request.method === "HEAD";
    const host = request.headers.get("host") ?? this.#options.serviceHost;
    const rendering: RenderOptions = { requestId, host, isHead };
    try {
      return await this.#answer(request, rendering);
    } catch (error) {
      return renderAnswer(this.#fault(error, rendering), rendering);
    }
  }

  async #answer(
    request: HttpRequest,
    rendering: RenderOptions,
  ): Promise<RenderedAnswer> {
    const located = await locate(request, {
      ...this.#options,
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
          headers: { location: match.path + query },
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
    const over = this.#rateProblem(incoming);
    if (over !== undefined) return renderAnswer(over, rendering);
    const admitted = await admit(incoming, {
      ...this.#options,
      access: route.access,
      params,
    });
    if (admitted.kind === "problem") return renderAnswer(admitted, rendering);
    const body = await this.#body(incoming, route);
    if (body.kind === "problem") return renderAnswer(body, rendering);
    const { caller } = admitted;
    this.#options.onCaller?.(caller);
    const slot = await this.#slot(incoming, { route, caller, text: body.text });
    if (slot?.kind === "problem") return renderAnswer(slot, rendering);
    if (slot?.kind === "replay") {
      const { status, headers, body: text } = slot.answer;
      return {
        status,
        headers: { ...headers, "x-request-id": incoming.requestId },
        ...(text === undefined ? {} : { body: text }),
      };
    }
    const render = (answer: Answer): RenderedAnswer =>
      renderAnswer(answer, rendering);
    try {
      const context = this.#context(incoming, {
        params,
        caller,
        bodyText: body.text,
        along: (answer) => slot?.slot.writes(answer, render) ?? [],
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

  #rateProblem(
    { tenant, limits, origin: { clientAddress } }: Incoming,
  ): ProblemAnswer | undefined {
    const perSecond = limits?.requestsPerSecond;
    if (tenant === undefined || typeof perSecond !== "number") return undefined;
    const nowMs = this.#options.clock.nowMs();
    const verdict = this.#rate.take(tenant.id, { perSecond, nowMs });
    if (verdict.kind === "ok") return undefined;
    this.#options.logger.debug("Too many requests of a tenant", {
      tenant: tenant.id,
      client: clientAddress ?? "",
    });
    return problem("rate_limited", {
      detail: `Cannot answer: the plan allows ${perSecond} requests a second`,
      retryAfterMs: verdict.retryAfterMs,
      headers: {
        "ratelimit-policy": `"plan";q=${perSecond};w=1`,
        "ratelimit": `"plan";r=0;t=${Math.ceil(verdict.retryAfterMs / 1_000)}`,
      },
    });
  }

  async #body(
    incoming: Incoming,
    route: AnyRoute,
  ): Promise<
    | { readonly kind: "ok"; readonly value: unknown; readonly text: string }
    | ProblemAnswer
  > {
    if (route.body === undefined) {
      return { kind: "ok", value: undefined, text: "" };
    }
    const { request, limits } = incoming;
    const maxBytes = Math.min(
      route.body.maxBytes(limits ?? NO_PLAN),
      this.#options.maxBodyBytes,
    );
    const outcome = await readJsonBody({
      contentType: request.headers.get("content-type"),
      contentLength: request.headers.get("content-length"),
      read: (bytes) => request.body(bytes),
    }, {
      maxBytes,
      isOptional: route.body.isOptional,
      mediaTypes: route.body.mediaTypes,
    });
    // Nobody is there to read this answer.
    return outcome.kind === "gone" ? problem("malformed_json") : outcome;
  }

  /** Looks for an answer that was given before, where the client asked for that. */
  async #slot(
    incoming: Incoming,
    { route, caller, text }: {
      readonly route: AnyRoute;
      readonly caller: Caller | undefined;
      readonly text: string;
    },
  ): Promise<
    | { readonly kind: "new"; readonly slot: KeyedSlot }
    | { readonly kind: "replay"; readonly answer: RenderedAnswer }
    | ProblemAnswer
    | undefined
  > {
    if (route.isIdempotent !== true) return undefined;
    const { request, tenant, path } = incoming;
    const key = parseIdempotencyKey(request.headers.get("idempotency-key"));
    if (key.kind === "none") return undefined;
    if (key.kind === "problem") return key;
    return await this.#options.answers.open({
      tenantId: tenant?.id ?? REGISTRY,
      credential: credentialName(caller, incoming),
      method: request.method,
      path,
      key: key.key,
      bodyText: text,
    });
  }

  #context(
    incoming: Incoming,
    of: Pick<CallContext, "params" | "caller" | "bodyText" | "along">,
  ): CallContext {
    const { request, requestId, origin, path, rawQuery, tenant } = incoming;
    const host = singleValue(origin.host) ?? this.#options.serviceHost;
    return {
      ...of,
      path,
      rawQuery,
      requestId,
      trace: parseTraceParent(request.headers.get("traceparent")),
      tenant,
      baseUrl: `${origin.scheme}://${host}${
        tenant === undefined ? "" : "/api"
      }`,
      peer: origin.clientAddress ?? "",
      nowMs: this.#options.clock.nowMs(),
      header: (name) => request.headers.get(name),
      isGone: () => request.isGone(),
      onGone: (listener) => request.onGone(listener),
    };
  }

  #fault(error: unknown, { requestId }: RenderOptions): ProblemAnswer {
    if (error instanceof StoreBusyError) {
      return problem("overloaded", {
        detail: "Cannot write: too much waits to be written already",
        retryAfterMs: error.retryAfterMs,
      });
    }
    this.#options.logger.error("Cannot answer request: the handler failed", {
      request: requestId,
      error: error instanceof Error
        ? error.stack ?? error.message
        : String(error),
    });
    return problem("internal");
  }
}

/**
 * Whose request it is, so that nobody gets another one's answer. On public
 * routes that is the credential, if there is one, and the address.
 */
function credentialName(
  caller: Caller | undefined,
  { request, origin }: Incoming,
): string {
  switch (caller?.kind) {
    case "api_key":
      return `key:${caller.keyId}`;
    case "user":
      return `user:${caller.userId}`;
    case "worker":
      return `worker:${caller.credentialId}`;
    case "operator":
      return "operator";
    case undefined: {
      const authorization = request.headers.get("authorization") ?? "";
      return `public:${origin.clientAddress}:${authorization}`;
    }
  }
}
