/**
 * Renders the pages of the console.
 *
 * @module
 */

import { gzipSync } from "node:zlib";
import { CONSOLE_HEADERS, renderPage } from "../../shared/console/layout.tsx";
import { acceptsGzip } from "../../shared/http/coded_text.ts";
import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import { parseQuery } from "../api/debug_page.ts";
import { candidatePage } from "./candidate_page.tsx";
import { explainPage } from "./explain_page.tsx";
import { keysPage } from "./keys_page.tsx";
import {
  CONSOLE_PAGES,
  CONSOLE_PATH,
  type ConsoleSource,
  type Page,
  type PageName,
} from "./page.ts";
import { rulesPage } from "./rules_page.tsx";
import { statisticsPage } from "./statistics_page.tsx";
import { timelinePage } from "./timeline_page.tsx";

const PAGES: Readonly<Record<PageName, Page>> = {
  rules: rulesPage,
  keys: keysPage,
  explain: explainPage,
  candidate: candidatePage,
  timeline: timelinePage,
  statistics: statisticsPage,
};

/** Answers a request for a page, gzipped where the browser takes that. */
export async function answerPage(
  request: HttpRequest,
  { name, source, nowMs }: {
    /** The page. */
    readonly name: PageName;
    /** What there is to show. */
    readonly source: ConsoleSource;
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
  },
): Promise<HttpResponse> {
  const query = parseQuery(request);
  const page = await PAGES[name]({ source, query, nowMs });
  const html = renderPage({
    service: "ratelimit",
    title: page.title,
    heading: page.heading,
    actions: page.actions,
    base: CONSOLE_PATH,
    path: CONSOLE_PAGES[name].path,
    links: Object.values(CONSOLE_PAGES)
      .map(({ path, text }) => ({ href: path, text })),
    theme: "system",
    content: page.content,
  });
  const bytes = new TextEncoder().encode(html);
  const isCoded = acceptsGzip(request.headers.get("accept-encoding"));
  return {
    status: page.status ?? 200,
    headers: {
      ...CONSOLE_HEADERS,
      vary: "accept-encoding",
      ...(isCoded ? { "content-encoding": "gzip" } : {}),
    },
    body: isCoded ? gzipSync(bytes, { level: 4 }) : bytes,
  };
}
