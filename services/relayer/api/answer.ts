/**
 * Answers as the routes give them.
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

/** An answer before it is written out. */
export interface Answer {
  /** The status. */
  readonly status: number;
  /**
   * What is sent as JSON.
   * @default nothing
   */
  readonly json?: unknown;
  /**
   * Bytes of blobs that were read for it, which cost points as those of the
   * answer do.
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
   * Why a part of the relayer does not answer; for the log alone.
   * @default all parts that are needed do
   */
  readonly reason?: string;
}

/** A JSON object of an answer, made of a row or an outcome. */
export type JsonView = Readonly<Record<string, unknown>>;

/** Header fields of every answer: nothing here is for a cache or a sniffer. */
const ALWAYS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** A good answer. */
export function ok(json: unknown, status = 200): Answer {
  return { status, json };
}

/** An answer that says why not: `{"error": …}`. */
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

/** The answer where there is no such path. */
export const NO_PATH: Answer = {
  status: 404,
  json: { error: "Cannot find path: there is none such" },
};

/** The answer to a method that a path does not take. */
export function notAllowed(allow: string): Answer {
  const error = `Cannot use this method here: ${allow} are taken`;
  return { status: 405, json: { error }, headers: { allow } };
}

/** The answer to a request that got no turn. */
export function noTurn(
  outcome: Exclude<TurnOutcome, { readonly kind: "ok" }>,
): Answer {
  // Who disconnected does not see the answer.
  return outcome.kind === "gone"
    ? refused(408, "Cannot answer: the client has gone away")
    : refused(503, "Cannot answer: too many requests wait already", outcome);
}

const BODY_RETRY_MS = 1_000;

/** The answer to a request whose body could not be taken in. */
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
      return refused(503, "Cannot read body: too many bodies are under way", {
        retryAfterMs: BODY_RETRY_MS,
      });
    case "aborted":
      // Who disconnected does not see the answer.
      return refused(408, "Cannot read body: not all of it came in time");
  }
}

/** An answer that says that a part which is needed does not answer. */
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

/** Writes a short answer out. */
export function renderAnswer(answer: Answer): HttpResponse {
  const { json } = answer;
  return responseOf(answer, json === undefined ? "" : JSON.stringify(json));
}

/** Writes an answer out, one that holds a long list in slices. */
export async function renderInSlices(
  answer: Answer,
  pausing: Pausing,
): Promise<HttpResponse> {
  const { json } = answer;
  return isJsonObject(json)
    ? responseOf(answer, await jsonBody(json, pausing))
    : renderAnswer(answer);
}

/** Bytes of the body of an answer. */
export function bodyBytes({ body = "" }: HttpResponse): number {
  return typeof body === "string" ? Buffer.byteLength(body) : body.length;
}

function responseOf(
  { status, headers }: Answer,
  json: string | Uint8Array,
): HttpResponse {
  const type: Readonly<Record<string, string>> = json.length === 0
    ? {}
    : { "content-type": "application/json" };
  return { status, headers: { ...type, ...ALWAYS, ...headers }, body: json };
}

/** Characters that are turned into bytes at once. */
const PIECE_CHARS = 65_536;

/**
 * What `JSON.stringify()` gives for an object, made of its members and, where one
 * is a list, of the items of that. As bytes when it is long: in the place of one
 * string of megabytes, which takes long to make and twice as long to encode.
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

/** Where something failed. */
interface FailureContext {
  /** Hears of it. */
  readonly logger: Logger;
  /** The route's method and pattern: paths may hold what no log should. */
  readonly route: string;
}

/** When to try again by default. */
const DEFAULT_RETRY_MS = 5_000;

/**
 * The answer to a request whose route threw: nothing of the error's content, and a
 * number to find it in the log by.
 */
export function failureAnswer(
  error: unknown,
  { logger, route, storage }: FailureContext & {
    /** Hears of failures of the storage, and logs what there is to say of them. */
    readonly storage: Pick<StorageWatch, "note">;
  },
): Answer {
  if (error instanceof StoreBusyError) {
    return refused(503, "Cannot answer: too much waits to be written", {
      retryAfterMs: error.retryAfterMs,
    });
  }
  // A line for each request would take what room is left on a full disk.
  if (storage.note(error)) {
    return refused(
      503,
      "Cannot answer: the storage failed; if something was to be written, " +
        "whether it was is not known",
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
 * An answer as clients get it: the reason why a part does not answer is logged,
 * and the answer has a number to find it in the log by.
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
