/**
 * The one look of the services' HTML pages: colours, letters, focus, tables,
 * and the frame around a page's content. Pages load nothing from elsewhere.
 *
 * @module
 */

import { attributeHtml, textHtml } from "./html.ts";

/** The style that all pages begin with; each has a light and a dark form. */
export const BASE_STYLE = `
:root { color-scheme: light dark; --fg: #1b1f24; --bg: #fff; --dim: #57606a;
  --line: #d0d7de; --box: #f6f8fa; --link: #0b57d0; --good: #116329;
  --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e6e8eb; --bg: #14171b; --dim: #9aa4af; --line: #343b43;
    --box: #1d2228; --link: #8ab4f8; --good: #6fcf87; --bad: #ff9b8f; }
}
* { box-sizing: border-box; }
body { font: 1rem/1.55 system-ui, sans-serif; margin: 0; color: var(--fg);
  background: var(--bg); overflow-wrap: anywhere; }
.all { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .5rem; }
p { margin: .35rem 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
input { font: inherit; color: inherit; background: var(--bg);
  padding: .5rem .6rem; border: 1px solid var(--dim); border-radius: .4rem; }
code { font: .9em ui-monospace, monospace; }
pre { font-size: .9rem; background: var(--box); padding: .7rem .8rem;
  border-radius: .4rem; overflow-x: auto; overflow-wrap: normal;
  margin: .35rem 0; }
dl { margin: .25rem 0; }
dt { margin-top: .6rem; }
`;

/** What the pages without a layout of their own have besides. */
const PAGE_STYLE = `
nav { display: flex; flex-wrap: wrap; gap: 0 1rem; margin-bottom: 1rem;
  border-bottom: 1px solid var(--line); }
nav a { padding: .35rem 0; }
[aria-current] { color: inherit; font-weight: 600; text-decoration: none; }
main > p { max-width: 44rem; }
dt { font-weight: 600; }
dd { margin: 0; }
dd a { display: inline-block; padding: .35rem 0; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; overflow-wrap: normal; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem 1rem .4rem 0;
  text-align: left; vertical-align: top; white-space: pre; }
tbody th { font-weight: 400; }
th:first-child { position: sticky; left: 0; background: var(--bg); }
.long { white-space: pre-line; min-width: 7rem; }
.number { text-align: right; font: .9em/1.55 ui-monospace, monospace; }
`;

/**
 * The headers of a page without scripts and forms, their names in lower case.
 * The page runs and loads nothing, whatever a text in it says.
 */
export const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'; " +
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** A whole document. */
interface HtmlDocument {
  /** The title of the window, as text. */
  readonly title: string;
  /** The style. */
  readonly style: string;
  /** The content of `body`, as HTML. */
  readonly body: string;
}

/** Makes a document of a body with a layout of its own. */
export function htmlDocument({ title, style, body }: HtmlDocument): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${textHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** A link to another page of the same service. */
export interface PageLink {
  /** The path. */
  readonly path: string;
  /** What is there, as text. */
  readonly text: string;
}

/** A page with a heading. */
interface HtmlPage {
  /** The service, such as `ratelimit`; the title of the window has it. */
  readonly service: string;
  /** The heading, as text. */
  readonly heading: string;
  /** What stands below the heading, as HTML. */
  readonly content: string;
  /**
   * The links above the heading; that of this page has its heading as text.
   *
   * @default none
   */
  readonly links?: readonly PageLink[];
}

/** Makes a page in the layout that most have. */
export function htmlPage(page: HtmlPage): string {
  const { service, heading, content, links = [] } = page;
  const items = links.map(({ path, text }) => {
    const current = text === heading ? ' aria-current="page"' : "";
    return `<a href="${attributeHtml(path)}"${current}>${textHtml(text)}</a>`;
  });
  const nav = items.length === 0
    ? ""
    : `<nav aria-label="Pages">\n${items.join("\n")}\n</nav>\n`;
  const owner = `Tercet ${service}`;
  return htmlDocument({
    title: heading === owner ? owner : `${heading} · ${owner}`,
    style: BASE_STYLE + PAGE_STYLE,
    body: `<div class="all">
${nav}<main>
<h1>${textHtml(heading)}</h1>
${content}
</main>
</div>`,
  });
}

/** A table of texts and numbers. */
interface HtmlTable {
  /** What the table shows, for people who hear the page. */
  readonly label: string;
  /** The names of the columns. */
  readonly head: readonly string[];
  /** The rows; the first cell of each is its name. */
  readonly rows: Iterable<readonly (string | number)[]>;
}

/**
 * Makes a table that is scrolled by itself where the window is narrower. Texts
 * are escaped and keep their lines; numbers are aligned right.
 */
export function tableHtml({ label, head, rows }: HtmlTable): string {
  let html = `<div class="scroll" tabindex="0" role="region" aria-label="${
    attributeHtml(label)
  }">
<table>
<thead><tr>${
    head.map((name) => `<th scope="col">${textHtml(name)}</th>`).join("")
  }</tr></thead>
<tbody>
`;
  for (const row of rows) {
    html += `<tr>${row.map(cellHtml).join("")}</tr>\n`;
  }
  return `${html}</tbody>
</table>
</div>`;
}

/** The longest line of a cell that is not broken, in characters. */
const MAX_LINE = 12;

function cellHtml(cell: string | number, column: number): string {
  const tag = column === 0 ? "th" : "td";
  const scope = column === 0 ? ' scope="row"' : "";
  const text = String(cell);
  const isLong = text.split("\n").some(({ length }) => length > MAX_LINE);
  const kind = typeof cell === "number"
    ? ' class="number"'
    : isLong
    ? ' class="long"'
    : "";
  return `<${tag}${scope}${kind}>${textHtml(text)}</${tag}>`;
}
