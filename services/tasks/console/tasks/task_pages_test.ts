import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  addTask,
  openTestConsole,
  type TestConsole,
} from "../testing/test_console.ts";

async function signedIn(): Promise<TestConsole> {
  const browser = await openTestConsole();
  await browser.signIn();
  return browser;
}

/** The ids of the tasks that a page links to, in order. */
function taskIds(html: string): readonly string[] {
  return [...new Set(html.match(/(?<=\/tasks\/)tsk_[0-9a-z]{26}/g))];
}

async function statusOf({ api }: TestConsole, id: string): Promise<unknown> {
  return (await api.call("GET", `/v1/tasks/${id}`)).at("status");
}

/** Fails the only waiting task of the worker `mailer` once. */
async function failOnce({ api }: TestConsole): Promise<void> {
  const leased = await api.call("POST", "/v1/workers/mailer/lease", {
    body: { max: 1, instance: "host-1" },
  });
  await api.clock.advance(400);
  const failed = await api.call(
    "POST",
    `/v1/leases/${leased.textAt("leases", 0, "id")}/fail`,
    {
      key: leased.textAt("leases", 0, "token"),
      body: {
        error: {
          code: "smtp_refused",
          message: "Connection refused",
          detail: { stack: "Error: refused\n    at send (mailer.ts:8:3)" },
        },
        retry: false,
      },
    },
  );
  assertEquals(failed.status, 200);
}

Deno.test("the list shows the newest tasks first, and those that a filter selects", async () => {
  const browser = await signedIn();
  const { read } = browser;
  const ids: string[] = [];
  for (const n of [0, 1, 2]) {
    await browser.api.clock.advance(1_000);
    ids.push(
      await addTask(browser, {
        job: `job${n}`,
        key: `key-${n}`,
        group: n === 2 ? "eu" : "us",
        tags: [`tag${n}`],
        metadata: { plan: n === 0 ? "pro" : "free", n: String(n) },
        ...(n === 1 ? { date: "2099-01-01T00:00:00Z" } : {}),
      }),
    );
  }
  const [first, second, third] = ids;
  const shown = async (query: string): Promise<readonly unknown[]> =>
    taskIds((await read(`/tasks?${query}`)).html);
  assertEquals(await shown(""), [third, second, first]);
  assertEquals(await shown("sort=created_at&order=asc"), [
    first,
    second,
    third,
  ]);
  assertEquals(await shown("sort=date&order=desc"), [second, third, first]);
  assertEquals(await shown("status=scheduled"), [second]);
  assertEquals(await shown("job=job2"), [third]);
  assertEquals(await shown("group=eu"), [third]);
  assertEquals(await shown("tag=tag1"), [second]);
  assertEquals(await shown("metadata=plan%3Dpro"), [first]);
  assertEquals(await shown("metadata=plan%3Dfree%2C+n%3D2"), [third]);
  assertEquals(await shown("start=2098&by=date"), [second]);
  assertEquals(await shown("worker=nobody"), []);
  assertEquals(await shown("worker=&status=&start="), [third, second, first]);
  assertStringIncludes((await read("/tasks")).html, '<option value="mailer">');
  await browser.api.close();
});

Deno.test("the search leads to a task by its id, and to tasks by their key", async () => {
  const browser = await signedIn();
  const id = await addTask(browser, { key: "order 7" });
  const byId = await browser.read(`/tasks?q=${id}`);
  assertEquals(byId.location, `/console/tasks/${id}`);
  const byKey = await browser.read("/tasks?q=order+7");
  assertEquals(byKey.location, "/console/tasks?key=order+7");
  const list = await browser.read("/tasks?key=order+7");
  assertEquals(taskIds(list.html), [id]);
  await browser.api.close();
});

