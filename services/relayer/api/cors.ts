/**
 * CORS header fields, which let pages of other origins call the API (Fetch
 * standard, CORS protocol). Requests carry signatures and no cookies, so a page
 * can do nothing with them that it could not do from elsewhere.
 *
 * @module
 */

import type {
  HttpHeaders,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";

/** Header fields that pages may send. */
const ALLOWED_HEADERS: readonly string[] = [
  "authorization",
  "content-type",
  "x-public-key",
  "x-signature",
  "x-timestamp",
  "x-nonce",
  "x-account-id",
  "x-seal-session",
  "x-delegate-key",
  // Header fields that the ledger's own client sends with its reads.
  "client-request-method",
  "client-sdk-type",
  "client-sdk-version",
  "client-target-api-version",
];

/** Header fields of answers that pages may read. */
const EXPOSED_HEADERS: readonly string[] = [
  "retry-after",
  "www-authenticate",
  "x-auth-error",
  "x-trace-id",
];

const METHODS = "GET, HEAD, POST, DELETE";
/**
 * How long browsers may cache a preflight answer: two hours, the longest that
 * they do.
 */
const MAX_AGE_SECONDS = 7_200;

/** Header fields by name. */
type Fields = Readonly<Record<string, string>>;

/** Adds the CORS header fields for the request's origin to a response. */
export function withCors(
  response: HttpResponse,
  { headers }: Pick<HttpRequest, "headers">,
  origins: readonly string[],
): HttpResponse {
  const cors = corsHeaders(headers, origins);
  return { ...response, headers: { ...response.headers, ...cors } };
}

function corsHeaders(
  headers: HttpHeaders,
  origins: readonly string[],
): Fields {
  const origin = headers.get("origin");
  if (origins.includes("*")) {
    if (origin === undefined) return {};
    return allowed("*");
  }
  // The answer depends on the origin of the request, so caches have to know.
  return origin !== undefined && origins.includes(origin)
    ? { ...allowed(origin), vary: "Origin" }
    : { vary: "Origin" };
}

/** Whether a request only asks whether another may be sent. */
export function isPreflight(
  { method, headers }: Pick<HttpRequest, "method" | "headers">,
): boolean {
  return method === "OPTIONS" && headers.get("origin") !== undefined &&
    headers.get("access-control-request-method") !== undefined;
}

/**
 * Returns the header fields of a preflight answer, beside those of {@linkcode
 * withCors}.
 */
export function preflightHeaders(): Fields {
  return {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": ALLOWED_HEADERS.join(", "),
    "access-control-max-age": String(MAX_AGE_SECONDS),
  };
}

function allowed(origin: string): Fields {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": EXPOSED_HEADERS.join(", "),
  };
}
