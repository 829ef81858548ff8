import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { WebhookFeed } from "../engine/webhooks/webhook_feed.ts";
import {
  addTask,
  fieldsOf,
  openTestConsole,
  type TestConsole,
} from "./testing/test_console.ts";

async function signedIn(): Promise<TestConsole> {
  const browser = await openTestConsole();
  await browser.signIn();
  return browser;
}

/** Makes a webhook by its form and returns its path and secret. */
async function made(
  browser: TestConsole,
): Promise<{ readonly path: string; readonly secret: string }> {
  await browser.read("/webhooks");
  const { html } = await browser.send("/webhooks", {
    url: "https://hooks.example.com/tasks",
    name: "ops",
    types: "task.failed, worker.*",
  });
  const path = /href="\/console(\/webhooks\/whk_\w+)"/.exec(html)?.[1] ?? "";
  const secret = /whsec_[A-Za-z0-9+/=]+/.exec(html)?.[0] ?? "";
  assert(path !== "" && secret !== "", "a webhook is made");
  return { path, secret };
}

Deno.test("webhooks are made, changed, switched off and removed by forms", async () => {
  const browser = await signedIn();
  await browser.read("/webhooks");
  const wrong = await browser.send("/webhooks", { url: "x", types: "task.*" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, 'id="url-fault"');
  const { path, secret } = await made(browser);
  const page = await browser.read(path);
  assertStringIncludes(page.html, "task.failed, worker.*");
  assert(!page.html.includes(secret), "the secret is shown once");
  const fields = fieldsOf(page.html, 'id="change"');
  const saved = await browser.send(path, { ...fields, job: "charge" });
  assertEquals(saved.location, `/console${path}?done=saved`);
  const at = async (name: string): Promise<unknown> =>
    (await browser.api.call("GET", `/v1${path}`)).at(name);
  assertEquals(await at("job"), "charge");
  assertEquals(await at("types"), ["task.failed", "worker.*"]);
  await browser.send(path, { action: "disable" });
  assertEquals(await at("enabled"), false);
  assertStringIncludes((await browser.read(path)).html, "It is sent nothing.");
  await browser.send(path, { action: "enable" });
  assertEquals(await at("enabled"), true);
  const rotated = await browser.send(path, { action: "rotate" });
  assert(rotated.html.includes("whsec_") && !rotated.html.includes(secret));
  const removed = await browser.send(path, { action: "remove" });
  assertEquals(removed.location, "/console/webhooks?done=removed");
  assertEquals((await browser.read(path)).status, 404);
  await browser.api.close();
});

Deno.test("a webhook's page shows what came of a test, and that nothing was sent yet", async () => {
  const browser = await signedIn();
  const { path } = await made(browser);
  const { html } = await browser.send(path, { action: "test" });
  assertStringIncludes(html, '<span class="badge bad">failed</span>');
  assertStringIncludes(html, "There is no delivery");
  assertEquals((await browser.read(`${path}?status=failed`)).status, 200);
  await browser.api.close();
});

Deno.test("deliveries are listed by status, shown with what was sent, and sent again", async () => {
  const browser = await signedIn();
  const { api } = browser;
  const { path } = await made(browser);
  await browser.send(path, {
    url: "https://hooks.example.com/tasks",
    types: "task.created",
  });
  const task = await addTask(browser);
  const feed = new WebhookFeed({
    parts: api.engine.parts,
    changes: api.engine.changes,
  });
  await api.engine.parts.instances.join();
  feed.start();
  await api.clock.advanceAsync(1_000);
  const { html } = await browser.read(`${path}?status=pending`);
  assertStringIncludes(html, `/console/tasks/${task}`);
  const delivery = /\/deliveries\/dlv_\w+/.exec(html)?.[0] ?? "";
  const none = await browser.read(`${path}?status=failed`);
  assertStringIncludes(none.html, "There is no delivery");
  const shown = await browser.read(delivery);
  assertStringIncludes(
    shown.html,
    "&quot;type&quot;: &quot;task.created&quot;",
  );
  const early = await browser.send(delivery, {});
  assertEquals(early.status, 409, "it has not ended");
  await feed.stop();
  await api.close();
});

Deno.test("a delivery that is not there is told so", async () => {
  const browser = await signedIn();
  const id = "dlv_37efnd0000749gadqcbm8b2hrm";
  assertEquals((await browser.read(`/deliveries/${id}`)).status, 404);
  assertEquals((await browser.send(`/deliveries/${id}`, {})).status, 404);
  await browser.api.close();
});
