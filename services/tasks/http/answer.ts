/**
 * The answers of handlers, and how they are rendered as a status, headers and a
 * body.
 *
 * @module
 */

import type { ByteStream } from "../../shared/http/exchange.ts";
import type { EmbeddedJson } from "../engine/stored_json.ts";
import type { ProblemAnswer } from "./problem_answer.ts";
import { problemKind } from "./problem_catalog.ts";

/** Headers by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>;

/** An answer with a JSON body. */
export interface JsonAnswer {
  /** Tells the kinds of answers apart. */
  readonly kind: "json";
  /** The HTTP status code. */
  readonly status: number;
  /** The body: any value that can be written as JSON. */
  readonly value: unknown;
  /**
   * Writes the body where members of it are JSON text already.
   * @default nothing is embedded
   */
  readonly embedded?: EmbeddedJson | undefined;
  /**
   * Further headers.
   * @default none
   */
  readonly headers?: AnswerHeaders | undefined;
}

/** An answer whose body is text already. */
interface TextAnswer {
  /** Tells the kinds of answers apart. */
  readonly kind: "text";
  /** The HTTP status code. */
  readonly status: number;
  /** The body. */
  readonly text: string;
  /** The type of the body, such as `text/html; charset=utf-8`. */
  readonly contentType: string;
  /**
   * Further headers.
   * @default none
   */
  readonly headers?: AnswerHeaders | undefined;
}

/** An answer whose body is bytes, such as a compressed text. */
interface BytesAnswer {
  /** Tells the kinds of answers apart. */
  readonly kind: "bytes";
  /** The HTTP status code. */
  readonly status: number;
  /** The body. */
  readonly bytes: Uint8Array;
  /** The type of the body, such as `text/html; charset=utf-8`. */
  readonly contentType: string;
  /** Further headers, such as the coding. */
  readonly headers: AnswerHeaders;
}

/** An answer whose body comes in the course of time, such as events. */
interface StreamAnswer {
  /** Tells the kinds of answers apart. */
  readonly kind: "stream";
  /** The HTTP status code. */
  readonly status: number;
  /** The body; the server cancels it when the client has gone. */
  readonly stream: ByteStream;
  /** The type of the body, such as `text/event-stream`. */
  readonly contentType: string;
  /**
   * Further headers.
   * @default none
   */
  readonly headers?: AnswerHeaders | undefined;
}

/** An answer without a body. */
interface EmptyAnswer {
  /** Tells the kinds of answers apart. */
  readonly kind: "empty";
  /** The HTTP status code. */
  readonly status: number;
  /**
   * Further headers.
   * @default none
   */
  readonly headers?: AnswerHeaders | undefined;
}

/** The answer of a handler, of any kind. */
export type Answer =
  | JsonAnswer
  | TextAnswer
  | BytesAnswer
  | StreamAnswer
  | EmptyAnswer
  | ProblemAnswer;

/** What rendering needs to know of the request. */
export interface RenderOptions {
  /** The request's id. */
  readonly requestId: string;
  /** The scheme by which the client asked. */
  readonly scheme: "http" | "https";
  /** The host name of the service, with its port unless it is the usual one. */
  readonly host: string;
  /**
   * The protection space that a 401 names (RFC 9110, 11.5).
   * @default `host`
   */
  readonly realm?: string | undefined;
}

/** An answer as a server sends it. */
export interface RenderedAnswer {
  /** The HTTP status code. */
  readonly status: number;
  /** The headers, by their names in lower case. */
  readonly headers: AnswerHeaders;
  /** The body; absent when there is none. */
  readonly body?: string | Uint8Array | undefined;
  /** The body as it comes, instead of `body`. */
  readonly stream?: ByteStream | undefined;
}

/** An answer that is text or has no body. */
interface PlainAnswer extends RenderedAnswer {
  readonly body?: string | undefined;
}

/** Options of {@linkcode json}. */
interface JsonOptions extends AnswerOptions {
  /**
   * Writes the body where members of it are JSON text already.
   * @default nothing is embedded
   */
  readonly embedded?: EmbeddedJson | undefined;
}

/** Options of {@linkcode json} and {@linkcode empty}. */
interface AnswerOptions {
  /**
   * The HTTP status code.
   * @default 200 with a body, 204 without
   */
  readonly status?: number;
  /**
   * Further headers, their names in lower case.
   * @default none
   */
  readonly headers?: AnswerHeaders | undefined;
}

/** A JSON answer. */
export function json(value: unknown, options: JsonOptions = {}): JsonAnswer {
  return { kind: "json", status: 200, value, ...options };
}

/** An answer without a body. */
export function empty(options: AnswerOptions = {}): EmptyAnswer {
  return { kind: "empty", status: 204, ...options };
}

/** The status an answer is sent with. */
export function getStatus(answer: Answer): number {
  return answer.kind === "problem"
    ? problemKind(answer.code).status
    : answer.status;
}

/**
 * Renders an answer for the server. The body is there for HEAD as well; the
 * server leaves it out.
 */
