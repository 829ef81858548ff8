/**
 * Answers as the routes give them.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { HttpResponse } from "../../shared/http/exchange.ts";
import type { Pausing } from "../../shared/slices.ts";
import { isJsonObject } from "./checks/check.ts";

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
  readonly headers?: Readonly<Record<string, string>>;
}

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
  return {
    status,
    json: { error },
    ...(retryAfterMs === undefined ? {} : {
      headers: { "retry-after": String(retrySeconds(retryAfterMs)) },
    }),
  };
}

/** Whole seconds for the header `Retry-After`, at least 1. */
export function retrySeconds(retryAfterMs: number): number {
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
