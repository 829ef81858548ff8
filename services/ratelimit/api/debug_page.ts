/**
 * Pages of the debug port: plain text for `curl`, JSON for programs, and the
 * same in a readable form for a browser.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
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
export function queryOf({ target }: HttpRequest): URLSearchParams {
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
  const form = formOf(request);
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
    body: bodyOf(form, { page, links }),
  };
}

function bodyOf(
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
      const content = page.html?.() ??
        `<pre tabindex="0">${escapeHtml(page.text())}</pre>`;
      return htmlPage(page.title, { content, links });
    }
  }
}

function formOf(request: HttpRequest): PageForm | undefined {
  const asked = queryOf(request).get("format");
  if (asked !== null) {
    return asked === "text" || asked === "json" || asked === "html"
      ? asked
      : undefined;
  }
  const accept = request.headers.get("accept") ?? "";
  return accept.includes("text/html") ? "html" : "text";
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --link: light-dark(#0b57d0, #8ab4f8); }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; border-bottom: 1px solid var(--line); padding-bottom: .5rem; }
a { color: var(--link); } a, button, input, textarea { font: inherit; }
a[aria-current] { color: inherit; font-weight: 600; text-decoration: none; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
h1 { font-size: 1.25rem; margin: 1rem 0 .5rem; }
pre, code, td.number { font-family: ui-monospace, monospace; font-size: .875rem; }
pre { overflow-x: auto; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
td.name { overflow-wrap: anywhere; min-width: 6rem; } td.number { text-align: right; white-space: nowrap; }
form { display: flex; flex-wrap: wrap; gap: .5rem; margin: .5rem 0; align-items: center; }
input, textarea { padding: .25rem .5rem; } button { padding: .25rem .75rem; }
`;

function htmlPage(
  title: string,
  { content, links }: {
    readonly content: string;
    readonly links: readonly DebugLink[];
  },
): string {
  const items = links.map(({ path }) => {
    const current = path === title ? ' aria-current="page"' : "";
    return `<a href="${escapeHtml(path)}"${current}>${escapeHtml(path)}</a>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · ratelimit</title>
<style>${STYLE}</style>
</head>
<body>
<nav aria-label="Pages">${items.join("\n")}</nav>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
}

/**
 * Makes a table for a browser. Text cells are escaped; numbers are aligned
 * right.
 */
export function htmlTable(
  head: readonly string[],
  rows: Iterable<readonly (string | number)[]>,
): string {
  const headCells = head.map((text) => `<th scope="col">${escapeHtml(text)}`);
  let html = `<div class="scroll"><table><thead><tr>${
    headCells.join("")
  }</thead><tbody>\n`;
  for (const row of rows) {
    html += "<tr>";
    for (const cell of row) {
      html += typeof cell === "number"
        ? `<td class="number">${cell}`
        : `<td class="name">${escapeHtml(cell)}`;
    }
    html += "\n";
  }
  return `${html}</tbody></table></div>`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Makes a text safe as content of an element and within a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign]!);
}