Deno.test("a wrong filter is told, and a list has further pages", async () => {
  const browser = await signedIn();
  const wrong = await browser.read("/tasks?start=tomorrow");
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, "Cannot");
  for (let index = 0; index < 51; index++) await addTask(browser);
  const first = await browser.read("/tasks?status=active");
  assertStringIncludes(first.html, "51 tasks");
  const next = /href="\/console(\/tasks\?[^"]*cursor[^"]*)"/.exec(first.html);
  const path = next?.[1]?.replaceAll("&amp;", "&") ?? "";
  const second = await browser.read(path);
  assertEquals(taskIds(second.html).length, 1);
  assertStringIncludes(second.html, "First page");
  await browser.api.close();
});

Deno.test("a task's page tells why it failed, when it was tried, and its history", async () => {
  const browser = await signedIn();
  const id = await addTask(browser, { data: { to: "ann" } });
  await failOnce(browser);
  const { html, status } = await browser.read(`/tasks/${id}`);
  assertEquals(status, 200);
  for (
    const text of [
      "It is failed and does nothing more",
      "Attempt 1 · failed",
      "400 ms",
      "smtp_refused",
      "at send (mailer.ts:8:3)",
      "&quot;to&quot;: &quot;ann&quot;",
      "The chain is whole: ",
      `tercet tasks retry ${id}`,
      `http://acme.tercet.test/api/v1/tasks/${id}/retry`,
      'data-confirm="Remove this task?',
    ]
  ) assertStringIncludes(html, text);
  assert(!html.includes(`tercet tasks cancel ${id}`), "it has ended");
  await browser.api.close();
});

Deno.test("a task's page tells when its history was changed in the store", async () => {
  const browser = await signedIn();
  const { api } = browser;
  const id = await addTask(browser);
  const { history } = api.store;
  const forged: typeof history = async (query) => {
    const page = await history(query);
    const records = page.records.map((record) => ({
      ...record,
      text: record.text.replace('"type":"created"', '"type":"removed"'),
    }));
    return { ...page, records };
  };
  Object.assign(api.engine.parts.store, { history: forged });
  const { html } = await browser.read(`/tasks/${id}`);
  assertStringIncludes(html, "Cannot trust record 1");
  assert(!html.includes("The chain is whole"));
  await api.close();
});

Deno.test("each action of a task's page does what the API does, and says so", async () => {
  const browser = await signedIn();
  const id = await addTask(browser, { date: "2099-01-01T00:00:00Z" });
  await browser.read(`/tasks/${id}`);
  for (
    const [action, after] of [
      ["pause", "paused"],
      ["resume", "scheduled"],
      ["run", "waiting"],
      ["cancel", "canceled"],
      ["retry", "waiting"],
    ] as const
  ) {
    const { status, location } = await browser.send(`/tasks/${id}`, { action });
    assertEquals([status, location], [
      303,
      `/console/tasks/${id}?done=${action}`,
    ]);
    assertEquals(await statusOf(browser, id), after);
    const page = await browser.read(`/tasks/${id}?done=${action}`);
    assertStringIncludes(page.html, 'role="status"');
  }
  const refused = await browser.send(`/tasks/${id}`, { action: "retry" });
  assertEquals(refused.status, 409);
  const removed = await browser.send(`/tasks/${id}`, { action: "remove" });
  assertEquals(removed.location, "/console/tasks?done=remove");
  assertEquals(await statusOf(browser, id), 404);
  for (const action of ["", "remove/../..", "history/check", "explode"]) {
    const wrong = await browser.send(`/tasks/${id}`, { action });
    assert(wrong.status >= 400, action);
  }
  await browser.api.close();
});

