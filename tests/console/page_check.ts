/**
 * Judges a page in the browser as its readers would: with axe-core, and by what
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

/**
 * The views that a page is judged in: all with `TEST_EFFORT=2` or more; else
 * both widths and both schemes, but not each with each.
 */
function judgedViews(): readonly View[] {
  return countRounds(2) >= VIEWS.length
    ? VIEWS
    : VIEWS.filter(({ width, scheme }) =>
      (width > 1_000) === (scheme === "light")
    );
}

/** What axe-core reports of a page. */
interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/**
 * Returns what is wrong with the page that is open, in several views; none when
 * every reader can use it.
 */
export async function pageFaults(browser: Browser): Promise<readonly string[]> {
  const faults: string[] = [];
  await browser.evaluate(`${axe.source}; undefined`);
  for (const view of judgedViews()) {
    const { width, scheme } = view;
    await browser.look(view);
    const found = await browser.evaluate(
      "axe.run(document).then(({ violations }) => violations)",
    ) as readonly Violation[];
    for (const { id, help, nodes } of found) {
      const places = nodes.map(({ html }) => html).join(" ");
      faults.push(`${width} ${scheme}: ${id}: ${help}: ${places}`);
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
