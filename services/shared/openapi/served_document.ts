/**
 * Serves the OpenAPI document of an API and its page.
 *
 * @module
 */

import { CodedText } from "../http/coded_text.ts";
import type { HttpPages, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { OpenApiDocument } from "./document.ts";
import { apiPageHeaders, apiPageHtml } from "./page.ts";

/** How long caches may keep them, in seconds. */
const MAX_AGE_SECONDS = 300;

/** Longest list of entity tags that is looked at. */
const MAX_LENGTH = 4_096;

interface ServedText {
  readonly text: CodedText;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Answers `/openapi.json` with the document and `/docs` with its page. Each is
 * made when it is asked for first, so that no start waits for it.
 */
export function documentPages(getDocument: () => OpenApiDocument): HttpPages {
  let document: OpenApiDocument | undefined;
  const page = (
    headers: ServedText["headers"],
    renderText: (document: OpenApiDocument) => string,
  ) => {
    let served: ServedText | undefined;
    return (request: HttpRequest): Promise<HttpResponse> => {
      document ??= getDocument();
      served ??= { text: new CodedText(renderText(document)), headers };
      return answerText(request, served);
    };
  };
  return new Map([
    [
      "/openapi.json",
      page({
        "content-type": "application/json",
        "x-content-type-options": "nosniff",
      }, JSON.stringify),
    ],
    [
      "/docs",
      page({
        "content-type": "text/html; charset=utf-8",
        ...apiPageHeaders(),
      }, apiPageHtml),
    ],
  ]);
}

async function answerText(
  { method, headers }: HttpRequest,
  { text, headers: own }: ServedText,
): Promise<HttpResponse> {
  if (method !== "GET" && method !== "HEAD") {
    return { status: 405, headers: { allow: "GET, HEAD" } };
  }
  const form = await text.formFor(headers.get("accept-encoding"));
  const common = {
    etag: form.etag,
    "cache-control": `public, max-age=${MAX_AGE_SECONDS}`,
    vary: "accept-encoding",
  };
  return isKnown(headers.get("if-none-match"), form.etag)
    ? { status: 304, headers: common }
    : {
      status: 200,
      headers: { ...own, ...form.headers, ...common },
      body: form.bytes,
    };
}

/** Whether If-None-Match has the entity tag (RFC 9110, 13.1.2). */
function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined || header.length > MAX_LENGTH) return false;
  return header.split(",").some((one) => {
    const tag = one.trim();
    return tag === "*" || tag === etag || tag === `W/${etag}`;
  });
}
