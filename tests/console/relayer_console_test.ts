import { assert, assertEquals } from "@std/assert";
import { RelayerHome } from "../relayer/relayer_home.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { Browser } from "./browser.ts";
import { pageFaults, VIEWS } from "./page_check.ts";

/** What a text of the page is waited for. */
async function says(browser: Browser, text: string): Promise<void> {
  await waitUntil(
    async () => String(await shown(browser)).includes(text),
    { what: `the page says "${text}"`, intervalMs: 50 },
  );
}

function shown(browser: Browser): Promise<unknown> {
  return browser.evaluate("document.body.innerText");
}

/** Goes to a view of the page by its address. */
async function view(browser: Browser, hash: string): Promise<void> {
  await browser.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

/** Walks to a field with the keyboard, and types a text in place of its own. */
async function fill(
  browser: Browser,
  name: string,
  text: string,
): Promise<void> {
  await walkTo(browser, `[name=${name}]`);
  await browser.evaluate("document.activeElement.select?.()");
  await browser.type(text);
}

async function walkTo(browser: Browser, selector: string): Promise<void> {
  const isThere = () =>
    browser.evaluate(
      `document.activeElement.matches(${JSON.stringify(selector)})`,
    );
  for (let tries = 0; !await isThere(); tries++) {
    assert(tries < 60, `the keyboard does not lead to ${selector}`);
    await browser.press("Tab");
  }
}

/** Sends the form that has the focus. */
async function send(browser: Browser): Promise<void> {
  await walkTo(browser, "[type=submit]");
  await browser.press("Enter");
}

serviceTest(["chromium"], {
  name: "the console of the relayer in a browser",
  timeout: 240_000,
  async fn(t) {
    await using home = await RelayerHome.open();
    const { key, accountId } = home.account();
    await using browser = await Browser.open();
    const wide = VIEWS[0];
    assert(wide !== undefined);
    await browser.look(wide);
    await browser.record();
    const faults = async () => {
      assertEquals(await pageFaults(browser), []);
      await browser.look(wide);
    };
    await t.step("the page asks for a key, and has no faults", async () => {
      await browser.go(`${home.url}/console`);
      await says(browser, "Delegate key");
      await faults();
    });
    await t.step(
      "a key that the relayer does not know is refused",
      async () => {
        await fill(browser, "account", accountId);
        await fill(browser, "key", "07".repeat(32));
        await send(browser);
        await says(browser, "does not accept this key");
        browser.complaints.splice(0);
        await faults();
      },
    );
    await t.step("a pasted key opens the page, by keyboard alone", async () => {
      await fill(browser, "account", accountId);
      await fill(browser, "key", key);
      await send(browser);
      await says(browser, "Forget the key");
      await faults();
    });
    await t.step("a text is remembered, its receipt checked", async () => {
      await view(browser, "#/remember");
      await says(browser, "One memory");
      await fill(browser, "text", "Ada drinks green tea");
      await send(browser);
      await says(browser, "genuine, and of this text");
      await faults();
    });
    await t.step("recall finds it, and says why", async () => {
      await view(browser, "#/recall");
      await says(browser, "Question");
      await fill(browser, "query", "Which tea does Ada drink?");
      await browser.press("Enter");
      await says(browser, "Ada drinks green tea");
      assertEquals(
        await browser.evaluate(
          '[...document.querySelectorAll("mark")].map((one) => one.textContent)',
        ),
        ["Ada", "drinks", "tea"],
      );
      await faults();
    });
    await t.step("no request had the key", () => {
      const sent = browser.requests.join("\n");
      assert(sent.includes("x-signature"));
      assertEquals(sent.includes(key), false);
    });
  },
});
