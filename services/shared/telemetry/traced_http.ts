/**
 * Spans of HTTP: of the requests that a port answers, and of the calls that a
 * service makes. Neither a path, a query nor a field's value is in them.
 *
 * @module
 */

import type { Span } from "@opentelemetry/api";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../http/exchange.ts";
import { markFailed, type Tracing } from "./tracing.ts";

/** Answers a request; its span is undefined where none is recorded. */
type SpanHandler = (
  request: HttpRequest,
  span?: Span,
) => HttpResponse | Promise<HttpResponse>;

/** Methods that may appear in a span; any other is text of the client. */
const METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/**
 * A handler that makes a span of each request, within which it is answered; see
 * {@linkcode nameRoute} for the route. Without tracing it is the handler
 * itself.
 */
export function tracedHandler(
  handler: SpanHandler,
  tracing: Tracing | undefined,
): HttpHandler {
  if (tracing === undefined) return handler;
  return async (request) => {
    const { method, headers } = request;
    const name = METHODS.has(method) ? method : "HTTP";
    const span = tracing.begin(name, {
      role: "server",
      parent: (field) => headers.get(field),
      attributes: {
        "http.request.method": METHODS.has(method) ? method : "_OTHER",
      },
    });
    const isRecorded = span.isRecording();
    try {
      const response = await tracing.within(
        span,
        () => handler(request, isRecorded ? span : undefined),
      );
      const { status } = response;
      span.setAttribute("http.response.status_code", status);
      if (status >= 500) markFailed(span, `answered ${status}`);
      return response;
    } catch (error) {
      markFailed(span, "the handler threw");
      throw error;
    } finally {
      span.end();
    }
  };
}

/** Calls the span of a request by its route, a pattern such as `/tasks/:id`. */
export function nameRoute(
  span: Span,
  { method, path }: { readonly method: string; readonly path: string },
): void {
  span.updateName(`${method} ${path}`);
  span.setAttribute("http.route", path);
}

/** Sends a request; the platform's `fetch` is one. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A `fetch` that makes a span of each call within another one, and passes the
 * trace on. Without tracing, and where the runtime does so itself, it is the
 * one that was given.
 *
 * @param options.peer What is called, for the span's name, such as `model`.
 */
export function tracedFetch(
  fetch: Fetch,
  { tracing, peer }: {
    readonly tracing: Tracing | undefined;
    readonly peer: string;
  },
): Fetch {
  if (tracing === undefined || tracing.coversFetch) return fetch;
  return async (url, init) => {
    // A call outside of any span, such as a health check, starts no trace.
    if (tracing.current() === undefined) return await fetch(url, init);
    const method = init.method ?? "GET";
    const { hostname = "", port = "" } = URL.parse(url) ?? {};
    const attributes: Record<string, string | number> = {
      "http.request.method": method,
      "server.address": hostname,
    };
    if (port !== "") attributes["server.port"] = Number(port);
    const span = tracing.begin(`${method} ${peer}`, {
      role: "client",
      attributes,
    });
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(tracing.toFields(span))) {
      headers.set(name, value);
    }
    try {
      const response = await fetch(url, { ...init, headers });
      const { status } = response;
      span.setAttribute("http.response.status_code", status);
      if (status >= 400) markFailed(span, `answered ${status}`);
      return response;
    } catch (error) {
      markFailed(span, error instanceof Error ? error.name : "error");
      throw error;
    } finally {
      span.end();
    }
  };
}
