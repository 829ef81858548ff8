/**
 * Sends requests to a handler of this process, as `fetch` sends them to a
 * server.
 *
 * @module
 */

import type {
  HttpHandler,
  HttpHeaders,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";

/** Requests of this process count as those of this machine. */
const PEER = { address: "127.0.0.1", port: 0 };

/** Makes a `fetch` whose requests a handler answers, whatever their host is. */
export function handlerFetch(
  handler: HttpHandler,
): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const { signal } = init;
    signal?.throwIfAborted();
    const given = new Request(url, { ...init, signal: null });
    const gone = new Set<() => void>();
    const end = (): void => {
      for (const listener of gone) listener();
      gone.clear();
    };
    signal?.addEventListener("abort", end, { once: true });
    try {
      const response = await handler(toRequest(given, { signal, gone }));
      signal?.throwIfAborted();
      return toResponse(response);
    } finally {
      signal?.removeEventListener("abort", end);
    }
  };
}

function toRequest(
  given: Request,
  { signal, gone }: {
    readonly signal: AbortSignal | null | undefined;
    readonly gone: Set<() => void>;
  },
): HttpRequest {
  const { pathname, search } = new URL(given.url);
  return {
    method: given.method,
    target: pathname + search,
    headers: toHeaders(given.headers),
    peer: PEER,
    isTls: false,
    isGone: () => signal?.aborted ?? false,
    onGone(listener) {
      if (signal?.aborted) listener();
      else gone.add(listener);
      return () => void gone.delete(listener);
    },
    async body(maxBytes) {
      const bytes = new Uint8Array(await given.arrayBuffer());
      return bytes.length > maxBytes
        ? { kind: "too_large" }
        : { kind: "ok", bytes };
    },
  };
}

function toHeaders(headers: Headers): HttpHeaders {
  const get = (name: string): string | undefined =>
    headers.get(name) ?? undefined;
  return {
    get,
    all(name) {
      const value = get(name);
      return value === undefined ? [] : [value];
    },
  };
}

/** Statuses whose answers have no body. */
const BODILESS: readonly number[] = [204, 205, 304];

function toResponse({ status, headers, body, stream }: HttpResponse): Response {
  const fields = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name, String(value)])
  );
  const content = BODILESS.includes(status)
    ? null
    : stream === undefined
    ? toBytes(body)
    : new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const bytes = await stream.next();
        if (bytes === undefined) controller.close();
        else controller.enqueue(Uint8Array.from(bytes));
      },
      cancel: () => stream.cancel(),
    });
  return new Response(content, { status, headers: fields });
}

function toBytes(
  body: string | Uint8Array | undefined,
): string | Uint8Array<ArrayBuffer> | null {
  if (body === undefined || typeof body === "string") return body ?? null;
  return Uint8Array.from(body);
}
