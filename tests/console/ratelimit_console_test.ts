import { assert, assertEquals } from "@std/assert";
import { ConfigFolder } from "../ratelimit/config_folder.ts";
import {
  type RatelimitProcess,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { Browser } from "./browser.ts";
import { firstView, MAX_FIRST_VIEW_BYTES } from "./first_view.ts";
import { PageJudge, VIEWS } from "./page_check.ts";

const RULES = await Deno.readTextFile(
  new URL(
    "../../services/ratelimit/example/config/edge.yaml",
    import.meta.url,
  ),
);

/** A page asks for its figures again soon, not after its quarter of a minute. */
const POLLS_SOON = `{
  const set = setTimeout;
  globalThis.setTimeout = (call, ms) => set(call, ms >= 15_000 ? 250 : ms);
}`;

/** Calls, of which most are over their limits. */
async function call({ httpUrl }: RatelimitProcess): Promise<void> {
  const entry = (key: string, value: string) => ({ key, value });
  for (let time = 0; time < 9; time++) {
    const answer = await fetch(`${httpUrl}/json`, {
      method: "POST",
      body: JSON.stringify({
        domain: "edge",
        descriptors: [
          { entries: [entry("login", "ann")] },
          { entries: [entry("client_id", "c"), entry("path", "/export")] },
        ],
      }),
    });
    await answer.body?.cancel();
  }
}

serviceTest(["chromium"], {
  name: "the console of ratelimit in a browser",
  timeout: 240_000,
  async fn(t) {
    await using folder = await ConfigFolder.make();
    await using candidate = await ConfigFolder.make();
    await folder.write("edge.yaml", RULES);
    await candidate.write(
      "edge.yaml",
      RULES.replaceAll(/requests_per_unit: \d+/g, "requests_per_unit: 1"),
    );
    await using service = await startRatelimit({
      env: {
        RUNTIME_ROOT: folder.root,
        RUNTIME_WATCH_ROOT: "false",
        CANDIDATE_CONFIG_DIR: `${candidate.root}/config`,
        WORKERS: "2",
      },
    });
    const console = `${service.debugUrl}/console`;
    const read = async (path: string): Promise<string> =>
      await (await fetch(console + path)).text();
    await call(service);
    const shows = (path: string, text: string) =>
      waitUntil(async () => (await read(path)).includes(text), {
        what: `${text} at ${path}`,
      });
    await shows("", "18</strong> hits");
    await folder.write("edge.yaml", `${RULES}  bad`);
    await shows("", "Cannot load");
    await shows("/keys", "login=ann");
    await using browser = await Browser.open();
    const judge = new PageJudge(browser);
    for (
      const path of [
        "",
        "?q=path&order=name",
        "?at=edge&at=client_id",
        "?rule=edge.login",
        "?rule=edge.search&requests=x",
        "/keys",
        "/explain?domain=edge&descriptors=login%3Dann",
        "/explain?domain=edge&descriptors=login",
        "/candidate",
        "/timeline",
        "/timeline?area=discovery",
        "/statistics",
      ]
    ) {
      await t.step(`/console${path} has no faults`, async () => {
        await browser.go(console + path);
        await browser.evaluate(
          'document.querySelectorAll("details").forEach((one) => one.open = true)',
        );
        const faults = await judge.faults();
        assertEquals(faults.filter((fault) => !/\b400\b/.test(fault)), []);
      });
    }
    await browser.look(VIEWS[0]!);
    await t.step("the first page costs few bytes", async () => {
      const { bytes } = await firstView(browser, console);
      assert(bytes <= MAX_FIRST_VIEW_BYTES, `${bytes} bytes`);
    });
    await t.step("the tree folds and is searched by keys alone", async () => {
      await browser.go(console);
      const evaluate = (text: string) => browser.evaluate(text);
      await evaluate('document.querySelector("summary").focus()');
      await browser.press("Enter");
      const isOpen = 'document.querySelector("details").open';
      assertEquals(await evaluate(isOpen), false);
      await browser.press("/");
      await browser.type("login");
      await browser.leave(() => browser.press("Enter"));
      await browser.press("j");
      await browser.leave(() => browser.press("Enter"));
      assertEquals(await evaluate("location.search"), "?rule=edge.login");
    });
    await t.step(
      "figures change by themselves, and what was folded stays so",
      async () => {
        await browser.send("Page.addScriptToEvaluateOnNewDocument", {
          source: POLLS_SOON,
        });
        await browser.go(console);
        await browser.evaluate(
          'document.querySelector("details").open = false',
        );
        const readOver = () =>
          browser.evaluate(
            'Number(document.querySelectorAll(".facts strong")[3].textContent)',
          );
        const before = Number(await readOver());
        await call(service);
        await waitUntil(async () => Number(await readOver()) > before, {
          what: "more hits over limit in the last hour",
          intervalMs: 100,
        });
        assertEquals(
          await browser.evaluate('document.querySelector("details").open'),
          false,
        );
      },
    );
    await t.step("a browser is led to the console", async () => {
      await browser.go(`${service.debugUrl}/debug/candidate`);
      assertEquals(
        await browser.evaluate("location.pathname"),
        "/console/candidate",
      );
    });
    assertEquals(await service.stop(), 0);
  },
});

Deno.test("ratelimit has no console when CONSOLE is false, and no keys when TOP_KEYS is", async () => {
  await using folder = await ConfigFolder.make();
  await folder.write("edge.yaml", RULES);
  await using service = await startRatelimit({
    env: { RUNTIME_ROOT: folder.root, CONSOLE: "false", TOP_KEYS: "false" },
  });
  const ask = (path: string) =>
    fetch(service.debugUrl + path, { headers: { accept: "text/html" } });
  const none = await ask("/console");
  assertEquals(none.status, 404);
  await none.body?.cancel();
  assert((await (await ask("/")).text()).startsWith("/: this list\n"));
  assertEquals(
    (await (await ask("/debug/keys?format=json")).json()).keys,
    null,
  );
  assertEquals(await service.stop(), 0);
});
