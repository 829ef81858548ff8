/**
 * Answers as the routes give them.
 *
 * @module
 */

import type { HttpResponse } from "../../shared/http/exchange.ts";

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

/** Writes an answer out. */
export function renderAnswer(answer: Answer): HttpResponse {
  const { status, json, headers } = answer;
  const body = json === undefined ? "" : JSON.stringify(json);
  const type: Readonly<Record<string, string>> = body === ""
    ? {}
    : { "content-type": "application/json" };
  return { status, headers: { ...type, ...ALWAYS, ...headers }, body };
}
