/**
 * HTTP calls of other servers, with limits on time and size, and helpers to
 * read their answers, which may be anything.
 *
 * @module
 */

import { boundedBytes } from "../../shared/bounded_text.ts";
import type { Clock } from "../../shared/clock.ts";
import { parseRetryAfter } from "../../shared/http/retry_after.ts";
import { settle } from "../../shared/settled.ts";
import { boundedWork } from "../concurrency/bounded_work.ts";

/** Sends an HTTP request, as the platform's `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of {@linkcode callHttp}. */
interface HttpCallOptions {
  /** Sends the request. */
  readonly fetch: Fetch;
  /** The time. */
  readonly clock: Clock;
  /** Most bytes of an answer's body. */
  readonly maxBytes: number;
}

/** A response that is not usable. */
type HttpRefusal =
  | {
    readonly kind: "refused";
    readonly status: number;
    /**
     * How long the server asks to wait before a retry, in milliseconds;
     * undefined where it does not say.
     */
    readonly retryAfterMs: number | undefined;
    /**
     * Whether the response is JSON, as those of the servers that are called
     * here. A proxy in front of one answers pages or text.
     */
    readonly isJson: boolean;
  }
  | { readonly kind: "too_large" };

/** The longest wait that a server may ask for, in milliseconds. */
const LONGEST_RETRY_MS = 3_600_000;

/**
 * Sends a request and reads the body of a successful response.
 *
 * @throws what `fetch` throws, also when the transfer breaks off
 */
export async function callHttp(
  url: string,
  init: RequestInit,
  { fetch, clock, maxBytes }: HttpCallOptions,
): Promise<{ readonly kind: "ok"; readonly bytes: Uint8Array } | HttpRefusal> {
  const response = await fetch(url, init);
  const { status, headers } = response;
  if (!response.ok) {
    // The rest of the response is not read, and whether that fails does not
    // matter.
    response.body?.cancel().catch(() => {});
    const retryAfterMs = parseRetryAfter(headers.get("retry-after") ?? "", {
      nowMs: clock.nowMs(),
      maxMs: LONGEST_RETRY_MS,
    });
    const isJson = /[/+]json\b/i.test(headers.get("content-type") ?? "");
    return { kind: "refused", status, retryAfterMs, isJson };
  }
  const bytes = await boundedBytes(response, maxBytes);
  return bytes === undefined ? { kind: "too_large" } : { kind: "ok", bytes };
}

/** Options of {@linkcode postJson}. */
interface PostJsonOptions extends HttpCallOptions {
  /** The value to send as JSON. */
  readonly body: unknown;
  /** Header fields beside the content type. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Timeout of the whole call in milliseconds, with the body of the response.
   */
  readonly timeoutMs: number;
  /** Aborts the call. */
  readonly signal: AbortSignal | undefined;
}

/** The outcome of posting JSON. */
type JsonAnswer =
  | { readonly kind: "ok"; readonly json: unknown }
  | HttpRefusal
  | { readonly kind: "not_json" }
  /** The call took too long, or was aborted. */
  | { readonly kind: "late" | "ended" }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Posts JSON and reads JSON from the response; never rejects. Redirects are not
 * followed, so that the request goes to the named server only.
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

/** Parses bytes as JSON; undefined when they are not JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/** Returns a URL without trailing slashes, so that a path can follow. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

/**
 * Returns a member of an answer; undefined when the answer is not an object or
 * lacks the member.
 */
export function getMember(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null &&
      Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