Deno.test("a bulk action on a filter is previewed, then applied, then told", async () => {
  const browser = await signedIn();
  const ids = [
    await addTask(browser, { tags: ["a"] }),
    await addTask(browser, { tags: ["a"] }),
    await addTask(browser, { tags: ["b"] }),
  ];
  const fields = { action: "cancel", on: "filter", filter: "tag=a" };
  const query = new URLSearchParams(fields);
  const preview = await browser.read(`/tasks/bulk?${query}`);
  assertStringIncludes(preview.html, "2 of 2 tasks would be changed.");
  assertEquals(await statusOf(browser, ids[0] ?? ""), "waiting");
  const done = await browser.send("/tasks/bulk", fields);
  assertEquals(
    done.location,
    "/console/tasks?tag=a&done=bulk&changed=2&unchanged=0&failed=0",
  );
  const statuses = await Promise.all(ids.map((id) => statusOf(browser, id)));
  assertEquals(statuses, ["canceled", "canceled", "waiting"]);
  const list = await browser.read(done.location.slice("/console".length));
  assertStringIncludes(list.html, "2 changed, 0 needed no change");
  await browser.api.close();
});

Deno.test("a bulk action on ticked tasks has these alone, and none without a tick", async () => {
  const browser = await signedIn();
  const first = await addTask(browser);
  const second = await addTask(browser);
  const nothing = await browser.read(
    "/tasks/bulk?action=cancel&on=ids&filter=",
  );
  assertStringIncludes(nothing.html, "No task is ticked");
  await browser.read(`/tasks/bulk?action=cancel&on=ids&filter=&ids=${first}`);
  await browser.send("/tasks/bulk", {
    action: "cancel",
    on: "ids",
    filter: "",
    ids: [first],
  });
  assertEquals(await statusOf(browser, first), "canceled");
  assertEquals(await statusOf(browser, second), "waiting");
  const none = await browser.send("/tasks/bulk", {
    action: "cancel",
    on: "ids",
    filter: "",
  });
  assertEquals(none.status, 422);
  const all = await browser.send("/tasks/bulk", {
    action: "cancel",
    on: "filter",
    filter: "",
  });
  assertEquals(all.status, 422);
  assertEquals(await statusOf(browser, second), "waiting");
  await browser.api.close();
});

Deno.test("the overview counts tasks by status and names those that failed", async () => {
  const browser = await signedIn();
  const id = await addTask(browser);
  await failOnce(browser);
  await addTask(browser);
  const { html } = await browser.read("");
  assertStringIncludes(html, "smtp_refused: Connection refused");
  assertEquals(taskIds(html), [id]);
  const text = html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assertStringIncludes(text, "1 waiting");
  assertStringIncludes(text, "1 failed");
  assertStringIncludes(text, "Nothing needs attention");
  browser.api.clock.advance(120_000);
  const later = await browser.read("");
  const words = later.html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assertStringIncludes(words, "mailer last asked for tasks");
  assertStringIncludes(words, "1 late, the oldest due");
  await browser.api.close();
});

Deno.test("the reader's colours are kept in a cookie of their own", async () => {
  const browser = await signedIn();
  const page = await browser.read("/tasks");
  assert(!page.html.includes("data-theme"));
  const session = browser.headers.cookie ?? "";
  const chosen = await browser.send("/theme", {
    theme: "dark",
    back: "/console/tasks",
  });
  assertEquals(chosen.location, "/console/tasks");
  browser.headers.cookie = `${session}; tercet_theme=dark`;
  assertStringIncludes(
    (await browser.read("/tasks")).html,
    'data-theme="dark"',
  );
  browser.headers.cookie = `${session}; tercet_theme="><b>`;
  assert(!(await browser.read("/tasks")).html.includes("data-theme"));
  await browser.api.close();
});

Deno.test("a task's page tells since when the worker that it waits for asks for nothing", async () => {
  const browser = await signedIn();
  const id = await addTask(browser);
  const lead = async () =>
    (await browser.read(`/tasks/${id}`)).html.replaceAll(/<[^>]*>/g, "");
  const silent = "It waits for the worker mailer, which has asked for nothing";
  assertStringIncludes(await lead(), `${silent} since the service was started`);
  await browser.api.call("POST", "/v1/workers/mailer/lease", {
    body: { max: 1, jobs: ["other"] },
  });
  browser.api.clock.advance(3_600_000);
  assertStringIncludes(
    await lead(),
    `${silent} since 2027-01-15 08:00:00 UTC.`,
  );
  await browser.api.close();
});

