import { assert, assertEquals } from "@std/assert";
import { generateDelegateKey } from "../../sdk/account.ts";
import { createSeed, DELEGATE, withTrial } from "../relayer/manual_trial.ts";
import { serviceTest } from "../support/services.ts";
import { Browser } from "./browser.ts";
import { PageJudge, VIEWS } from "./page_check.ts";
import { fill, says, send, view } from "./relayer_page.ts";

const OWNER = 21;

serviceTest(["chromium"], {
  name: "the console of a relayer behind key servers, in a browser",
  timeout: 240_000,
  fn: (t) =>
    withTrial(async ({ config, owner, relayer }) => {
      const key = createSeed(DELEGATE).toHex();
      const ownerKey = createSeed(OWNER).toHex();
      await using browser = await Browser.open();
      const [wide] = VIEWS;
      assert(wide !== undefined && config.accountId !== undefined);
      await browser.look(wide);
      await browser.record();
      await browser.go(`${relayer.url}/console`);
      await says(browser, "Delegate key");
      await fill(browser, "account", owner.accountId);
      await fill(browser, "key", key);
      await send(browser);
      await says(browser, "2 of 3 key servers open a memory");
      await t.step("a session is made by the page itself", async () => {
        await view(browser, "#/remember");
        await says(browser, "One memory");
        await fill(browser, "text", "Ada drinks peppermint tea");
        await send(browser);
        await says(browser, "genuine, and of this text");
        await view(browser, "#/recall");
        await says(browser, "Question");
        await fill(browser, "query", "Which tea does Ada drink?");
        await browser.press("Enter");
        await says(browser, "Ada drinks peppermint tea");
        assert(browser.requests.join("\n").includes("x-seal-session"));
      });
      const { publicKey } = await generateDelegateKey();
      const change = async (action: "add" | "remove") => {
        await view(browser, "#/overview");
        await says(browser, "takes writes");
        await view(browser, "#/keys");
        await says(browser, "Sign and send");
        await browser.evaluate(
          `document.querySelector("[value=${action}]").click()`,
        );
        await fill(browser, "publicKey", publicKey.toHex());
        if (action === "add") await fill(browser, "label", "phone");
        await fill(browser, "owner", ownerKey);
        await send(browser);
      };
      await t.step("the owner adds a key, and removes it", async () => {
        await change("add");
        await says(browser, "The key is added.");
        await says(browser, publicKey.toHex());
        assertEquals(await new PageJudge(browser).faults(), []);
        await browser.look(wide);
        await change("remove");
        await says(browser, "The key is removed");
      });
      await t.step("a stranger to the account changes nothing", async () => {
        await fill(browser, "owner", key);
        await browser.walkTo("[type=submit]");
        await browser.press("Enter");
        await says(browser, "Cannot remove the delegate key");
      });
      await t.step("no request had a private key", () => {
        const sent = browser.requests.join("\n");
        for (const secret of [key, ownerKey]) {
          assertEquals(sent.includes(secret), false);
        }
      });
    }, {
      owner: OWNER,
      env: ({ keyServers }) => ({
        VAULT: "key-servers",
        KEY_SERVERS: keyServers.map(({ url, publicKey }) =>
          `${url}=${publicKey.toHex()}`
        ).join(","),
      }),
    }),
});
