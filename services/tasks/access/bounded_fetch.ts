/**
 * Calls other servers with a timeout and a bound on the length of the answer.
 *
 * @module
 */

import { boundedText } from "../../shared/bounded_text.ts";
import type { Clock } from "../../shared/clock.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import { describeError, settle, waitAtMost } from "../../shared/settled.ts";

/** Makes a call, as the platform's `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of {@linkcode fetchText}. */
interface FetchTextOptions {
  /** Makes the call. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
  /** Milliseconds until the whole answer has to be there. */
  readonly timeoutMs: number;
  /** Most bytes of an answer's body. */
  readonly maxBytes: number;
  /**
   * Method, headers and body. A redirect is returned as the answer; it is never
   * followed.
   */
  readonly init?: Pick<RequestInit, "method" | "headers" | "body">;
  /** Ends the call early. */
  readonly signal?: AbortSignal;
}

/** The outcome of a call. */
export type FetchOutcome =
  | {
    readonly kind: "ok";
    /** The status of the answer, whatever it is. */
    readonly status: number;
    /** The headers of the answer. */
    readonly headers: Headers;
    /** The body as text. */
    readonly text: string;
  }
  | {
    readonly kind: "failed";
    /** Why there is no answer, for a log. */
    readonly reason: string;
  };

/** Makes a call and reads the whole answer. Never rejects. */
export async function fetchText(
  url: string,
  options: FetchTextOptions,
): Promise<FetchOutcome> {
  const { clock, timeoutMs, signal } = options;
  const ending = new AbortController();
  const end = (): void => ending.abort();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end);
  const exchange = settle(() => exchangeOnce(url, options, ending.signal));
  try {
    const settled = await waitAtMost(exchange, { clock, timeoutMs });
    if (settled === "late") {
      end();
      return failed(`no answer within ${timeoutMs} ms`);
    }
    return settled.kind === "ok"
      ? settled.value
      : failed(describeError(settled.error));
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

async function exchangeOnce(
  url: string,
  options: FetchTextOptions,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  const response = await options.fetch(url, {
    ...options.init,
    redirect: "manual",
    signal,
  });
  const { status, headers } = response;
  const text = await boundedText(response, options.maxBytes);
  return text === undefined
    ? failed(`the answer has more than ${options.maxBytes} bytes`)
    : { kind: "ok", status, headers, text };
}

function failed(reason: string): FetchOutcome {
  return { kind: "failed", reason };
}

/**
 * Reads JSON text that has to be an object.
 *
 * @returns `undefined` when the text is no JSON or no object.
 */
export function parseJsonObject(
  text: string,
): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser throws for a text that is not JSON.
    return undefined;
  }
  return isJsonObject(value) ? value : undefined;
}
