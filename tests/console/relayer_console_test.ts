import { assert, assertEquals } from "@std/assert";
import { RelayerHome } from "../relayer/relayer_home.ts";
import { metricsUrl } from "../support/read_metrics.ts";
import { serviceTest } from "../support/services.ts";
import { Browser } from "./browser.ts";
import { firstView, MAX_FIRST_VIEW_BYTES } from "./first_view.ts";
import { PageJudge, VIEWS } from "./page_check.ts";
import { fill, rows, says, send, view } from "./relayer_page.ts";

/** Tries to read the key that the browser keeps; gives the error's name. */
const READ_KEPT = `new Promise((resolve) => {
  const opening = indexedDB.open("tercet-relayer");
  opening.onsuccess = () => {
    const store = opening.result.transaction("keys").objectStore("keys");
    const asked = store.get("delegate");
    asked.onsuccess = () =>
      crypto.subtle.exportKey("pkcs8", asked.result.signingKey)
        .then(() => "read", ({ name }) => name)
        .then((outcome) => {
          opening.result.close();
          resolve(outcome);
        });
  };
})`;

serviceTest(["chromium"], {
  name: "the console of the relayer in a browser",
  timeout: 240_000,
  async fn(t) {
    await using home = await RelayerHome.open();
    const { key, accountId } = home.account();
    await using browser = await Browser.open();
    const wide = VIEWS[0];
    assert(wide !== undefined);
    const judge = new PageJudge(browser);
    await browser.look(wide);
    await t.step("the first page costs few bytes", async () => {
      const { bytes } = await firstView(browser, `${home.url}/console`);
      assert(bytes <= MAX_FIRST_VIEW_BYTES, `${bytes} bytes`);
    });
    await browser.record();
    const faults = async () => {
      assertEquals(await judge.faults(), []);
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
      assertEquals(
        await browser.evaluate('document.querySelector("[name=query]").value'),
        "Which tea does Ada drink?",
      );
      await faults();
    });
    await t.step("two rankings stand side by side", async () => {
      await browser.evaluate(
        'document.querySelector("[name=ranking]").value = "both"',
      );
      await fill(browser, "query", "Which tea does Ada drink?");
      await browser.press("Enter");
      await says(browser, "Semantic: distance of vectors");
      assertEquals(
        await browser.evaluate('document.querySelector("[name=query]").value'),
        "Which tea does Ada drink?",
      );
      await faults();
    });
    await t.step("the overview tells what is stored", async () => {
      await view(browser, "#/overview");
      await says(browser, "Nothing that is stored ends by itself.");
      await says(browser, accountId);
      await faults();
    });
    await t.step("what was forgotten is restored", async () => {
      await view(browser, "#/namespaces");
      await rows(browser);
      await browser.press("j", "Enter");
      await says(browser, "I want recall to find nothing in default");
      await faults();
      await browser.walkTo("[name=sure]");
      await browser.press(" ");
      await send(browser);
      await says(browser, "Forgotten: 1 memory.");
      await view(browser, "#/namespaces");
      await says(browser, "No namespace has memories.");
      await fill(browser, "namespace", "default");
      await browser.press("Enter");
      await says(browser, "Rebuilds the index");
      await send(browser);
      await says(browser, "Restored: 1 of 1 memory.");
      await faults();
    });
    await t.step("the list shows texts, and a memory its details", async () => {
      await view(browser, "#/memories");
      await says(browser, "1 memory");
      await faults();
      await browser.evaluate(
        '[...document.querySelectorAll("button")].find((one) => one.textContent === "Show texts").click()',
      );
      await says(browser, "Ada drinks green tea");
      await faults();
      await rows(browser);
      await browser.press("j", "Enter");
      await says(browser, "Storage ends");
      await faults();
    });
    await t.step("a deleted memory is gone", async () => {
      await browser.walkTo("[name=sure]");
      await browser.press(" ");
      await send(browser);
      await says(browser, "The memory is deleted.");
      await says(browser, "genuine; the text was not compared");
      await faults();
      assertEquals((await home.mem().listMemories()).memories, []);
    });
    await t.step("facts of a text are remembered", async () => {
      await view(browser, "#/remember");
      await says(browser, "Facts of a text");
      await fill(browser, "source", "I live in Oslo. I like chess.");
      await send(browser);
      await says(browser, "done");
      await faults();
    });
    await t.step("the keys of the account are listed", async () => {
      await view(browser, "#/keys");
      await says(browser, home.account().publicKey);
      await browser.evaluate(
        '[...document.querySelectorAll("button")].find((one) => one.textContent === "Make").click()',
      );
      await says(browser, "The private key is shown here only");
      await faults();
    });
    await t.step("a reload ends what was not kept", async () => {
      await browser.leave(() => browser.send("Page.reload"));
      await says(browser, "Delegate key");
    });
    await t.step(
      "a kept key signs after a reload, and is not readable",
      async () => {
        await fill(browser, "account", accountId);
        await fill(browser, "key", key);
        await browser.walkTo("[name=keep]");
        await browser.press(" ");
        await send(browser);
        await says(browser, "Forget the key");
        await browser.leave(() => browser.send("Page.reload"));
        await says(browser, "Forget the key");
        await view(browser, "#/recall");
        await fill(browser, "query", "Where do I live?");
        await browser.press("Enter");
        await says(browser, "Oslo");
        assertEquals(await browser.evaluate(READ_KEPT), "InvalidAccessError");
      },
    );
    await t.step(
      "a key that is to be forgotten is kept no longer",
      async () => {
        await browser.walkTo("#actions button");
        await browser.press("Enter");
        await says(browser, "Delegate key");
        await browser.leave(() => browser.send("Page.reload"));
        await says(browser, "Delegate key");
      },
    );
    await t.step("the operator's page has counts and no content", async () => {
      const metrics = await metricsUrl(home.service);
      await browser.go(metrics.replace("/metrics", "/console"));
      await says(browser, "POST /api/recall");
      const html = String(
        await browser.evaluate("document.documentElement.outerHTML"),
      );
      for (const content of ["Oslo", "tea", home.account().owner]) {
        assertEquals(html.includes(content), false, content);
      }
      await faults();
    });
    await t.step("no request had the key", () => {
      const sent = browser.requests.join("\n");
      assert(sent.includes("x-signature"));
      assertEquals(sent.includes(key), false);
    });
  },
});
