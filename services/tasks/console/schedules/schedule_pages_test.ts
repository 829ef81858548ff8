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

/** The id at the end of a path. */
function idOf(location: string): string {
  return /tsk_[0-9a-z]{26}/.exec(location)?.[0] ?? "";
}

Deno.test("the list of schedules has the tasks that repeat, by their next run", async () => {
  const browser = await signedIn();
  await addTask(browser);
  const later = await addTask(browser, {
    job: "yearly",
    repeat: { cron: "@yearly" },
    timezone: "Europe/Berlin",
  });
  const sooner = await addTask(browser, { repeat: { cron: "@daily" } });
  const paused = await addTask(browser, {
    repeat: { cron: "@monthly" },
  });
  await browser.api.call("POST", `/v1/tasks/${paused}/pause`);
  const ids = async (query: string): Promise<readonly string[]> => {
    const { html } = await browser.read(`/schedules${query}`);
    return html.match(/(?<=\/schedules\/)tsk_[0-9a-z]{26}/g) ?? [];
  };
  assertEquals(new Set(await ids("")), new Set([sooner, paused, later]));
  assertEquals((await ids("")).indexOf(later), 2);
  assertEquals(await ids("?status=paused"), [paused]);
  assertEquals(await ids("?worker=nobody"), []);
  const { html } = await browser.read("/schedules");
  assertStringIncludes(html, "<code>@yearly</code>");
  assertStringIncludes(html, "+01:00");
  await browser.api.close();
});

Deno.test("the list of schedules tells of clock changes ahead", async () => {
  const browser = await signedIn();
  await browser.api.call("PATCH", "/v1/account", {
    body: { timezone: "Europe/Berlin" },
  });
  const year = new Date(browser.api.clock.nowMs()).getUTCFullYear() + 1;
  await addTask(browser, {
    date: `${year}-03-20T00:00:00Z`,
    repeat: { cron: "30 2 * * *" },
  });
  const { html } = await browser.read("/schedules");
  assertStringIncludes(html, "Clock change ahead");
  await browser.api.close();
});

Deno.test("a schedule's page shows its next runs in its zone and leaves out a day", async () => {
  const browser = await signedIn();
  const id = await addTask(browser, {
    repeat: { cron: "0 8 * * *" },
    timezone: "Asia/Tokyo",
  });
  const before = await browser.read(`/schedules/${id}`);
  assertEquals(before.status, 200);
  assertStringIncludes(before.html, ">Asia/Tokyo</th>");
  assertStringIncludes(before.html, "+09:00");
  const day = /name="day" value="([0-9-]+)"/.exec(before.html)?.[1] ?? "";
  const sent = await browser.send(`/schedules/${id}`, { action: "skip", day });
  assertEquals(sent.location, `/console/schedules/${id}?done=skip`);
  const task = await browser.api.call("GET", `/v1/tasks/${id}`);
  assertEquals(task.at("repeat", "exclude"), [day]);
  const after = await browser.read(`/schedules/${id}`);
  assert(!after.html.includes(`value="${day}"`), "the day is left out");
  const paused = await browser.send(`/schedules/${id}`, { action: "pause" });
  assertEquals(paused.location, `/console/schedules/${id}?done=pause`);
  await browser.api.close();
});

Deno.test("a schedule's page tells that its run is late", async () => {
  const browser = await signedIn();
  const id = await addTask(browser, { repeat: { interval: "PT1H" } });
  await browser.api.clock.advance(600_000);
  const { html } = await browser.read(`/schedules/${id}`);
  assertStringIncludes(html, "due since 10 min, and no worker has taken it");
  await browser.api.close();
});

Deno.test("the form of a task previews its schedule and changes nothing", async () => {
  const browser = await signedIn();
  await addTask(browser);
  await browser.read("/tasks/new");
  const shown = await browser.send("/tasks/new", {
    do: "preview",
    worker: "mailer",
    cron: "30 2 * * *",
    timezone: "Europe/Berlin",
    date: "2099-03-27T00:00:00Z",
  });
  assertEquals(shown.status, 200);
  assertStringIncludes(shown.html, "The clock skips the time that is meant");
  assertStringIncludes(shown.html, 'value="30 2 * * *"');
  const wrong = await browser.send("/tasks/new", {
    do: "preview",
    cron: "30 25 * * *",
  });
  assertStringIncludes(wrong.html, "Cannot");
  const list = await browser.api.call("GET", "/v1/tasks?repeats=true");
  assertEquals(list.at("data"), []);
  await browser.api.close();
});

Deno.test("the form of a task makes it, and marks the fields that are wrong", async () => {
  const browser = await signedIn();
  await addTask(browser);
  await browser.read("/tasks/new");
  const wrong = await browser.send("/tasks/new", {
    worker: "mailer",
    data: "{",
    cron: "0 8 * * *",
  });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, 'id="data-fault"');
  const refused = await browser.send("/tasks/new", {
    worker: "mailer",
    timezone: "Europe/Nowhere",
    cron: "0 8 * * *",
  });
  assertEquals(refused.status, 422);
  assertStringIncludes(refused.html, 'id="timezone-fault"');
  const made = await browser.send("/tasks/new", {
    worker: "mailer",
    job: "report",
    data: '{"n": 1}',
    cron: "0 8 * * *",
    timezone: "Europe/Berlin",
    exclude: "2099-12-24, 2099-12-25",
    tags: "a, b",
    metadata: "plan=pro\nregion=eu",
    retry: '{"limit": 2}',
  });
  const id = idOf(made.location);
  assertEquals(made.location, `/console/schedules/${id}?done=created`);
  const task = await browser.api.call("GET", `/v1/tasks/${id}`);
  assertEquals(task.at("data"), { n: 1 });
  assertEquals(task.at("repeat", "exclude"), ["2099-12-24", "2099-12-25"]);
  assertEquals(task.at("tags"), ["a", "b"]);
  assertEquals(task.at("metadata"), { plan: "pro", region: "eu" });
  assertEquals(task.at("retry", "limit"), 2);
  await browser.api.close();
});

Deno.test("a task that is edited keeps what the form does not have", async () => {
  const browser = await signedIn();
  const id = await addTask(browser, {
    data: { to: "ann" },
    repeat: { cron: "0 8 * * *", catch_up: "all", catch_up_window: "PT6H" },
    retry: { limit: 7 },
  });
  const form = await browser.read(`/tasks/${id}/edit`);
  const fields = fieldsOf(form.html, "data-preview");
  assertEquals(fields.cron, "0 8 * * *");
  const saved = await browser.send(`/tasks/${id}/edit`, {
    ...fields,
    cron: "0 9 * * *",
  });
  assertEquals(saved.location, `/console/schedules/${id}?done=saved`);
  const task = await browser.api.call("GET", `/v1/tasks/${id}`);
  assertEquals(task.at("repeat", "cron"), "0 9 * * *");
  assertEquals(task.at("repeat", "catch_up"), "all");
  assertEquals(task.at("repeat", "catch_up_window"), "PT6H");
  assertEquals(task.at("retry", "limit"), 7);
  assertEquals(task.at("data"), { to: "ann" });
  const stale = await browser.send(`/tasks/${id}/edit`, {
    ...fields,
    cron: "0 10 * * *",
  });
  assertEquals(stale.status, 422);
  assertStringIncludes(stale.html, 'role="alert"');
  await browser.api.close();
});
