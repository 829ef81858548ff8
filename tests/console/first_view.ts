/**
 * Measures what the first view of a page costs a reader who has nothing of it
 * yet.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";
import type { Browser } from "./browser.ts";

/** The most that a first view may be, as it is sent. */
export const MAX_FIRST_VIEW_BYTES = 60_000;

/** What a first view costs. */
export interface FirstView {
  /** Bytes of all answers, compressed, with a flat 300 for each one's head. */
  readonly bytes: number;
  /** Milliseconds from the navigation to the first text that is painted. */
  readonly paintMs: number;
}

const READ = `(() => {
  const all = ["navigation", "resource"]
    .flatMap((type) => performance.getEntriesByType(type));
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {
    bytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0),
    paintMs: paint?.startTime ?? -1,
  };
})()`;

/** Goes to an address without a cache, and measures. */
export async function firstView(
  browser: Browser,
  url: string,
): Promise<FirstView> {
  await browser.send("Network.enable");
  await browser.send("Network.setCacheDisabled", { cacheDisabled: true });
  await browser.go(url);
  let view: FirstView = { bytes: 0, paintMs: -1 };
  await waitUntil(async () => {
    view = await browser.evaluate(READ) as FirstView;
    return view.paintMs >= 0;
  }, { what: `the first paint of ${url}` });
  await browser.send("Network.setCacheDisabled", { cacheDisabled: false });
  return view;
}
