/**
 * Messages of the Model Context Protocol: JSON-RPC 2.0 requests, notifications
 * and their answers.
 *
 * @module
 */

import { isJsonObject } from "../schema/schema.ts";

/** The id of a request. */
export type RpcId = string | number;

/** The members of `params` or of a result. */
export type RpcParams = Readonly<Record<string, unknown>>;

/** A request, which gets an answer with its id. */
export interface RpcRequest {
  /** Tells what the message is. */
  readonly kind: "request";
  /** The id, which its answer repeats. */
  readonly id: RpcId;
  /** The method, such as `tools/call`. */
  readonly method: string;
  /** The parameters; empty when there are none. */
  readonly params: RpcParams;
}

/** A message that gets no answer. */
export interface RpcNotification {
  /** Tells what the message is. */
  readonly kind: "notification";
  /** The method, such as `notifications/cancelled`. */
  readonly method: string;
  /** The parameters; empty when there are none. */
  readonly params: RpcParams;
}

/** What a client sends. A response is taken and ignored: nothing asked it. */
export type RpcMessage = RpcRequest | RpcNotification | {
  readonly kind: "response";
};

/** The answer to a request that went well. */
interface RpcResult {
  /** The protocol. */
  readonly jsonrpc: "2.0";
  /** The id of the request. */
  readonly id: RpcId;
  /** What the method returned. */
  readonly result: RpcParams;
}

/** The answer to a request that cannot be carried out. */
export interface RpcFailure {
  /** The protocol. */
  readonly jsonrpc: "2.0";
  /** The id of the request; null where it could not be read. */
  readonly id: RpcId | null;
  /** What is wrong. */
  readonly error: {
    /** One of {@linkcode RPC_ERRORS}. */
    readonly code: number;
    /** What is wrong, as a sentence. */
    readonly message: string;
    /** Details for programs. */
    readonly data?: unknown;
  };
}

/** The answer to a request. */
export type RpcAnswer = RpcResult | RpcFailure;

/** A notification as it is sent to a client. */
export interface SentNotification {
  /** The protocol. */
  readonly jsonrpc: "2.0";
  /** The method. */
  readonly method: string;
  /** The parameters. */
  readonly params: RpcParams;
}

/** Codes of errors: those of JSON-RPC 2.0, and those of the protocol. */
export const RPC_ERRORS = {
  /** The text is not JSON. */
  parse: -32700,
  /** The JSON is no message. */
  invalid: -32600,
  /** There is no such method. */
  noMethod: -32601,
  /** The parameters are not what the method takes. */
  badParams: -32602,
  /** Something failed that the client has no part in. */
  internal: -32603,
  /** A limit is reached, or the request was cancelled. */
  refused: -32000,
  /** The caller has no valid credential. */
  unauthorized: -32001,
  /** A header field is missing or differs from the message (2026-07-28). */
  headers: -32020,
  /** The version of the protocol is not supported (2026-07-28). */
  version: -32022,
} as const;

/** The outcome of reading what a client sent. */
type ReadMessages =
  | {
    readonly kind: "ok";
    /** The messages, in order. */
    readonly messages: readonly RpcMessage[];
    /** Whether they came as a list, so that their answers go back as one. */
    readonly isBatch: boolean;
  }
  | { readonly kind: "invalid"; readonly failure: RpcFailure };

/** Most characters of an id that is a text; each answer repeats it. */
const MAX_ID_CHARS = 1_024;
/** Most messages of a list, which the version 2025-03-26 allows. */
const MAX_BATCH = 20;

/** Makes the answer that tells what is wrong. */
export function failure(
  id: RpcId | null,
  error: RpcFailure["error"],
): RpcFailure {
  return { jsonrpc: "2.0", id, error };
}

/** Makes the answer of a method. */
export function success(id: RpcId, result: RpcParams): RpcAnswer {
  return { jsonrpc: "2.0", id, result };
}

/** Reads the text of one message, or of a list of them. */
export function readMessages(text: string): ReadMessages {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return invalid(RPC_ERRORS.parse, "it is not JSON");
  }
  if (!Array.isArray(value)) {
    const message = readMessage(value);
    return message === undefined
      ? notMessage(value)
      : { kind: "ok", messages: [message], isBatch: false };
  }
  if (value.length === 0 || value.length > MAX_BATCH) {
    const state = `a list has 1 to ${MAX_BATCH} messages`;
    return invalid(RPC_ERRORS.invalid, state);
  }
  const messages: RpcMessage[] = [];
  for (const item of value) {
    const message = readMessage(item);
    if (message === undefined) return notMessage(item);
    messages.push(message);
  }
  return { kind: "ok", messages, isBatch: true };
}

function readMessage(value: unknown): RpcMessage | undefined {
  if (!isJsonObject(value) || value["jsonrpc"] !== "2.0") return undefined;
  const { id, method, params = {} } = value;
  if (method === undefined) {
    return "result" in value || "error" in value
      ? { kind: "response" }
      : undefined;
  }
  if (typeof method !== "string" || !isJsonObject(params)) return undefined;
  if (!("id" in value)) return { kind: "notification", method, params };
  return isId(id) ? { kind: "request", id, method, params } : undefined;
}

function isId(value: unknown): value is RpcId {
  return typeof value === "string"
    ? value.length <= MAX_ID_CHARS
    : Number.isSafeInteger(value);
}

function notMessage(value: unknown): ReadMessages {
  const { id } = Object(value);
  const state = "it is no request or notification of JSON-RPC 2.0";
  return invalid(RPC_ERRORS.invalid, state, isId(id) ? id : null);
}

function invalid(
  code: number,
  state: string,
  id: RpcId | null = null,
): ReadMessages {
  const message = `Cannot read message: ${state}`;
  return { kind: "invalid", failure: failure(id, { code, message }) };
}
