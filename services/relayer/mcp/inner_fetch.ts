/**
 * Requests to the relayer's own API without a socket: a client of the SDK in
 * this process is admitted, charged and answered as any other.
 *
 * @module
 */

import type { MemFetch } from "../../../sdk/memory/round_trip.ts";
import type {
  HttpHandler,
  HttpPeer,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import { InnerRequest } from "../../shared/http/inner_request.ts";

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
    const { method = "GET", headers, body, signal } = init;
    const { pathname, search } = new URL(url);
    // The client of the SDK writes its fields as an object, in lower case.
    const fields = Object.entries(headers as Record<string, string>);
    const request = new InnerRequest({
      ...{ method, signal, target: pathname + search, peer: from() },
      fields: new Map(fields),
      body: body instanceof Uint8Array ? body : undefined,
    });
    return toResponse(await handler(request));
  };
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
