/**
 * A small page for people who open a service's address in a browser. Clients of
 * the API, which do not ask for HTML, get what they got without it.
 *
 * @module
 */

import { preferredType } from "./accept.ts";
import type { HttpPages, HttpRequest, HttpResponse } from "./exchange.ts";
import { attributeHtml, codeHtml, textHtml } from "./html.ts";
import { htmlPage, PAGE_HEADERS, type PageLink } from "./html_page.ts";

/** What the page says. */
interface LandingPage {
  /** The name of the service. */
  readonly name: string;
  /** What it does, in one sentence. */
  readonly summary: string;
  /** Where its API is, such as `POST /json`. */
  readonly api: string;
  /** What else there is to look at: its health, its documents. */
  readonly links: readonly PageLink[];
  /**
   * Paths that show the page beside "/".
   *
   * @default none
   */
  readonly alsoAt?: readonly string[];
}

/** What the API answers with, and the type of the page. */
const TYPES = ["application/json", "text/html"] as const;

/** Answers GET and HEAD of "/" with the page where the client accepts HTML. */
export function landingPages(page: LandingPage): HttpPages {
  const response: HttpResponse = {
    status: 200,
    headers: {
      ...PAGE_HEADERS,
      "cache-control": "no-store",
      "vary": "accept",
    },
    body: landingHtml(page),
  };
  const answer = (request: HttpRequest): HttpResponse | undefined =>
    asksForPage(request) ? response : undefined;
  return new Map(
    ["/", ...(page.alsoAt ?? [])].map((path) => [path, answer]),
  );
}

function asksForPage({ method, headers }: HttpRequest): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  // A client that takes anything, as curl does, does not ask for HTML.
  return preferredType(headers.get("accept"), TYPES) === "text/html";
}

function landingHtml({ name, summary, api, links }: LandingPage): string {
  const rows = links.map(({ path, text }) =>
    `<dt>${textHtml(text)}</dt>
<dd><a href="${attributeHtml(path)}">${textHtml(path)}</a></dd>`
  );
  return htmlPage({
    service: name,
    heading: `Tercet ${name}`,
    content: `<p>${textHtml(summary)}</p>
<dl>
<dt>API</dt>
<dd>${codeHtml(api)}</dd>
${rows.join("\n")}
</dl>`,
  });
}
