/**
 * The frame of all console pages: header, pages to go to, and content. Pages
 * are strings of HTML that need no script to be read or used.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { renderToString } from "preact-render-to-string";
import { SCRIPT, STYLE } from "./assets.ts";
import { CsrfField } from "./form.tsx";

/**
 * The headers of console pages, their names in lower case: only what the
 * service itself serves is loaded, and no other site frames a page.
 */
export const CONSOLE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; style-src 'self'; " +
    "script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
} as const;

/**
 * The headers of pages whose script also talks to other servers.
 *
 * @param connectTo Their origins.
 */
export function consoleHeaders(
  { connectTo }: { readonly connectTo: readonly string[] },
): Readonly<Record<string, string>> {
  const policy = CONSOLE_HEADERS["content-security-policy"];
  return {
    ...CONSOLE_HEADERS,
    "content-security-policy": policy.replace(
      "connect-src 'self'",
      ["connect-src 'self'", ...connectTo].join(" "),
    ),
  };
}

/** How a page is coloured: as the reader's system says, or always so. */
export type Theme = "system" | "light" | "dark";

/** A page that the frame leads to. */
export interface NavigationLink {
  /** The path, with which those of the pages below it begin. */
  readonly href: string;
  /** The name of the page. */
  readonly text: string;
}

/** A page of a console. */
export interface ConsolePage {
  /** The service, such as `tasks`. */
  readonly service: string;
  /** Whose page it is, such as the tenant; absent before the sign-in. */
  readonly place?: string | undefined;
  /** The title of the page, which is its heading unless `heading` says else. */
  readonly title: string;
  /** The heading. @default the title */
  readonly heading?: VNode | undefined;
  /** What stands beside the heading, such as buttons. @default nothing */
  readonly actions?: ComponentChildren;
  /** The path of the console, with which all its paths begin. */
  readonly base: string;
  /** The path of this page. */
  readonly path: string;
  /** All pages; none before the sign-in. */
  readonly links: readonly NavigationLink[];
  /** The value that forms have to send; none before the sign-in. */
  readonly csrf?: string | undefined;
  /** The colours. */
  readonly theme: Theme;
  /**
   * Where changes are told, as server-sent events.
   * @default live regions are fetched every few seconds
   */
  readonly events?: string | undefined;
  /**
   * Seconds after which a browser without scripts loads the page again.
   * @default never
   */
  readonly refreshSeconds?: number | undefined;
  /** The path of a page that the browser loads at once. @default none */
  readonly goTo?: string | undefined;
  /**
   * The names of modules that the page runs beside the script of all pages: the
   * first one, and those that it loads at once.
   * @default none
   */
  readonly modules?: readonly string[] | undefined;
  /** The content. */
  readonly content: ComponentChildren;
}

/** Renders a page as a whole document. */
export function renderPage(page: ConsolePage): string {
  return `<!DOCTYPE html>\n${renderToString(<Document page={page} />)}\n`;
}

function Document({ page }: { readonly page: ConsolePage }): VNode {
  const { service, title, base, theme, events } = page;
  const { refreshSeconds, goTo, modules: [entry, ...parts] = [] } = page;
  return (
    <html
      lang="en"
      data-theme={theme === "system" ? undefined : theme}
      data-events={events}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · Tercet ${service}`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={`${base}/assets/${STYLE.name}`} />
        <script type="module" src={`${base}/assets/${SCRIPT.name}`}></script>
        {parts.map((name) => (
          <link rel="modulepreload" href={`${base}/assets/${name}`} />
        ))}
        {entry === undefined
          ? null
          : <script type="module" src={`${base}/assets/${entry}`}></script>}
        {goTo === undefined
          ? null
          : <meta http-equiv="refresh" content={`0;url=${goTo}`} />}
        {refreshSeconds === undefined ? null : (
          <noscript>
            <meta http-equiv="refresh" content={String(refreshSeconds)} />
          </noscript>
        )}
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <Header page={page} />
        {page.links.length === 0
          ? <Main page={page} kind="alone" />
          : (
            <div class="frame">
              <Pages page={page} />
              <Main page={page} />
            </div>
          )}
      </body>
    </html>
  );
}

const NEXT_THEMES: Readonly<Record<Theme, Theme>> = {
  system: "dark",
  dark: "light",
  light: "system",
};

function Header({ page }: { readonly page: ConsolePage }): VNode {
  const { service, place, base, csrf, theme, path } = page;
  return (
    <header class="top">
      <a class="brand" href={base}>
        <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M1 2h14v3H1zM1 6.5h10v3H1zM1 11h14v3H1z" />
        </svg>
        <span class="owner">Tercet</span>
        {service}
      </a>
      {place === undefined ? null : <span class="place">{place}</span>}
      {csrf === undefined ? null : (
        <>
          <form method="post" action={`${base}/theme`}>
            <CsrfField csrf={csrf} />
            <input type="hidden" name="back" value={path} />
            <button
              type="submit"
              class="plain"
              name="theme"
              value={NEXT_THEMES[theme]}
            >
              {`Colours: ${theme}`}
            </button>
          </form>
          <form method="post" action={`${base}/sign-out`}>
            <CsrfField csrf={csrf} />
            <button type="submit" class="plain">Sign out</button>
          </form>
        </>
      )}
    </header>
  );
}

function Pages({ page }: { readonly page: ConsolePage }): VNode {
  const [path = ""] = page.path.split("?", 1);
  const isAt = (href: string): boolean =>
    path === href || href !== page.base && path.startsWith(`${href}/`);
  return (
    <nav class="pages" aria-label="Pages">
      <ul>
        {page.links.map(({ href, text }) => (
          <li>
            <a href={href} aria-current={isAt(href) ? "page" : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Main(
  { page, kind }: { readonly page: ConsolePage; readonly kind?: string },
): VNode {
  return (
    <main id="content" tabIndex={-1} class={kind}>
      <div class="head">
        <h1 class="grow">{page.heading ?? page.title}</h1>
        {page.actions}
      </div>
      {page.content}
    </main>
  );
}
