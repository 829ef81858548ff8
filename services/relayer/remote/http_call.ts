/**
 * Calls of other servers over HTTP within bounds of time and size, and members of
 * their answers, which may be anything.
 *
 * @module
 */

import { boundedBytes } from "../../shared/bounded_text.ts";
import type { Clock } from "../../shared/clock.ts";
import { parseRetryAfter } from "../../shared/http/retry_after.ts";
import { settle } from "../../shared/settled.ts";
import { boundedWork } from "../concurrency/bounded_work.ts";

/** Sends a request; the platform's `fetch` is one. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a call is made with. */
interface HttpCallOptions {
  /** Sends the request. */
  readonly fetch: Fetch;
  /** The time. */
  readonly clock: Clock;
  /** Largest answer that is read, in bytes. */
  readonly maxBytes: number;
}

/** An answer that is no good. */
type HttpRefusal =
  | {
    readonly kind: "refused";
    readonly status: number;
    /** When it is worth trying again, where the server said so. */
    readonly retryAfterMs: number | undefined;
  }
  | { readonly kind: "too_large" };

/** The longest wait that a server may ask for. */
const LONGEST_RETRY_MS = 3_600_000;

/**
 * Sends a request and reads the body of a good answer.
 *
 * @throws what `fetch` throws, and when the transfer breaks off
 */
export async function callHttp(
  url: string,
  init: RequestInit,
  { fetch, clock, maxBytes }: HttpCallOptions,
): Promise<{ readonly kind: "ok"; readonly bytes: Uint8Array } | HttpRefusal> {
  const response = await fetch(url, init);
  const { status, headers } = response;
  if (!response.ok) {
    // What is left of the answer is not read; its failure does not matter.
    response.body?.cancel().catch(() => {});
    const retryAfterMs = parseRetryAfter(headers.get("retry-after") ?? "", {
      nowMs: clock.nowMs(),
      maxMs: LONGEST_RETRY_MS,
    });
    return { kind: "refused", status, retryAfterMs };
  }
  const bytes = await boundedBytes(response, maxBytes);
  return bytes === undefined ? { kind: "too_large" } : { kind: "ok", bytes };
}

/** What JSON is posted with. */
interface PostJsonOptions extends HttpCallOptions {
  /** What is sent as JSON. */
  readonly body: unknown;
  /** Header fields beside the type of the body. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds for the whole call, the body of the answer included. */
  readonly timeoutMs: number;
  /** Ends the call early. */
  readonly signal: AbortSignal | undefined;
}

/** The outcome of posting JSON. */
type JsonAnswer =
  | { readonly kind: "ok"; readonly json: unknown }
  | HttpRefusal
  | { readonly kind: "not_json" }
  /** It took too long, or was ended. */
  | { readonly kind: "late" | "ended" }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Posts JSON and reads an answer of JSON; never throws. Redirects are not
 * followed: what is sent goes to the server that is named alone.
 */
export async function postJson(
  url: string,
  { body, headers, timeoutMs, signal, ...options }: PostJsonOptions,
): Promise<JsonAnswer> {
  const settled = await settle(() =>
    boundedWork({
      clock: options.clock,
      timeoutMs,
      signal,
      run: (signal) =>
        callHttp(url, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
          redirect: "manual",
          signal,
        }, options),
    })
  );
  if (settled.kind === "failed") return settled;
  if (settled.value.kind !== "done") return settled.value;
  const answer = settled.value.result;
  if (answer.kind !== "ok") return answer;
  const json = parseJson(answer.bytes);
  return json === undefined ? { kind: "not_json" } : { kind: "ok", json };
}

/** The JSON that some bytes are; undefined when they are none. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/** A URL without slashes at its end, so that a path can follow. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

/** A member of an answer; undefined when the answer is no object. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null &&
      Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
