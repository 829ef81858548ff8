/**
 * Pages of the debug port: plain text for `curl`, and JSON for programs. A
 * browser is led to the page of the console that shows the same.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import { problem } from "./problem.ts";

/** A page in all its forms; a form is made only when it is asked for. */
export interface DebugPage {
  /** Plain text, lines that end in a line feed. */
  readonly text: () => string;
  /** Value for `JSON.stringify`; undefined for a page without a JSON form. */
  readonly json?: (() => unknown) | undefined;
  /**
   * The status of the answer.
   *
   * @default 200
   */
  readonly status?: 200 | 400 | 404 | 503 | undefined;
}

type PageForm = "text" | "json";

const TYPES: Readonly<Record<PageForm, string>> = {
  text: "text/plain; charset=utf-8",
  json: "application/json",
};

/** Headers that keep a browser from taking a page for anything else. */
const SECURITY_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
} as const;

/** Returns the query parameters of a request. */
export function parseQuery({ target }: HttpRequest): URLSearchParams {
  const start = target.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/** Tells whether a browser asks for a page to be read by a person. */
export function isForBrowser(request: HttpRequest): boolean {
  if (request.method !== "GET" && request.method !== "HEAD") return false;
  if (parseQuery(request).has("format")) return false;
  return (request.headers.get("accept") ?? "").includes("text/html");
}

/**
 * Answers with the form of the page that the request asks for by
 * `?format=text|json`, which is text unless it does.
 */
export function debugAnswer(
  request: HttpRequest,
  page: DebugPage,
): HttpResponse {
  const form = parseQuery(request).get("format") ?? "text";
  if (form !== "text" && (form !== "json" || page.json === undefined)) {
    const forms = page.json === undefined ? "text" : "text or json";
    return problem({
      status: 400,
      detail: `Cannot show this page in that form: format is ${forms}`,
    });
  }
  return {
    status: page.status ?? 200,
    headers: { ...SECURITY_HEADERS, "content-type": TYPES[form] },
    body: form === "text" ? page.text() : JSON.stringify(page.json?.()),
  };
}
