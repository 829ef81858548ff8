import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  addTask,
  fieldsOf,
  openTestConsole,
  type TestConsole,
} from "../testing/test_console.ts";

async function signedIn(): Promise<TestConsole> {
  const browser = await openTestConsole();
  await browser.signIn();
  return browser;
}

Deno.test("workers are listed with their instances, counts and last request", async () => {
  const browser = await signedIn();
  const empty = await browser.read("/workers");
  assertStringIncludes(empty.html, "There are no workers yet");
  await addTask(browser);
  await addTask(browser);
  await browser.api.call("POST", "/v1/workers/mailer/lease", {
    body: { max: 1, instance: "host-1" },
  });
  const { html } = await browser.read("/workers");
  for (
    const text of [
      ">mailer</a>",
      "active",
      'href="/console/tasks?worker=mailer&amp;status=waiting">1</a>',
      'href="/console/tasks?worker=mailer&amp;status=running">1</a>',
    ]
  ) assertStringIncludes(html, text);
  const page = await browser.read("/workers/mailer");
  assertStringIncludes(page.html, '<span class="mono">host-1</span>');
  assertStringIncludes(page.html, "It asked for tasks");
  await browser.api.close();
});

Deno.test("a worker is made, changed, paused and removed by forms", async () => {
  const browser = await signedIn();
  await browser.read("/workers/new");
  const wrong = await browser.send("/workers/new", { name: "a b", jobs: "{" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, 'id="jobs-fault"');
  const refused = await browser.send("/workers/new", { name: "a b" });
  assertStringIncludes(refused.html, 'id="name-fault"');
  const made = await browser.send("/workers/new", {
    name: "hook",
    url: "https://hook.example.com/tasks",
    headers: "x-team: core",
    jobs: "welcome, invoice",
    limits: '{"rate": 5, "period": "PT1M"}',
  });
  assertStringIncludes(made.html, "whsec_");
  const { html } = await browser.read("/workers/hook/edit");
  const fields = fieldsOf(html, '<form method="post" action="/console/workers');
  assertEquals(fields.headers, "x-team: core");
  assertEquals(fields.jobs, "welcome, invoice");
  const saved = await browser.send("/workers/hook/edit", {
    ...fields,
    concurrency: "3",
    limits: "",
  });
  assertEquals(saved.status, 303);
  const worker = await browser.api.call("GET", "/v1/workers/hook");
  assertEquals(worker.at("concurrency"), 3);
  assertEquals(worker.at("limits"), null);
  assertEquals(worker.at("headers"), { "x-team": "core" });
  const path = saved.location.replace(/^\/console|\?.*$/g, "");
  await browser.send(path, { action: "pause" });
  assertEquals(
    (await browser.api.call("GET", "/v1/workers/hook")).at("status"),
    "paused",
  );
  const removed = await browser.send(path, { action: "remove" });
  assertEquals(removed.location, "/console/workers?done=removed");
  await browser.api.close();
});

Deno.test("secrets of a worker are set and removed by name, and shown once at most", async () => {
  const browser = await signedIn();
  await browser.api.addWorker({ name: "mailer" });
  await browser.read("/workers/mailer");
  const path = "/workers/mailer/secrets";
  const value = "a value that no page shows";
  const set = await browser.send(path, {
    action: "set",
    name: "MAILER_KEY",
    value,
  });
  assertEquals(set.location, "/console/workers/mailer?done=saved");
  const made = await browser.send(path, {
    action: "credential",
    label: "host-1",
  });
  const secret = /wk_\w+_\w+/.exec(made.html)?.[0];
  assert(secret !== undefined, "the new credential is shown");
  const page = await browser.read("/workers/mailer");
  assertStringIncludes(page.html, ">MAILER_KEY<");
  assertStringIncludes(page.html, "host-1 wk_");
  assert(!page.html.includes(value) && !page.html.includes(secret));
  await browser.send(path, { action: "remove", name: "MAILER_KEY" });
  const after = await browser.read("/workers/mailer");
  assert(!after.html.includes(">MAILER_KEY<"));
  await browser.api.close();
});

Deno.test("a test call shows what came of it", async () => {
  const browser = await signedIn();
  await browser.api.addWorker({
    name: "hook",
    kind: "push",
    url: "https://hook.example.com/tasks",
  });
  const form = await browser.read("/workers/hook/test");
  assertEquals(form.status, 200);
  const wrong = await browser.send("/workers/hook/test", { data: "{" });
  assertStringIncludes(wrong.html, 'id="data-fault"');
  const { html, status } = await browser.send("/workers/hook/test", {
    job: "welcome",
    data: '{"n": 1}',
  });
  assertEquals(status, 200);
  assertStringIncludes(html, "POST https://hook.example.com/tasks");
  assertStringIncludes(html, "Nothing came back");
  await browser.api.close();
});

Deno.test("pages offer no change that the reader's key may not make", async () => {
  const browser = await openTestConsole();
  await browser.api.addWorker({ name: "mailer" });
  await browser.signIn(await browser.api.addKey({ role: "viewer" }));
  for (const path of ["/workers", "/workers/mailer", "/schedules", "/users"]) {
    const { html, status } = await browser.read(path);
    assertEquals(status, 200, path);
    const main = html.slice(html.indexOf("<main"));
    assert(!main.includes('method="post"'), path);
    assert(!main.includes("/new"), path);
  }
  for (const path of ["/keys", "/audit"]) {
    assertEquals((await browser.read(path)).status, 403, path);
  }
  const sent = await browser.send("/workers/mailer", { action: "pause" });
  assertEquals(sent.status, 403);
  await browser.api.close();
});
