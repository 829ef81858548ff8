/**
 * Calls a handler and checks each answer against the API's document.
 *
 * @module
 */

import type {
  ByteStream,
  HttpHandler,
  HttpResponse,
} from "../../../shared/http/exchange.ts";
import { encodeResponse } from "../../../shared/http1/response.ts";
import { buildOpenApi } from "../../http/openapi.ts";
import type { OpenApiDocument } from "../../../shared/openapi/document.ts";
import { documentOnce } from "../../../shared/openapi/testing/document_check.ts";
import { type HostKind, RouteMatcher } from "../../http/locate.ts";
import type { AnyRoute } from "../../http/route.ts";
import { answerFaults } from "../../http/testing/answer_check.ts";
import { testRequest } from "./test_request.ts";

/** A call's options beside method and path. */
export interface TestCall {
  /**
   * The body: text or bytes as they are, anything else as JSON.
   * @default none
   */
  readonly body?: unknown;
  /**
   * Headers that replace the usual ones; null leaves a header out.
   * @default none
   */
  readonly headers?: Readonly<
    Record<string, string | readonly string[] | null>
  >;
  /**
   * The bearer token; null for none.
   * @default the owner's key of the tenant "acme"
   */
  readonly key?: string | null;
  /**
   * The Host header.
   * @default that of the tenant "acme"
   */
  readonly host?: string;
  /**
   * The address of the client.
   * @default {"192.0.2.1"}
   */
  readonly address?: string;
  /**
   * Aborted when the client disconnects.
   * @default it stays
   */
  readonly signal?: AbortSignal;
}

/** An answer. */
export interface TestAnswer {
  /** The status. */
  readonly status: number;
  /** The headers, their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text; empty when there is none. */
  readonly text: string;
  /** The body as it comes; the test cancels it. */
  readonly stream?: ByteStream | undefined;
  /** The parsed body; undefined when the body is not JSON. */
  readonly json: unknown;
  /**
   * The value at a place of the JSON, such as `at("data", 0, "id")`; undefined
   * when there is no such place.
   */
  at(...path: readonly (string | number)[]): unknown;
  /**
   * The text at a place of the JSON.
   *
   * @throws {TypeError} when there is none
   */
  textAt(...path: readonly (string | number)[]): string;
}

/** Options of {@linkcode TestCaller}. */
export interface TestCallerOptions {
  /** The routes behind the handler. */
  readonly routes: readonly AnyRoute[];
  /** The host name of the service. */
  readonly serviceHost: string;
  /** The bearer token of calls that have no key of their own. */
  readonly key: string;
}

/** Calls a handler, and checks the answers. */
export class TestCaller {
  readonly #handler: HttpHandler;
  readonly #options: TestCallerOptions;
  readonly #matcher: RouteMatcher<AnyRoute>;
  readonly #document: OpenApiDocument;

  /** Calls `handler`, which serves the routes. */
  constructor(handler: HttpHandler, options: TestCallerOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#matcher = new RouteMatcher(options.routes);
    this.#document = documentOnce(
      [options.serviceHost, options.routes],
      () =>
        buildOpenApi(options.routes, {
          title: "Test",
          version: "1",
          host: options.serviceHost,
        }),
    );
  }

  /**
   * Calls a route.
   *
   * @throws {Error} when the answer is not what the document promises
   */
  async call(
    method: string,
    path: string,
    call: TestCall = {},
  ): Promise<TestAnswer> {
    const { serviceHost, key } = this.#options;
    const { body, host = `acme.${serviceHost}`, signal, address } = call;
    // Only the hosts of tenants have a base path.
    const isOfTenant = path.startsWith("/v1/") &&
      !host.startsWith("accounts.admin.");
    const target = isOfTenant ? `/api${path}` : path;
    const token = call.key === undefined ? key : call.key;
    const response = await this.#handler(testRequest({
      method,
      target,
      headers: toHeaders({
        host,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...call.headers,
      }),
      ...(body === undefined ? {} : { body: encodeBody(body) }),
      ...(signal === undefined ? {} : { signal }),
      ...(address === undefined ? {} : { address }),
    }));
    const text = readContent(response, { isHead: method === "HEAD" });
    const headers = Object.fromEntries(
      Object.entries(response.headers).map((
        [name, value],
      ) => [name, typeof value === "string" ? value : value.join(", ")]),
    );
    const { status, stream } = response;
    const answer = { status, headers, text, stream };
    // A stream is documented as a text.
    const checked = stream === undefined ? answer : { ...answer, text: ":" };
    this.#check(checked, { method, target, host });
    const json = parseJson(text);
    const at = (...path: readonly (string | number)[]): unknown =>
      path.reduce(getMember, json);
    return {
      ...answer,
      json,
      at,
      textAt(...path) {
        const found = at(...path);
        if (typeof found === "string") return found;
        throw new TypeError(`Cannot find text at ${path.join("/")}: ${text}`);
      },
    };
  }

  #check(
    { status, headers, text }: Pick<TestAnswer, "status" | "headers" | "text">,
    { method, target, host }: {
      readonly method: string;
      readonly target: string;
      readonly host: string;
    },
  ): void {
    const kind = toHostKind(host, this.#options.serviceHost);
    const mark = target.indexOf("?");
    const path = mark === -1 ? target : target.slice(0, mark);
    const match = this.#matcher.match(kind, method, path);
    if (match.kind !== "route" || match.route.isUndocumented === true) return;
    const faults = answerFaults(this.#document, {
      operationId: match.route.operationId,
      answer: { status, headers, ...(text === "" ? {} : { body: text }) },
      isHead: method === "HEAD",
    });
    if (faults.length > 0) {
      throw new Error(
        `${method} ${target} answered ${status}, not as documented: ` +
          `${faults.join("; ")}\n${text}`,
      );
    }
  }
}

/**
 * The body as a client receives it.
 *
 * @throws {TypeError} when the server would not send the answer
 */
function readContent(
  response: HttpResponse,
  { isHead }: { readonly isHead: boolean },
): string {
  const sent = encodeResponse(response, {
    isHead,
    connection: undefined,
    date: "Sun, 06 Nov 1994 08:49:37 GMT",
  });
  const text = sent.map((bytes) => new TextDecoder().decode(bytes)).join("");
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

function toHostKind(host: string, serviceHost: string): HostKind {
  switch (host) {
    case serviceHost:
      return "apex";
    case `accounts.${serviceHost}`:
      return "accounts";
    case `accounts.admin.${serviceHost}`:
      return "accounts_admin";
    default:
      return "tenant";
  }
}

function toHeaders(
  given: Readonly<Record<string, string | readonly string[] | null>>,
): Readonly<Record<string, string | readonly string[]>> {
  const found: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value !== null) found[name.toLowerCase()] = value;
  }
  return found;
}

function encodeBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array
    ? body as string | Uint8Array<ArrayBuffer>
    : JSON.stringify(body);
}

function getMember(value: unknown, name: string | number): unknown {
  return typeof value === "object" && value !== null
    ? Reflect.get(value, name)
    : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
