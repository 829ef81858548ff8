/**
 * Requests as values, for tests without a server.
 *
 * @module
 */

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
   * Headers; several values of one as a list.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /**
   * The body.
   * @default none
   */
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /**
   * The address of the client.
   * @default {"192.0.2.1"}
   */
  readonly address?: string;
  /**
   * Whether the request came over TLS.
   * @default {false}
   */
  readonly isTls?: boolean;
  /**
   * Aborted when the client disconnects.
   * @default it stays
   */
  readonly signal?: AbortSignal;
}

/** Makes a request. */
export function testRequest(options: TestRequestOptions): HttpRequest {
  const { method, target, body, address = "192.0.2.1", signal } = options;
  const bytes = typeof body === "string"
    ? new TextEncoder().encode(body)
    : body ?? new Uint8Array();
  const length: Record<string, string> = body === undefined
    ? {}
    : { "content-length": String(bytes.byteLength) };
  return {
    method,
    target,
    headers: testHeaders({ ...length, ...options.headers }),
    peer: { address, port: 50_000 },
    isTls: options.isTls ?? false,
    isGone: () => signal?.aborted ?? false,
    onGone(listener) {
      if (signal === undefined) return () => {};
      if (signal.aborted) {
        listener();
        return () => {};
      }
      signal.addEventListener("abort", listener, { once: true });
      return () => signal.removeEventListener("abort", listener);
    },
    body: (maxBytes) =>
      Promise.resolve(
        bytes.byteLength > maxBytes
          ? { kind: "too_large" }
          : { kind: "ok", bytes },
      ),
  };
}

function testHeaders(
  given: Readonly<Record<string, string | readonly string[]>>,
): HttpHeaders {
  const values = new Map(
    Object.entries(given).map((
      [name, value],
    ) => [name.toLowerCase(), typeof value === "string" ? [value] : value]),
  );
  return {
    get: (name) => values.get(name.toLowerCase())?.join(", "),
    all: (name) => values.get(name.toLowerCase()) ?? [],
  };
}