Deno.test("a list of a status is by date, of what comes next first, and all tasks by creation", async () => {
  const browser = await signedIn();
  const later = await addTask(browser, { delay: "PT2H" });
  const sooner = await addTask(browser, { delay: "PT1H" });
  const shown = async (query: string) => {
    const { html } = await browser.read(`/tasks${query}`);
    const isSooner = html.indexOf(sooner) < html.indexOf(later);
    return [/, by (\w+)</.exec(html)?.[1], isSooner];
  };
  assertEquals(await shown(""), ["creation", true]);
  assertEquals(await shown("?status=scheduled"), ["date", true]);
  assertEquals(await shown("?worker=mailer"), ["date", false]);
  assertEquals(await shown("?worker=mailer&sort=created_at&order=asc"), [
    "creation",
    false,
  ]);
  await browser.api.close();
});

/** Lets the only waiting task of the worker `mailer` wait for what is asked. */
async function waitFor({ api }: TestConsole, wish: object): Promise<void> {
  const leased = await api.call("POST", "/v1/workers/mailer/lease", {
    body: {},
  });
  const said = await api.call(
    "POST",
    `/v1/leases/${leased.textAt("leases", 0, "id")}/wait`,
    { key: leased.textAt("leases", 0, "token"), body: { wait_for: wish } },
  );
  assertEquals(said.at("status"), "scheduled");
}

Deno.test("a task's page says what it waits for, and sends the event", async () => {
  const browser = await signedIn();
  const id = await addTask(browser);
  await waitFor(browser, { event: "paid", on_timeout: "fail" });
  const { html } = await browser.read(`/tasks/${id}`);
  assertStringIncludes(html, "Waits for an event");
  assertStringIncludes(html, "It waits for the event &quot;paid&quot;");
  assertStringIncludes(html, "Without it by then the task fails.");
  const form = { action: "event", event: "paid", version: "9" };
  const wrong = await browser.send(`/tasks/${id}`, { ...form, data: "{a}" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.html, "its data is not JSON");
  const sent = await browser.send(`/tasks/${id}`, { ...form, data: '{"a":1}' });
  assertEquals(sent.location, `/console/tasks/${id}?done=event`);
  assertEquals(await statusOf(browser, id), "waiting");
  const after = await browser.read(`/tasks/${id}?done=event`);
  assert(!after.html.includes("Waits for an event"), "it waits no more");
  await browser.api.close();
});

Deno.test("a person finds what waits for approval, and decides about what they saw", async () => {
  const browser = await signedIn();
  const id = await addTask(browser);
  await waitFor(browser, { approval: { by: "admin" }, message: "Send <it>?" });
  const list = await browser.read("/tasks?waiting=approval");
  assertEquals(taskIds(list.html), [id]);
  assert(!list.html.includes("Preview for all that match"));
  assertEquals(taskIds((await browser.read("/tasks?waiting=event")).html), []);
  const overview = await browser.read("");
  assertStringIncludes(overview.html, "waits for approval.");
  const { html } = await browser.read(`/tasks/${id}`);
  assertStringIncludes(html, "Send &lt;it>?");
  const version = /name="version" value="(\d+)"/.exec(html)?.[1] ?? "";
  const form = { action: "reject", comment: " Not now " };
  const stale = await browser.send(`/tasks/${id}`, { ...form, version: "1" });
  assertEquals(stale.status, 412);
  const sent = await browser.send(`/tasks/${id}`, { ...form, version });
  assertEquals(sent.location, `/console/tasks/${id}?done=reject`);
  const after = await browser.read(`/tasks/${id}?done=reject`);
  assertStringIncludes(after.html, "It is rejected");
  assertStringIncludes(after.html, "rejected: Not now");
  await browser.api.close();
});
