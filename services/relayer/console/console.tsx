/**
 * Serves the relayer's console: a page that runs the SDK in the owner's browser.
 * The page is the same for all and holds nothing of any owner; what it shows it
 * asks of the API with requests that the owner's key signs there.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../../shared/http/exchange.ts";
import {
  assetAnswer,
  type ConsoleAsset,
  consoleAsset,
  findAsset,
} from "../../shared/console/assets.ts";
import { consoleHeaders, renderPage } from "../../shared/console/layout.tsx";
import { Note } from "../../shared/console/parts.tsx";
import { CodedText } from "../../shared/http/coded_text.ts";
import bundle from "./bundle.json" with { type: "json" };

/** Where the console is. */
const BASE = "/console";

/** The views of the page, which are parts of its address behind `#`. */
const LINKS = [
  ["overview", "Overview"],
  ["memories", "Memories"],
  ["recall", "Recall"],
  ["remember", "Remember"],
  ["namespaces", "Namespaces"],
  ["keys", "Delegate keys"],
] as const;

/** Answers requests for the console. */
export class RelayerConsole {
  readonly #page: CodedText;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #modules: ReadonlyMap<string, ConsoleAsset>;

  /**
   * Renders the page.
   *
   * @param ledgerUrl Where the page sends transactions; the relayer itself
   * when undefined
   */
  constructor(ledgerUrl: string | undefined) {
    this.#page = new CodedText(pageHtml());
    this.#headers = consoleHeaders({
      connectTo: ledgerUrl === undefined ? [] : [new URL(ledgerUrl).origin],
    });
    this.#modules = new Map(
      Object.entries(bundle.modules).map(([name, text]) => [
        name,
        consoleAsset(name, { text, contentType: "text/javascript" }),
      ]),
    );
  }

  /** Answers a request for a path below that of the console. */
  async answer(
    { method, target, headers }: Pick<
      HttpRequest,
      "method" | "target" | "headers"
    >,
  ): Promise<HttpResponse> {
    if (method !== "GET" && method !== "HEAD") {
      return { status: 405, headers: { allow: "GET, HEAD" } };
    }
    const [path = ""] = target.split("?", 1);
    const coding = headers.get("accept-encoding");
    if (path === BASE) {
      const form = await this.#page.formFor(coding);
      return {
        status: 200,
        headers: { ...this.#headers, ...form.headers },
        body: form.bytes,
      };
    }
    const name = path.slice(`${BASE}/assets/`.length);
    const asset = findAsset(name) ?? this.#modules.get(name);
    if (!path.startsWith(`${BASE}/assets/`) || asset === undefined) {
      return { status: 404, headers: { "cache-control": "no-store" } };
    }
    return await assetAnswer(asset, headers);
  }
}

function pageHtml(): string {
  return renderPage({
    service: "relayer",
    title: "Sign in",
    heading: <span id="heading">Sign in</span>,
    actions: <div id="actions" class="row"></div>,
    base: BASE,
    path: BASE,
    links: LINKS.map(([view, text]) => ({ href: `#/${view}`, text })),
    theme: "system",
    modules: [bundle.entry, ...bundle.first],
    content: (
      <div id="app">
        <noscript>
          <Note tone="warn">
            This page needs JavaScript: it signs each request in the browser
            with your delegate key, so that the key never leaves this machine.
            Without it, use the SDK or released clients.
          </Note>
        </noscript>
      </div>
    ),
  });
}
