import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../support/services.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "../tasks/data_folder.ts";
import type { LeaseJson } from "../tasks/tasks_client.ts";
import { TasksClient } from "../tasks/tasks_client.ts";
import { createOwnerKey, getTarget } from "../tasks/tenant_client.ts";
import { Browser } from "./browser.ts";
import { firstView, MAX_FIRST_VIEW_BYTES } from "./first_view.ts";

/** How a reader gets at what a page has. */
interface Reader {
  readonly browser: Browser;
  readonly width: number;
  /** Goes to a field, link or button; presses it unless it is a field. */
  readonly use: (selector: string) => Promise<void>;
}

/** With the keyboard alone: Tab until it has the focus, then Enter. */
function keyboardOf(browser: Browser): Reader["use"] {
  return async (selector) => {
    await browser.walkTo(selector);
    if (!await isField(browser)) {
      await browser.leave(() => browser.press("Enter"));
    }
  };
}

/** With a finger: what it touches must be what is on top there. */
function fingerOf(browser: Browser): Reader["use"] {
  return async (selector) => {
    const place = await browser.evaluate(`(() => {
      const one = document.querySelector(${JSON.stringify(selector)});
      one.scrollIntoView({ block: "center", inline: "center" });
      const { x, y, width, height } = one.getBoundingClientRect();
      const at = { x: x + width / 2, y: y + height / 2 };
      const top = document.elementFromPoint(at.x, at.y);
      if (!one.contains(top)) throw new Error("covered: " + top?.outerHTML);
      return { ...at, isField: one.matches("input, textarea") };
    })()`) as {
      readonly x: number;
      readonly y: number;
      readonly isField: boolean;
    };
    const touch = async () => {
      const touchPoints = [{ x: place.x, y: place.y }];
      const send = (type: string, points: readonly unknown[]) =>
        browser.send("Input.dispatchTouchEvent", { type, touchPoints: points });
      await send("touchStart", touchPoints);
      await send("touchEnd", []);
    };
    if (!place.isField) {
      await browser.leave(touch);
      return;
    }
    await touch();
    await waitUntil(
      async () =>
        await browser.evaluate(
          `document.activeElement.matches(${JSON.stringify(selector)})`,
        ) === true,
      { what: `the focus is on ${selector}` },
    );
  };
}

async function isField(browser: Browser): Promise<unknown> {
  return await browser.evaluate(
    'document.activeElement.matches("input, textarea")',
  );
}

/** Events alone tell of changes: what pages ask for without them never comes. */
const NO_POLLS = `{
  const set = setTimeout;
  globalThis.setTimeout = (call, ms) => ms >= 15_000 ? 0 : set(call, ms);
}`;

/** Reads the page until it has a text, and fits into the window. */
async function sees({ browser, width }: Reader, text: string): Promise<void> {
  await waitUntil(
    async () =>
      await browser.evaluate(
        `document.body.innerText.includes(${JSON.stringify(text)})`,
      ) === true,
    { what: `the page says "${text}"`, intervalMs: 50, timeoutMs: 20_000 },
  );
  const needed = await browser.evaluate("document.documentElement.scrollWidth");
  assert(Number(needed) <= width, `${text}: the page needs ${needed} pixels`);
}

/** Writes into a field, in place of what it has. */
async function write(
  { browser, use }: Reader,
  name: string,
  text: string,
): Promise<void> {
  await use(`[name=${name}]`);
  await browser.evaluate("document.activeElement.select()");
  await browser.type(text);
}

/** The worker's program: takes one task, which needs an address of e-mail. */
async function work(client: TasksClient): Promise<void> {
  const { leases: [lease] } = await client.expect<
    { readonly leases: readonly (LeaseJson & { task: { data: unknown } })[] }
  >(200, ["POST", "/api/v1/workers/mailer/lease", { max: 1, wait: "20s" }]);
  assert(lease !== undefined, "a task is due");
  const { to } = lease.task.data as { readonly to: string };
  const isAddress = to.includes("@");
  const error = {
    code: "bad_address",
    message: `Cannot send to "${to}": it is no address`,
    detail: { stack: "Error: no address\n    at send (mailer.ts:8:3)" },
  };
  const { status } = await client.call(
    "POST",
    `/api/v1/leases/${lease.id}/${isAddress ? "complete" : "fail"}`,
    { token: lease.token, body: isAddress ? {} : { error, retry: false } },
  );
  assertEquals(status, 200);
}

/** A cron task that breaks is found, understood, mended and seen green. */
async function story(
  reader: Reader,
  { service, domain }: {
    readonly service: TasksProcess;
    readonly domain: string;
  },
): Promise<void> {
  const { browser, use } = reader;
  const token = await createOwnerKey(service, domain, { host: "localhost" });
  const target = () => getTarget(service);
  using client = new TasksClient({
    ...{ target, host: `${domain}.localhost`, token },
  });
  const console = `http://${domain}.localhost:${target().port}/console`;

  await browser.go(console);
  await write(reader, "key", token);
  await use("[type=submit]");
  await sees(reader, "Nothing needs attention.");

  await use('.pages [href$="/workers"]');
  await use('[href$="/workers/new"]');
  await write(reader, "name", "mailer");
  await use("main [type=submit]");
  await sees(reader, "mailer");

  await use('.pages [href$="/schedules"]');
  await use('[href*="/tasks/new"]');
  await write(reader, "job", "greet");
  await write(reader, "data", '{"to": "ann"}');
  await write(reader, "cron", "0 0 1 1 *");
  await write(reader, "date", "2020-01-01T00:00:00Z");
  await use("[value=save]");
  await sees(reader, "0 0 1 1 *");
  await work(client);

  await use('.pages [href$="/console"]');
  await sees(reader, "bad_address");
  await use('.note [href*="/tasks/"]');
  await sees(reader, 'Cannot send to "ann": it is no address');
  await sees(reader, "at send (mailer.ts:8:3)");

  await use('[href$="/edit"]');
  await write(reader, "data", '{"to": "ann@example.com"}');
  await use("[value=save]");
  await sees(reader, "The changes are saved.");
  await use("[value=run]");
  await use('.pages [href$="/console"]');
  await sees(reader, "bad_address");
  await browser.evaluate("window.isSamePage = true");
  await work(client);
  await sees(reader, "Nothing needs attention.");
  assertEquals(await browser.evaluate("window.isSamePage"), true);
  assertEquals(browser.complaints, []);
}

serviceTest(["chromium"], {
  name: "a schedule that breaks in the console of tasks",
  timeout: 120_000,
  async fn(t) {
    await using folder = await DataFolder.make();
    await using service = await startTasks({
      dataDir: folder.path,
      env: { SERVICE_HOST: "localhost" },
    });
    await using browser = await Browser.open();
    await browser.send("Page.addScriptToEvaluateOnNewDocument", {
      source: NO_POLLS,
    });
    await t.step("is mended with the keyboard alone", async () => {
      await browser.look({ width: 1_280, height: 800, scheme: "light" });
      await story({ browser, width: 1_280, use: keyboardOf(browser) }, {
        ...{ service, domain: "acme" },
      });
    });
    await t.step("is mended on a phone", async () => {
      await browser.look({ width: 390, height: 800, scheme: "light" });
      await story({ browser, width: 390, use: fingerOf(browser) }, {
        ...{ service, domain: "phone" },
      });
    });
    await t.step("costs few bytes to be seen first", async () => {
      const at = await browser.evaluate("location.href");
      const { bytes } = await firstView(browser, String(at));
      assert(bytes <= MAX_FIRST_VIEW_BYTES, `${bytes} bytes`);
    });
  },
});
