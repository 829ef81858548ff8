import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  alertStateWrite,
  readAlertState,
} from "../../engine/alerts/alert_state.ts";
import { WebhookFeed } from "../../engine/webhooks/webhook_feed.ts";
import {
  addTask,
  fieldsOf,
  openTestConsole,
  type TestConsole,
} from "../testing/test_console.ts";

const URL = "https://hooks.example.com/a";

async function signedIn(): Promise<TestConsole> {
  const browser = await openTestConsole();
  await browser.signIn();
  return browser;
}

async function addWebhook(
  { api }: TestConsole,
  body: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const made = await api.call("POST", "/v1/webhooks", {
    body: { url: URL, ...body },
  });
  return made.textAt("id");
}

Deno.test("a webhook is made, changed, disabled, rotated and removed by forms", async () => {
  const browser = await signedIn();
  const { api } = browser;
  const empty = await browser.read("/webhooks");
  assertStringIncludes(empty.html, "There are no webhooks yet");
  const form = await browser.read("/webhooks/new");
  assertStringIncludes(form.html, 'value="task.*" checked');
  const wrong = await browser.send("/webhooks/new", {
    url: "no address",
    types: "task.*",
  });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, 'id="url-fault"');
  const made = await browser.send("/webhooks/new", {
    url: URL,
    name: "billing",
    types: ["task.failed", "worker.*"],
    job: "invoice",
    enabled: "true",
  });
  const secret = /whsec_[\w+/=]+/.exec(made.html)?.[0];
  assert(secret !== undefined, "the secret is shown");
  const id = /\/webhooks\/(whk_\w+)/.exec(made.html)?.[1] ?? "";
  const path = `/webhooks/${id}`;
  const page = await browser.read(path);
  assertStringIncludes(page.html, "<code>worker.*</code>");
  assert(!page.html.includes(secret), "the secret is shown once");
  const edit = await browser.read(`${path}/edit`);
  assertStringIncludes(edit.html, 'value="task.failed" checked');
  const fields = fieldsOf(edit.html, `action="/console${path}/edit"`);
  assertEquals(fields.job, "invoice");
  const saved = await browser.send(`${path}/edit`, {
    ...fields,
    types: ["task.failed"],
    job: "",
  });
  assertEquals(saved.location, `/console${path}?done=saved`);
  const webhook = await api.call("GET", `/v1${path}`);
  assertEquals(webhook.at("job"), null);
  assertEquals(webhook.at("types"), ["task.failed"]);
  const stale = await browser.send(`${path}/edit`, { ...fields, job: "b" });
  assertEquals(stale.status, 422);
  await browser.send(path, { action: "disable" });
  assertStringIncludes((await browser.read(path)).html, "It is sent nothing");
  await browser.send(path, { action: "enable" });
  assertEquals((await api.call("GET", `/v1${path}`)).at("enabled"), true);
  const rotated = await browser.send(path, { action: "rotate" });
  const next = /whsec_[\w+/=]+/.exec(rotated.html)?.[0];
  assert(next !== undefined && next !== secret, "a new secret is shown");
  const tested = await browser.send(path, { action: "test" });
  assertStringIncludes(tested.html, '<h2 id="test-answer">Answer</h2>');
  const removed = await browser.send(path, { action: "remove" });
  assertEquals(removed.location, "/console/webhooks?done=removed");
  await api.close();
});

Deno.test("deliveries are listed by filters of the address, and shown with their bodies", async () => {
  const browser = await signedIn();
  const { api } = browser;
  const feed = new WebhookFeed({
    parts: api.engine.parts,
    changes: api.engine.changes,
  });
  const webhook = await addWebhook(browser, { name: "billing" });
  const task = await addTask(browser);
  await api.engine.parts.instances.join();
  feed.start();
  await api.clock.advanceAsync(1_000);
  const { html } = await browser.read(
    `/deliveries?webhook=${webhook}&task=${task}&status=pending&type=task.created`,
  );
  const id = /\/deliveries\/(dlv_\w+)/.exec(html)?.[1];
  assertStringIncludes(html, 'data-name="To" >billing</td>');
  assertStringIncludes(html, `href="/console/tasks/${task}"`);
  const none = await browser.read(`/deliveries?task=${task}&status=failed`);
  assertStringIncludes(none.html, "No delivery matches");
  const page = await browser.read(`/deliveries/${id}`);
  assertStringIncludes(page.html, "It waits for its turn");
  assertStringIncludes(page.html, `&quot;task&quot;: &quot;${task}&quot;`);
  assert(!page.html.includes("Send again"), "it has not ended");
  const early = await browser.send(`/deliveries/${id}`, {});
  assertEquals(early.status, 409);
  assertStringIncludes(
    (await browser.read(`/webhooks/${webhook}`)).html,
    `href="/console/deliveries/${id}"`,
  );
  assertStringIncludes(
    (await browser.read(`/tasks/${task}`)).html,
    `href="/console/deliveries?task=${task}"`,
  );
  await feed.stop();
  await api.close();
});

