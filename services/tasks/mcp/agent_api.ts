/**
 * The API as an agent's tools ask it: in this process, by the public handler
 * and with the credential of the agent's own request, so that the API decides
 * about rights, rates, turns and repeated requests.
 *
 * @module
 */

import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import { InnerRequest } from "../../shared/http/inner_request.ts";

/** A question to the API. */
export interface AgentQuestion {
  /** The method. */
  readonly method: string;
  /** The path below the tenant's root, with its query. */
  readonly target: string;
  /**
   * The body, which is sent as JSON.
   *
   * @default none
   */
  readonly body?: unknown;
  /**
   * Further header fields, their names in lower case.
   *
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Aborts when the answer is no longer waited for.
   *
   * @default it never does
   */
  readonly signal?: AbortSignal;
}

/** What the API answers. */
export interface AgentAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** The header fields. */
  readonly headers: HttpResponse["headers"];
  /** The body, parsed as JSON; undefined without one. */
  readonly body: unknown;
  /** How many characters the body has as JSON. */
  readonly chars: number;
}

/** Asks the API on behalf of one request. */
export type AskApi = (question: AgentQuestion) => Promise<AgentAnswer>;

/** The fields of an agent's request that say who asks, where and from where. */
const PASSED_ON = [
  "authorization",
  "host",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-for",
  "x-tenant",
  "traceparent",
  "tracestate",
];

/**
 * Makes what asks the API on behalf of a request.
 *
 * @param prefix The start of the path that named the tenant; usually empty.
 */
export function askAs(
  { headers, peer, isTls }: HttpRequest,
  { handler, prefix }: {
    readonly handler: HttpHandler;
    readonly prefix: string;
  },
): AskApi {
  const passedOn = PASSED_ON.map((name) => [name, headers.all(name)] as const);
  return async ({ method, target, body, headers: own = {}, signal }) => {
    const bytes = body === undefined
      ? undefined
      : new TextEncoder().encode(JSON.stringify(body));
    const content: Readonly<Record<string, string>> = bytes === undefined
      ? {}
      : {
        "content-type": "application/json",
        "content-length": String(bytes.length),
      };
    const answer = await handler(
      new InnerRequest({
        ...{ method, peer, isTls, signal, body: bytes },
        target: prefix + target,
        fields: new Map<string, string | readonly string[]>([
          ...passedOn.filter(([, values]) => values.length > 0),
          ...Object.entries({ ...content, ...own }),
        ]),
      }),
    );
    const text = typeof answer.body === "string"
      ? answer.body
      : new TextDecoder().decode(answer.body);
    return {
      status: answer.status,
      headers: answer.headers,
      body: text === "" ? undefined : JSON.parse(text),
      chars: text.length,
    };
  };
}
