/**
 * Answers of routes, the errors that several routes share, and how answers are
 * written as HTTP responses.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { TurnOutcome } from "../../shared/fair_turns.ts";
import type { BodyOutcome, HttpResponse } from "../../shared/http/exchange.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Pausing } from "../../shared/slices.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import type { StorageWatch } from "../store/storage_watch.ts";
import { StoreBusyError } from "../store/store.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";

/** An instant as RFC 3339 text in UTC, with milliseconds. */
export function wireTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** An answer of a route, before it is written as a response. */
export interface Answer {
  /** The status. */
  readonly status: number;
  /**
   * The value of the JSON body.
   * @default no body
   */
  readonly json?: unknown;
  /**
   * Bytes of blobs that were read for the answer; they cost points as the bytes
   * of the answer do.
   *
   * @default {0}
   */
  readonly readBytes?: number;
  /**
   * Header fields beside those of every answer.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * The reason why a part of the relayer is unavailable; only logged.
   * @default no part is unavailable
   */
  readonly reason?: string;
}

/** A JSON object in an answer, made of a row or an outcome. */
export type JsonView = Readonly<Record<string, unknown>>;

/**
 * Header fields of every answer: no cache may store it, and no browser may
 * guess its type.
 */
const ALWAYS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** Makes a successful answer. */
export function ok(json: unknown, status = 200): Answer {
  return { status, json };
}

/** Makes an error answer with the body `{"error": …}`. */
export function refused(
  status: number,
  error: string,
  options: { readonly retryAfterMs?: number | undefined } = {},
): Answer {
  const { retryAfterMs } = options;
  const headers = retryAfterMs === undefined
    ? undefined
    : { "retry-after": String(retrySeconds(retryAfterMs)) };
  return { status, json: { error }, headers };
}

/** The answer for an unknown path. */
export const NO_PATH: Answer = {
  status: 404,
  json: { error: "Cannot find path: it does not exist" },
};

/** The answer when a path does not have the method. */
export function notAllowed(allow: string): Answer {
  const error = `Cannot use this method here: only ${allow} can be used`;
  return { status: 405, json: { error }, headers: { allow } };
}

/** The answer to a request that got no turn on the thread. */
export function noTurn(
  outcome: Exclude<TurnOutcome, { readonly kind: "ok" }>,
): Answer {
  // A client that disconnected does not see the answer.
  return outcome.kind === "gone"
    ? refused(408, "Cannot answer: the client has disconnected")
    : refused(503, "Cannot answer: too many requests wait already", outcome);
}

const BODY_RETRY_MS = 1_000;

/** The answer to a request whose body could not be read. */
export function noBody(
  body: Exclude<BodyOutcome, { readonly kind: "ok" }>,
  maxBytes: number,
): Answer {
  switch (body.kind) {
    case "too_large":
      return refused(
        413,
        `Cannot read body: it has more than ${maxBytes} bytes`,
      );
    case "busy":
      return refused(503, "Cannot read body: too many bodies are in progress", {
        retryAfterMs: BODY_RETRY_MS,
      });
    case "aborted":
      // A client that disconnected does not see the answer.
      return refused(408, "Cannot read body: it did not arrive in time");
  }
}

/** Makes the answer when a part that the route needs is unavailable. */
export function unavailable(
  error: string,
  { reason, retryAfterMs = DEFAULT_RETRY_MS }: {
    readonly reason: string;
    readonly retryAfterMs?: number | undefined;
  },
): Answer {
  return { ...refused(503, error, { retryAfterMs }), reason };
}

/** Whole seconds for the header `Retry-After`, at least 1. */
function retrySeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1_000));
}

/** Writes a short answer as a response. */
export function renderAnswer(answer: Answer): HttpResponse {
  const { json } = answer;
  return toResponse(answer, json === undefined ? "" : JSON.stringify(json));
}

/**
 * Writes an answer as a response, in slices, so that a long list does not block
 * the thread.
 */
export async function renderInSlices(
  answer: Answer,
  pausing: Pausing,
): Promise<HttpResponse> {
  const { json } = answer;
  return isJsonObject(json)
    ? toResponse(answer, await jsonBody(json, pausing))
    : renderAnswer(answer);
}

/** Returns the number of bytes of a response's body. */
export function bodyBytes({ body = "" }: HttpResponse): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}

