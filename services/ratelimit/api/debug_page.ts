/**
 * Pages of the debug port: plain text for `curl`, JSON for programs, and the
 * same in a readable form for a browser.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import { preHtml } from "../../shared/http/html.ts";
import { htmlPage } from "../../shared/http/html_page.ts";
import { problem } from "./problem.ts";

/** A page of the debug port, as the list of pages and the others' heads show it. */
export interface DebugLink {
  /** The path, without a query. */
  readonly path: string;
  /** What the page shows, for the list of pages. */
  readonly help: string;
}

/** A page in all its forms; a form is made only when it is asked for. */
export interface DebugPage {
  /** Title of the window and heading in a browser. */
  readonly title: string;
  /** Plain text, lines that end in a line feed. */
  readonly text: () => string;
  /** Value for `JSON.stringify`; undefined for a page without a JSON form. */
  readonly json?: (() => unknown) | undefined;
  /**
   * Content for a browser: HTML in which every text from outside is escaped.
   *
   * @default the text, preformatted
   */
  readonly html?: (() => string) | undefined;
  /**
   * The status of the answer.
   *
   * @default 200
   */
  readonly status?: 200 | 400 | 503 | undefined;
}

type PageForm = "text" | "json" | "html";

const TYPES: Readonly<Record<PageForm, string>> = {
  text: "text/plain; charset=utf-8",
  json: "application/json",
  html: "text/html; charset=utf-8",
};

/**
 * Headers that keep a browser from running or loading anything in a page,
 * whatever a caller wrote into a name.
 */
const SECURITY_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
} as const;

/** Returns the query parameters of a request. */
export function parseQuery({ target }: HttpRequest): URLSearchParams {
  const start = target.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : target.slice(start + 1));
}

/**
 * Answers with the form of the page that the request asks for: by
 * `?format=text|json|html`, else HTML for a client that names `text/html` in
 * `Accept`, as browsers do, else text.
 *
 * @param links The pages that a browser can go to from this one.
 */
export function debugAnswer(
  request: HttpRequest,
  { page, links }: {
    readonly page: DebugPage;
    readonly links: readonly DebugLink[];
  },
): HttpResponse {
  const form = pickForm(request);
  if (form === undefined || (form === "json" && page.json === undefined)) {
    const forms = page.json === undefined ? "text or html" : "text, json, html";
    return problem({
      status: 400,
      detail: `Cannot show this page in that form: format is ${forms}`,
    });
  }
  return {
    status: page.status ?? 200,
    headers: { ...SECURITY_HEADERS, "content-type": TYPES[form] },
    body: renderBody(form, { page, links }),
  };
}

function renderBody(
  form: PageForm,
  { page, links }: {
    readonly page: DebugPage;
    readonly links: readonly DebugLink[];
  },
): string {
  switch (form) {
    case "text":
      return page.text();
    case "json":
      return JSON.stringify(page.json?.());
    case "html": {
      return htmlPage({
        service: "ratelimit",
        heading: page.title,
        links: links.map(({ path }) => ({ path, text: path })),
        content: page.html?.() ?? preHtml(page.text()),
        style: STYLE,
      });
    }
  }
}

function pickForm(request: HttpRequest): PageForm | undefined {
  const asked = parseQuery(request).get("format");
  if (asked !== null) {
    return asked === "text" || asked === "json" || asked === "html"
      ? asked
      : undefined;
  }
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") ? "html" : "text";
}

const STYLE = `
pre { font-size: .875rem; }
form { display: flex; flex-wrap: wrap; gap: .5rem; margin: .5rem 0;
  align-items: center; }
button, select { font: inherit; }
::placeholder { color: var(--dim); opacity: 1; }
button { padding: .4rem .75rem; }
.long { overflow-wrap: anywhere; }
`;
