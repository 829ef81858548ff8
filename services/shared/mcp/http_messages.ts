/**
 * Reads messages of the Model Context Protocol from HTTP requests, and writes
 * answers that are no streams.
 *
 * @module
 */

import { preferredType } from "../http/accept.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import {
  failure,
  readMessages,
  RPC_ERRORS,
  type RpcAnswer,
  type RpcFailure,
  type RpcId,
  type RpcMessage,
  type RpcRequest,
} from "./messages.ts";
import { META, readMeta, STATELESS_VERSION } from "./versions.ts";

/** The name of the header field with a session's id. */
export const SESSION_HEADER = "mcp-session-id";

const VERSION_HEADER = "mcp-protocol-version";

const ALWAYS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** Which forms of an answer a client takes. */
export interface Accepted {
  /** One body of JSON. */
  readonly json: boolean;
  /** A stream of events. */
  readonly events: boolean;
}

/** The outcome of reading a request's body. */
type ReadPost =
  | {
    readonly kind: "ok";
    /** The messages. */
    readonly messages: readonly RpcMessage[];
    /** Whether they came as a list. */
    readonly isBatch: boolean;
    /** Which forms of an answer the client takes. */
    readonly accepted: Accepted;
  }
  | { readonly kind: "refused"; readonly response: HttpResponse };

/** Writes an answer as JSON. */
export function jsonResponse(
  status: number,
  body: RpcAnswer | readonly RpcAnswer[],
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  return {
    status,
    headers: { ...ALWAYS, ...headers },
    body: JSON.stringify(body),
  };
}

/** Answers a request that is refused before one of its messages is taken. */
export function refusalResponse(
  status: number,
  message: string,
  { code = RPC_ERRORS.internal, headers = {} }: {
    /** The code of the error. @default that of an internal error */
    readonly code?: number;
    /** Header fields beside the usual ones. @default none */
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): HttpResponse {
  return jsonResponse(status, failure(null, { code, message }), headers);
}

/** The answer to messages that get none. */
export const ACCEPTED: HttpResponse = {
  status: 202,
  headers: { "cache-control": "no-store" },
};

/** Reads the messages of a POST. */
export async function readPost(
  request: HttpRequest,
  maxBytes: number,
): Promise<ReadPost> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    return refused(refusalResponse(
      415,
      "Cannot read message: its content-type is not application/json",
    ));
  }
  const body = await request.body(maxBytes);
  switch (body.kind) {
    case "too_large":
      return refused(refusalResponse(
        413,
        `Cannot read message: it has over ${maxBytes} bytes`,
      ));
    case "busy":
      return refused(refusalResponse(503, "Cannot read message: try again", {
        headers: { "retry-after": "1" },
      }));
    case "aborted":
      return refused(
        refusalResponse(408, "Cannot read message: it is cut off"),
      );
    case "ok":
      return readBody(request, body.bytes);
  }
}

function readBody(request: HttpRequest, bytes: Uint8Array): ReadPost {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return refused(refusalResponse(400, "Cannot read message: it is no UTF-8", {
      code: RPC_ERRORS.parse,
    }));
  }
  const read = readMessages(text);
  if (read.kind === "invalid") return refused(jsonResponse(400, read.failure));
  const accepted = readAccepted(request);
  if (accepted === undefined) {
    return refused(refusalResponse(
      406,
      "Cannot answer: accept names neither application/json nor " +
        "text/event-stream",
    ));
  }
  return { ...read, accepted };
}

function readAccepted(request: HttpRequest): Accepted | undefined {
  const accept = request.headers.get("accept");
  const takes = (type: string) => preferredType(accept, [type]) !== undefined;
  const accepted = {
    json: takes("application/json"),
    events: takes("text/event-stream"),
  };
  return accepted.json || accepted.events ? accepted : undefined;
}

/** Whether a message stands alone, as since 2026-07-28. */
export function standsAlone(
  { headers }: Pick<HttpRequest, "headers">,
  message: RpcMessage,
): boolean {
  if (message.kind === "response") return false;
  if (message.method === "initialize") return false;
  if (readMeta(message.params)[META.version] !== undefined) return true;
  return headers.get(VERSION_HEADER) === STATELESS_VERSION;
}

/**
 * Checks the header fields and the `_meta` of a request that stands alone:
 * proxies act on the fields, so they have to say what the message says.
 *
 * @returns What is wrong; undefined when nothing is.
 */
export function statelessFault(
  { headers }: Pick<HttpRequest, "headers">,
  { id, method, params }: RpcRequest,
): RpcFailure | undefined {
  const meta = readMeta(params);
  const version = meta[META.version];
  const fault = (code: number, state: string, data?: unknown) =>
    failure(id, {
      code,
      message: `Cannot answer: ${state}`,
      ...(data === undefined ? {} : { data }),
    });
  if (typeof version !== "string") {
    return fault(RPC_ERRORS.badParams, `_meta lacks ${META.version}`);
  }
  if (headers.get(VERSION_HEADER) !== version) {
    return fault(RPC_ERRORS.headers, differs(VERSION_HEADER));
  }
  if (typeof (meta[META.capabilities] ?? undefined) !== "object") {
    return fault(RPC_ERRORS.badParams, `_meta lacks ${META.capabilities}`);
  }
  if (headers.get("mcp-method") !== method) {
    return fault(RPC_ERRORS.headers, differs("mcp-method"));
  }
  const name = namedBy(method, params);
  if (name === undefined) return undefined;
  return decodeField(headers.get("mcp-name")) === name
    ? undefined
    : fault(RPC_ERRORS.headers, differs("mcp-name"));
}

function differs(field: string): string {
  return `the field ${field} is missing or differs from the message`;
}

function namedBy(
  method: string,
  params: Readonly<Record<string, unknown>>,
): unknown {
  switch (method) {
    case "tools/call":
    case "prompts/get":
      return params["name"];
    case "resources/read":
      return params["uri"];
    default:
      return undefined;
  }
}

/** Reads a field whose value may be in base64, marked as `=?base64?…?=`. */
function decodeField(value: string | undefined): string | undefined {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value ?? "");
  if (encoded === null) return value;
  try {
    const bytes = Uint8Array.from(
      atob(encoded[1] ?? ""),
      (letter) => letter.charCodeAt(0),
    );
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The version that a client's header field names; undefined without one. */
export function toldVersion(
  { headers }: Pick<HttpRequest, "headers">,
): string | undefined {
  return headers.get(VERSION_HEADER);
}

/** The ids of the requests among messages. */
export function requestsOf(
  messages: readonly RpcMessage[],
): readonly RpcRequest[] {
  return messages.filter((message) => message.kind === "request");
}

/** The id to answer a refused list of messages with. */
export function firstId(messages: readonly RpcMessage[]): RpcId | null {
  return requestsOf(messages)[0]?.id ?? null;
}

function refused(response: HttpResponse): ReadPost {
  return { kind: "refused", response };
}
