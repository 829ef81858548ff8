/**
 * Uses the page of the relayer's console as a reader with a keyboard would.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";
import type { Browser } from "./browser.ts";

/** Waits until the page shows a text. */
export async function says(browser: Browser, text: string): Promise<void> {
  await waitUntil(
    async () => String(await shown(browser)).includes(text),
    { what: `the page says "${text}"`, intervalMs: 50, timeoutMs: 20_000 },
  );
}

function shown(browser: Browser): Promise<unknown> {
  return browser.evaluate("document.body.innerText");
}

/** Waits for the rows of a list, which keys walk through. */
export async function rows(browser: Browser): Promise<void> {
  await waitUntil(
    async () =>
      await browser.evaluate(
        'document.querySelector("[data-rows] a") !== null',
      ) === true,
    { what: "the list has rows", intervalMs: 50 },
  );
}

/** Goes to a view of the page by its address. */
export async function view(browser: Browser, hash: string): Promise<void> {
  await browser.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

/** Walks to a field with the keyboard, and types a text in place of its own. */
export async function fill(
  browser: Browser,
  name: string,
  text: string,
): Promise<void> {
  await browser.walkTo(`[name=${name}]`);
  await browser.evaluate("document.activeElement.select?.()");
  await browser.type(text);
}

/** Sends the form that has the focus. */
export async function send(browser: Browser): Promise<void> {
  await browser.walkTo("[type=submit]");
  await browser.press("Enter");
}
