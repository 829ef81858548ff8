/**
 * Requests to the relayer's own API without a socket: a client of the SDK in
 * this process is admitted, charged and answered as any other.
 *
 * @module
 */

import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import type {
  HttpHandler,
  HttpHeaders,
  HttpPeer,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";

/** Options of {@linkcode innerFetch}. */
interface InnerFetchOptions {
  /** Answers the requests. */
  readonly handler: HttpHandler;
  /** Who is at the other end of the outer request. */
  readonly from: () => HttpPeer;
}

/** Makes the `fetch` of a client whose relayer is this process. */
export function innerFetch(
  { handler, from }: InnerFetchOptions,
): MemFetch {
  return async (url, init) => {
    const { pathname, search } = new URL(url);
    const request = new InnerRequest(pathname + search, init, from());
    return toResponse(await handler(request));
  };
}

class InnerRequest implements HttpRequest {
  readonly method: string;
  readonly headers: HttpHeaders;
  readonly isTls = false;
  readonly #body: BodyInit | null | undefined;
  readonly #signal: AbortSignal | null | undefined;

  constructor(
    readonly target: string,
    { method = "GET", headers, body, signal }: RequestInit,
    readonly peer: HttpPeer,
  ) {
    this.method = method;
    // The client of the SDK writes its fields as an object, in lower case.
    const fields = new Map<string, string>(
      Object.entries(headers as Record<string, string>),
    );
    this.headers = {
      get: (name) => fields.get(name.toLowerCase()),
      all: (name) => {
        const value = fields.get(name.toLowerCase());
        return value === undefined ? [] : [value];
      },
    };
    this.#body = body;
    this.#signal = signal;
  }

  isGone(): boolean {
    return this.#signal?.aborted ?? false;
  }

  onGone(listener: () => void): () => void {
    const signal = this.#signal;
    if (!signal) return () => {};
    if (signal.aborted) {
      listener();
      return () => {};
    }
    signal.addEventListener("abort", listener, { once: true });
    return () => signal.removeEventListener("abort", listener);
  }

  body(maxBytes: number): ReturnType<HttpRequest["body"]> {
    const bytes = this.#body instanceof Uint8Array
      ? new Uint8Array(this.#body)
      : new Uint8Array();
    return Promise.resolve(
      bytes.length > maxBytes ? { kind: "too_large" } : { kind: "ok", bytes },
    );
  }
}

function toResponse({ status, headers, body }: HttpResponse): Response {
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === "string" ? [value] : value) {
      fields.append(name, one);
    }
  }
  const content = typeof body === "string" || body === undefined
    ? body
    : new Uint8Array(body);
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : content ?? null, {
    status,
    headers: fields,
  });
}
