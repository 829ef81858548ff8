/**
 * Requests without a server, for tests of HTTP handlers.
 *
 * @module
 */

import type { BodyOutcome } from "../../../shared/http/exchange.ts";
import type {
  HttpHeaders,
  HttpRequest,
} from "../../../shared/http/exchange.ts";

/** Options of {@linkcode testRequest}. */
export interface TestRequestOptions {
  /** The method, in upper case. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /**
   * Header fields.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The body: bytes, text, or what is sent as JSON.
   * @default none
   */
  readonly body?: unknown;
  /**
   * The outcome of reading the body, in place of its bytes.
   * @default the body's bytes
   */
  readonly bodyOutcome?: BodyOutcome;
  /**
   * Aborts when the client disconnects.
   * @default the client stays
   */
  readonly signal?: AbortSignal;
}

/** Makes a request. */
export function testRequest(options: TestRequestOptions): HttpRequest {
  const { method, target, bodyOutcome, signal } = options;
  const bytes = encodeBody(options.body);
  return {
    method,
    target,
    headers: testHeaders(options.headers ?? {}),
    peer: { address: "192.0.2.1", port: 50_000 },
    isTls: false,
    isGone: () => signal?.aborted ?? false,
    onGone(listener) {
      if (signal?.aborted === true) listener();
      signal?.addEventListener("abort", listener, { once: true });
      return () => signal?.removeEventListener("abort", listener);
    },
    body: (maxBytes) =>
      Promise.resolve(
        bodyOutcome ??
          (bytes.byteLength > maxBytes
            ? { kind: "too_large" }
            : { kind: "ok", bytes }),
      ),
  };
}

function encodeBody(body: unknown): Uint8Array<ArrayBuffer> {
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) return Uint8Array.from(body);
  return new TextEncoder().encode(
    typeof body === "string" ? body : JSON.stringify(body),
  );
}

function testHeaders(given: Readonly<Record<string, string>>): HttpHeaders {
  const values = new Map(
    Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const all = (name: string): readonly string[] => {
    const value = values.get(name.toLowerCase());
    return value === undefined ? [] : [value];
  };
  return { get: (name) => all(name)[0], all };
}
