/**
 * A small page for people who open a service's address in a browser. Clients of
 * the API, which do not ask for HTML, get what they got without it.
 *
 * @module
 */

import type { HttpHandler, HttpRequest, HttpResponse } from "./exchange.ts";

/** A link of the page; a path of the same port. */
interface LandingLink {
  /** The path. */
  readonly path: string;
  /** What is there. */
  readonly text: string;
}

/** What the page says. */
interface LandingPage {
  /** The name of the service. */
  readonly name: string;
  /** What it does, in one sentence. */
  readonly summary: string;
  /** Where its API is, such as `POST /json`. */
  readonly api: string;
  /** What else there is to look at: its health, its documents. */
  readonly links: readonly LandingLink[];
  /**
   * Paths that show the page beside "/".
   *
   * @default none
   */
  readonly alsoAt?: readonly string[];
}

/** No scripts, frames, forms or requests; the style is in the page. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE = `
:root { color-scheme: light dark; }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 38rem; margin: 0 auto;
  padding: 2rem 1.25rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
dl { margin: 2rem 0 0; }
dt { font-weight: 600; margin-top: 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
a { color: #0b57d0; display: inline-block; padding: .4rem 0; }
a:focus-visible { outline: 3px solid; outline-offset: 2px; }
code { font: .95em ui-monospace, monospace; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8eb; background: #14171b; }
  a { color: #8ab4f8; }
}
`;

/**
 * Answers GET and HEAD of "/" with the page where the client accepts HTML, and
 * lets `handler` answer everything else.
 */
export function withLandingPage(
  handler: HttpHandler,
  page: LandingPage,
): HttpHandler {
  const paths = new Set(["/", ...(page.alsoAt ?? [])]);
  const response: HttpResponse = {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "vary": "accept",
    },
    body: landingHtml(page),
  };
  return (request) => isForPage(request, paths) ? response : handler(request);
}

function isForPage(
  { method, target, headers }: HttpRequest,
  paths: ReadonlySet<string>,
): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  if (!paths.has(target.split("?", 1)[0] ?? "")) return false;
  return acceptsHtml(headers.get("accept") ?? "");
}

/** A client that takes anything, as curl does, does not ask for HTML. */
function acceptsHtml(accept: string): boolean {
  return accept.split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) =>
      part.trim().toLowerCase()
    );
    return type === "text/html" &&
      !parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter));
  });
}

function landingHtml(page: LandingPage): string {
  const rows = page.links.map(({ path, text }) =>
    `<dt>${escapeHtml(text)}</dt>
<dd><a href="${escapeHtml(path)}">${escapeHtml(path)}</a></dd>`
  );
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.name)} – Tercet</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Tercet ${escapeHtml(page.name)}</h1>
<p>${escapeHtml(page.summary)}</p>
<dl>
<dt>API</dt>
<dd><code>${escapeHtml(page.api)}</code></dd>
${rows.join("\n")}
</dl>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
