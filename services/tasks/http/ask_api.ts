/**
 * Asks the API from within: a page of the console gets what a client of the API
 * with the same rights gets, by the same route, schemas and handler.
 *
 * @module
 */

import { type Answer, type AnswerHeaders, renderAnswer } from "./answer.ts";
import { deny } from "./admission.ts";
import type { CallContext } from "./call.ts";
import {
  BASE_PATHS,
  describeUnknownPath,
  type HostKind,
  RouteMatcher,
} from "./locate.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { AnyRoute } from "./route.ts";

/** A question to the API. */
export interface ApiQuestion {
  /** The method. @default {"GET"} */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path, below the base path of the host. */
  readonly path: string;
  /**
   * The part of the service that is asked.
   * @default {"tenant"}
   */
  readonly host?: HostKind;
  /** The parameters of the query. @default none */
  readonly query?: URLSearchParams;
  /** The body, as parsed JSON. @default none */
  readonly body?: unknown;
  /** Headers that the handler heeds, such as `if-match`. @default none */
  readonly headers?: AnswerHeaders;
}

/** What the API answers. */
export interface ApiAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** The body as parsed JSON; undefined without one. */
  readonly body: unknown;
  /** The headers. */
  readonly headers: AnswerHeaders;
}

/** Answers questions by the routes of the API. */
export class InnerApi {
  readonly #routes: () => readonly AnyRoute[];
  #matcher: RouteMatcher<AnyRoute> | undefined;

  /** Takes the table of routes, which is read at the first question. */
  constructor(routes: () => readonly AnyRoute[]) {
    this.#routes = routes;
  }

  /**
   * Asks the API with the rights of a call's caller. The question takes the
   * turn of the call and counts as part of it.
   *
   * @throws {Error} what the handler throws, such as failures of the store
   */
  async ask(call: CallContext, question: ApiQuestion): Promise<ApiAnswer> {
    const rendered = renderAnswer(await this.answer(call, question), {
      requestId: call.requestId,
      scheme: "https",
      host: "",
    });
    const text = typeof rendered.body === "string" && rendered.body !== ""
      ? rendered.body
      : undefined;
    return {
      status: rendered.status,
      body: text === undefined ? undefined : JSON.parse(text),
      headers: rendered.headers,
    };
  }

  /**
   * Asks as {@linkcode InnerApi.ask} does and gives the answer as it is, such
   * as a stream.
   *
   * @throws {Error} what the handler throws, such as failures of the store
   */
  async answer(call: CallContext, question: ApiQuestion): Promise<Answer> {
    const { path, method = "GET", query, body, headers = {} } = question;
    const { host = "tenant" } = question;
    const fullPath = `${BASE_PATHS[host] ?? ""}${path}`;
    this.#matcher ??= new RouteMatcher(this.#routes());
    const match = this.#matcher.match(host, method, fullPath);
    const found = match.kind === "route"
      ? { ...match, refusal: refusalOf(call, match) }
      : { refusal: noRoute(fullPath, host) };
    const context: CallContext = {
      ...call,
      params: "params" in found ? found.params : {},
      rawQuery: query?.toString() ?? "",
      header: (name) => headers[name.toLowerCase()],
      extraWrites: () => [],
      answerPlace: undefined,
    };
    return "route" in found && found.refusal === undefined
      ? await found.route.answer(context, body)
      : found.refusal ?? noRoute(fullPath, host);
  }
}

function refusalOf(
  { caller }: CallContext,
  { route: { access }, params }: {
    readonly route: AnyRoute;
    readonly params: Readonly<Record<string, string>>;
  },
): ProblemAnswer | undefined {
  if (access.kind === "public") return undefined;
  if (caller === undefined) return problem("missing_credentials");
  if (access.kind === "operator" && caller.kind === "operator") {
    return undefined;
  }
  return access.kind === "member" || access.kind === "worker"
    ? deny(caller, { access, params })
    : problem("forbidden");
}

function noRoute(path: string, host: HostKind): ProblemAnswer {
  return problem("not_found", { detail: describeUnknownPath(path, host) });
}