Deno.test("readers without sight of webhooks are offered none", async () => {
  const browser = await openTestConsole();
  await addWebhook(browser);
  const task = await addTask(browser);
  await browser.signIn(await browser.api.addKey({ role: "viewer" }));
  for (const path of ["", `/tasks/${task}`]) {
    const { html, status } = await browser.read(path);
    assertEquals(status, 200, path);
    for (const text of ["/webhooks", "/deliveries"]) {
      assert(!html.includes(text), `${path}: ${text}`);
    }
  }
  for (const path of ["/webhooks", "/deliveries"]) {
    assertEquals((await browser.read(path)).status, 403, path);
  }
  await browser.api.close();
});

Deno.test("an alert is made from a rule, changed and removed by forms, and is on the overview while raised", async () => {
  const browser = await signedIn();
  const { api } = browser;
  const url = "https://hooks.slack.com/services/T0/B0/x";
  assertStringIncludes(
    (await browser.read("/alerts")).html,
    "There are no alerts yet",
  );
  const rules = await browser.read("/alerts/new");
  const nothing = /\/console(\/alerts\/new\?kind=nothing[^"]+)/.exec(
    rules.html,
  );
  const { html } = await browser.read(
    (nothing?.[1] ?? "").replaceAll("&amp;", "&"),
  );
  const given = fieldsOf(html, 'action="/console/alerts/new"');
  assertEquals([given.kind, given.count, given.within], [
    "nothing",
    "completed",
    "PT10M",
  ]);
  const wrong = await browser.send("/alerts/new", { ...given, url: "here" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, 'id="url-fault"');
  const made = await browser.send("/alerts/new", {
    ...given,
    url,
    name: "All is still",
    authorization: "Bearer sesame",
  });
  const path = /\/alerts\/alr_\w+/.exec(made.location)?.[0] ?? "";
  const edit = await browser.read(`${path}/edit`);
  const fields = fieldsOf(edit.html, `action="/console${path}/edit"`);
  assertEquals(fields.authorization, "");
  const kept = await browser.send(`${path}/edit`, { ...fields, quiet: "PT1H" });
  assertEquals(kept.location, `/console${path}?done=saved`);
  const alert = await api.call("GET", `/v1${path}`);
  assertEquals(alert.at("when"), { nothing: "completed", for: "PT10M" });
  assertEquals(alert.at("send", "has_authorization"), true);
  const signed = await browser.send(`${path}/edit`, {
    ...fieldsOf((await browser.read(`${path}/edit`)).html, "/edit"),
    template: "standard",
  });
  assertStringIncludes(signed.html, "whsec_");
  const page = await browser.read(path);
  assertStringIncludes(
    page.html,
    "It is raised when no tasks were completed within 10 minutes",
  );
  assert(!page.html.includes("sesame"));
  const id = path.slice("/alerts/".length);
  const name = { tenantId: api.tenant.id, id };
  const { state, version } = await readAlertState(api.store, name);
  const raised = { ...state, raisedAtMs: api.clock.nowMs() };
  await api.store.commit([
    { writes: [alertStateWrite(name, raised, version)] },
  ]);
  const overview = await browser.read("");
  assertStringIncludes(
    overview.html,
    `href="/console${path}">All is still</a>`,
  );
  assertStringIncludes((await browser.read(path)).html, ">raised<");
  await browser.send(path, { action: "disable" });
  assertEquals((await api.call("GET", `/v1${path}`)).at("enabled"), false);
  const removed = await browser.send(path, { action: "remove" });
  assertEquals(removed.location, "/console/alerts?done=removed");
  await api.close();
});