export function renderAnswer(
  answer: Answer,
  options: RenderOptions,
): RenderedAnswer {
  return answer.kind === "problem"
    ? renderProblem(answer, options)
    : renderGood(answer, options);
}

/** Renders a problem (RFC 9457). */
function renderProblem(
  answer: ProblemAnswer,
  options: RenderOptions,
): PlainAnswer {
  const { requestId, scheme, host } = options;
  const retryAfter = retrySeconds(answer);
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    "x-request-id": requestId,
  };
  if (retryAfter !== undefined) headers["retry-after"] = String(retryAfter);
  return {
    status: problemKind(answer.code).status,
    headers: {
      ...headers,
      ...buildChallenge(answer, options),
      ...answer.headers,
    },
    body: problemText(answer, { requestId, origin: `${scheme}://${host}` }),
  };
}

/**
 * The body of a problem (RFC 9457).
 *
 * @param origin where the service is; without it, the problem's type is relative
 * to that
 */
export function problemText(
  answer: ProblemAnswer,
  { requestId, origin = "" }: {
    readonly requestId: string;
    readonly origin?: string;
  },
): string {
  const { code, detail, errors } = answer;
  const { status, title } = problemKind(code);
  const body = {
    type: `${origin}/problems/${code}`,
    title,
    status,
    // JSON leaves out members that are undefined.
    detail,
    instance: `/requests/${encodeURIComponent(requestId)}`,
    code,
    request_id: requestId,
    errors,
    retry_after: retrySeconds(answer),
  };
  return JSON.stringify({ ...body, ...withoutStandard(answer, body) });
}

function retrySeconds({ retryAfterMs }: ProblemAnswer): number | undefined {
  return retryAfterMs === undefined
    ? undefined
    : Math.max(1, Math.ceil(retryAfterMs / 1_000));
}

/**
 * The answer to a request about many things: the result of each, as JSON text,
 * in the order of the request.
 */
export function resultsAnswer(
  results: readonly string[],
  headers?: AnswerHeaders,
): Answer {
  return {
    kind: "text",
    status: 200,
    text: `{"results":[${results.join(",")}]}`,
    contentType: "application/json",
    headers,
  };
}

/**
 * A problem as one entry of {@linkcode resultsAnswer}, with the status and body
 * that it would have as an answer of its own.
 */
export function problemResult(
  { requestId, baseUrl }: {
    readonly requestId: string;
    readonly baseUrl: string;
  },
  problem: ProblemAnswer,
): string {
  const host = URL.parse(baseUrl)?.host ?? "";
  const scheme = baseUrl.startsWith("https:") ? "https" : "http";
  const { status, body } = renderProblem(problem, { requestId, scheme, host });
  return `{"status":${status},"problem":${body ?? "null"}}`;
}

function renderGood(
  answer: Exclude<Answer, ProblemAnswer>,
  { requestId }: RenderOptions,
): RenderedAnswer {
  const { status } = answer;
  if (answer.kind === "empty") {
    return {
      status,
      headers: {
        "cache-control": "no-store",
        "x-request-id": requestId,
        ...answer.headers,
      },
    };
  }
  const isJson = answer.kind === "json";
  return {
    status,
    headers: {
      "content-type": isJson ? "application/json" : answer.contentType,
      // Answers to tenants must not be cached. Public pages override this.
      "cache-control": "no-store",
      "x-request-id": requestId,
      ...answer.headers,
    },
    ...answer.kind === "stream"
      ? { stream: answer.stream }
      : { body: encodeBody(answer) },
  };
}

function encodeBody(
  answer: JsonAnswer | TextAnswer | BytesAnswer,
): string | Uint8Array {
  switch (answer.kind) {
    case "json":
      return answer.embedded?.stringify(answer.value) ??
        JSON.stringify(answer.value);
    case "text":
      return answer.text;
    case "bytes":
      return answer.bytes;
  }
}

/**
 * The problem's extensions, without those whose name the body has already.
 */
function withoutStandard(
  { extensions = {} }: ProblemAnswer,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(extensions).filter(([name]) => body[name] === undefined),
  );
}

/** The challenge that a 401 must have and a 403 may have (RFC 6750, 3). */
function buildChallenge(
  { code, extensions }: ProblemAnswer,
  { host, realm = host }: RenderOptions,
): AnswerHeaders {
  const challenge = `Bearer realm="${realm.replaceAll(/["\\]/g, "")}"`;
  const scope = extensions?.scope;
  switch (code) {
    case "missing_credentials":
      return { "www-authenticate": challenge };
    case "invalid_credentials":
    case "token_expired":
      return { "www-authenticate": `${challenge}, error="invalid_token"` };
    case "forbidden":
      return typeof scope !== "string" ? {} : {
        "www-authenticate": `${challenge}, error="insufficient_scope", ` +
          `scope="${scope.replaceAll(/["\\]/g, "")}"`,
      };
    default:
      return {};
  }
}
