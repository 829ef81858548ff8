/**
 * Judges pages in the browser as their readers would: with axe-core, and by what
 * fits into the window.
 *
 * @module
 */

import axe from "npm:axe-core@^4.10.3";
import { countRounds } from "../support/rounds.ts";
import type { Browser, View } from "./browser.ts";

/** A wide screen and a phone, each in light and dark. */
export const VIEWS: readonly View[] = [1280, 390].flatMap((width) =>
  (["light", "dark"] as const).map((scheme) => ({ width, height: 900, scheme }))
);

/** The views that the usual run judges in turn: both widths, both schemes. */
const TURNS = VIEWS.filter(({ width, scheme }) =>
  (width > 1_000) === (scheme === "light")
);

/** What axe-core reports of a page. */
interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Judges the pages that a browser shows, one after the other. */
export class PageJudge {
  readonly #browser: Browser;
  #turn = 0;

  /** Creates a judge of what the browser shows. */
  constructor(browser: Browser) {
    this.#browser = browser;
  }

  /**
   * Returns what is wrong with the page that is open; nothing when every reader
   * can use it. The page must fit into the window in each view. The rules of
   * axe-core are judged in one view, which is another one for the next page; with
   * `TEST_EFFORT=2` or more, they are judged in all views.
   */
  async faults(): Promise<readonly string[]> {
    const browser = this.#browser;
    const faults: string[] = [];
    await this.#load();
    const turn = TURNS[this.#turn++ % TURNS.length];
    const views = countRounds(1) > 1 ? VIEWS : TURNS;
    for (const view of views) {
      const { width, scheme } = view;
      await browser.look(view);
      if (views === VIEWS || view === turn) {
        for (const { id, help, nodes } of await this.#violations()) {
          const places = nodes.map(({ html }) => html).join(" ");
          faults.push(`${width} ${scheme}: ${id}: ${help}: ${places}`);
        }
      }
      const needed = await browser.evaluate(
        "document.documentElement.scrollWidth",
      ) as number;
      if (needed > width) {
        faults.push(`${width}: the page needs ${needed} pixels`);
      }
    }
    return [...faults, ...browser.complaints.splice(0)];
  }

  /**
   * Loads axe-core into the page. The browser keeps the compiled text for later
   * pages, each of which gets it when it is opened.
   */
  async #load(): Promise<void> {
    const browser = this.#browser;
    const isLoaded = await browser.evaluate(
      'typeof axe === "object" || ' +
        '(typeof loadAxe === "function" && (loadAxe(), true))',
    );
    if (isLoaded) return;
    const source = `globalThis.loadAxe = function () { ${axe.source} };`;
    await browser.send("Page.addScriptToEvaluateOnNewDocument", { source });
    await browser.evaluate(`${source} loadAxe()`);
  }

  async #violations(): Promise<readonly Violation[]> {
    // Of what passes, little is told, which costs less.
    return await this.#browser.evaluate(
      'axe.run(document, { resultTypes: ["violations"] })' +
        ".then(({ violations }) => violations)",
    ) as readonly Violation[];
  }
}