function toResponse(
  { status, headers }: Answer,
  json: string | Uint8Array,
): HttpResponse {
  const type: Readonly<Record<string, string>> = json.length === 0
    ? {}
    : { "content-type": "application/json" };
  return { status, headers: { ...type, ...ALWAYS, ...headers }, body: json };
}

/** Characters of JSON that are encoded as bytes at once. */
const PIECE_CHARS = 65_536;

/**
 * Returns what `JSON.stringify()` would, member by member, and item by item
 * where a member is a list. A long result comes as bytes: one string of
 * megabytes takes long to make, and twice as long to encode.
 */
async function jsonBody(
  json: Readonly<Record<string, unknown>>,
  pausing: Pausing,
): Promise<string | Uint8Array> {
  const encoded: Uint8Array[] = [];
  let text = "";
  for (const piece of jsonPieces(json)) {
    text += piece;
    if (text.length < PIECE_CHARS) continue;
    encoded.push(Buffer.from(text));
    text = "";
    const wait = pausing.pause();
    if (wait !== undefined) await wait;
  }
  if (encoded.length === 0) return text;
  return Buffer.concat([...encoded, Buffer.from(text)]);
}

function* jsonPieces(
  json: Readonly<Record<string, unknown>>,
): Generator<string> {
  let mark = "{";
  for (const [name, value] of Object.entries(json)) {
    if (value === undefined) continue;
    const start = `${mark}${JSON.stringify(name)}:`;
    mark = ",";
    if (!Array.isArray(value) || typeof value[0] === "number") {
      yield start + JSON.stringify(value);
      continue;
    }
    yield `${start}[`;
    for (const [at, item] of value.entries()) {
      yield (at === 0 ? "" : ",") + JSON.stringify(item ?? null);
    }
    yield "]";
  }
  yield mark === "{" ? "{}" : "}";
}

/** The route in which something failed, and the log. */
interface FailureContext {
  /** Logs the failure. */
  readonly logger: Logger;
  /**
   * The route's method and pattern; not the path, which may contain what no log
   * should have.
   */
  readonly route: string;
}

/** The default of `Retry-After`, in milliseconds. */
const DEFAULT_RETRY_MS = 5_000;

/**
 * Makes the answer to a request whose route threw: it says nothing about the
 * error, but has a trace id by which the error is found in the log.
 */
export function failureAnswer(
  error: unknown,
  { logger, route, storage }: FailureContext & {
    /** Takes note of storage failures, and logs them once. */
    readonly storage: Pick<StorageWatch, "note">;
  },
): Answer {
  if (error instanceof StoreBusyError) {
    return refused(503, "Cannot answer: too many writes are waiting", {
      retryAfterMs: error.retryAfterMs,
    });
  }
  // A failed storage is not logged for each request: that would fill what room
  // is left on a full disk.
  if (storage.note(error)) {
    return refused(
      503,
      "Cannot answer: the storage failed; the request may have taken effect",
      { retryAfterMs: DEFAULT_RETRY_MS },
    );
  }
  const traceId = newTraceId();
  if (error instanceof BlobStoreError && error.isPassing) {
    logger.warn("Cannot answer request: the blob store failed", {
      trace: traceId,
      route,
      error: error.message,
    });
    return traced(
      refused(503, "Cannot answer: the blob store does not answer", {
        retryAfterMs: error.retryAfterMs ?? DEFAULT_RETRY_MS,
      }),
      traceId,
    );
  }
  logger.error("Cannot answer request: the route failed", {
    trace: traceId,
    route,
    error: error instanceof Error ? error.stack ?? error.message : `${error}`,
  });
  return traced(refused(500, "Cannot answer: the relayer failed"), traceId);
}

/**
 * Makes the answer as clients see it: when a part was unavailable, the reason
 * is logged, and the answer gets a trace id by which it is found in the log.
 */
export function withTrace(
  answer: Answer,
  { logger, route }: FailureContext,
): Answer {
  const { reason } = answer;
  if (reason === undefined) return answer;
  const traceId = newTraceId();
  logger.warn("Cannot answer request: a part does not answer", {
    trace: traceId,
    route,
    reason,
  });
  return traced(answer, traceId);
}

function newTraceId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

function traced({ status, json, headers }: Answer, traceId: string): Answer {
  const body = typeof json === "object" ? { ...json } : {};
  return {
    status,
    json: { ...body, trace_id: traceId },
    headers: { ...headers, "x-trace-id": traceId },
  };
}
