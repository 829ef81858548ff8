import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../support/services.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "../tasks/data_folder.ts";
import { TasksClient } from "../tasks/tasks_client.ts";
import { getTarget } from "../tasks/tenant_client.ts";
import { Browser } from "./browser.ts";
import { PageJudge, VIEWS } from "./page_check.ts";

/** A tenant with tasks of every kind, and the address of its console. */
interface Bench {
  readonly client: TasksClient;
  readonly key: string;
  readonly console: string;
  /** A task that has failed twice and is tried no more. */
  readonly failed: string;
  /** A task that waits for an approval, and one that waits for an event. */
  readonly approval: string;
  readonly event: string;
  /** A task that repeats. */
  readonly schedule: string;
  /** A user. */
  readonly user: string;
  /** A webhook, an alert, and an event that the webhook is sent. */
  readonly webhook: string;
  readonly alert: string;
  readonly delivery: string;
}

interface Leased {
  readonly leases: readonly { readonly id: string; readonly token: string }[];
}

async function openBench(service: TasksProcess): Promise<Bench> {
  const target = () => getTarget(service);
  using accounts = new TasksClient({ target, host: "accounts.localhost" });
  const { owner_key: key } = await accounts.expect<
    { readonly owner_key: string }
  >(201, ["POST", "/", { domain: "acme" }]);
  const client = new TasksClient({
    target,
    host: "acme.localhost",
    token: key,
  });
  const make = async (path: string, body: unknown): Promise<string> => {
    const { id } = await client.expect<{ readonly id: string }>(201, [
      "POST",
      `/api/v1/${path}`,
      body,
    ]);
    return id;
  };
  await make("workers", { name: "mailer" });
  const add = (body: Readonly<Record<string, unknown>>) =>
    make("tasks", { worker: "mailer", ...body });
  const url = "https://hook.example.com/events";
  const webhook = await make("webhooks", { url });
  const alert = await make("alerts", {
    when: { count: "failed", within: "PT5M" },
    send: { url, template: "slack" },
  });
  const failed = await add({
    data: { to: "ann@example.com" },
    retry: { limit: 1, interval: "PT1S" },
    tags: ["a", "b"],
    metadata: { plan: "pro" },
    priority: 5,
  });
  for (const wait of ["0s", "20s"]) {
    const { leases: [lease] } = await client.expect<Leased>(200, [
      "POST",
      "/api/v1/workers/mailer/lease",
      { max: 1, instance: "host-1", wait },
    ]);
    assert(lease !== undefined);
    const { status } = await client.call(
      "POST",
      `/api/v1/leases/${lease.id}/fail`,
      {
        token: lease.token,
        body: {
          error: {
            code: "smtp_refused",
            message: "Connection refused",
            detail: { stack: "Error: refused\n    at send (mailer.ts:8:3)" },
          },
        },
      },
    );
    assertEquals(status, 200);
  }
  const waits: string[] = [];
  for (
    const wish of [
      { approval: { by: "admin" }, message: "Send it to 1,200 customers?" },
      { event: "paid" },
    ]
  ) {
    waits.push(await add({ data: { draft: 7 } }));
    const { leases: [lease] } = await client.expect<Leased>(200, [
      ...["POST", "/api/v1/workers/mailer/lease"] as const,
      { max: 1 },
    ]);
    assert(lease !== undefined);
    const { status } = await client.call(
      "POST",
      `/api/v1/leases/${lease.id}/wait`,
      { token: lease.token, body: { wait_for: wish } },
    );
    assertEquals(status, 200);
  }
  const [approval = "", event = ""] = waits;
  await add({ key: "plain" });
  await add({ date: "2099-01-01T00:00:00Z", group: "eu" });
  const schedule = await add({
    repeat: { cron: "30 2 * * *" },
    date: "2099-03-20T00:00:00Z",
    timezone: "Europe/Berlin",
  });
  await client.expect(201, ["POST", "/api/v1/workers", {
    name: "hook",
    url: "https://hook.example.com/tasks",
  }]);
  for (const body of [{ name: "KEY", value: "v" }, { type: "credential" }]) {
    await client.expect(201, ["POST", "/api/v1/workers/hook/secrets", body]);
  }
  const user = await make("users", { email: "ada@example.com", name: "Ada" });
  let delivery: string | undefined;
  await waitUntil(async () => {
    const { data } = await client.expect<
      { readonly data: readonly { readonly id: string }[] }
    >(200, ["GET", `/api/v1/deliveries?webhook=${webhook}`]);
    delivery = data[0]?.id;
    return delivery !== undefined;
  }, { what: "an event is to be delivered", intervalMs: 100 });
  assert(delivery !== undefined);
  const { port } = getTarget(service);
  const console = `http://acme.localhost:${port}/console`;
  return {
    ...{ client, key, console, failed, schedule, user, approval, event },
    ...{ webhook, alert, delivery },
  };
}

/** The operator's token in this test. */
const OPERATOR_TOKEN = "operator-token-of-this-test-0123456789";

function operatorConsole(service: TasksProcess): string {
  return `http://accounts.admin.localhost:${getTarget(service).port}/console`;
}

/** Signs in with the keyboard alone. */
async function signIn(
  browser: Browser,
  { console, key }: Pick<Bench, "console" | "key">,
): Promise<void> {
  await browser.go(console);
  for (let tries = 0; tries < 9 && await focused(browser) !== "key"; tries++) {
    await browser.press("Tab");
  }
  await browser.type(key);
  await browser.leave(() => browser.press("Enter"));
}

async function focused(browser: Browser): Promise<unknown> {
  return await browser.evaluate("document.activeElement.id");
}

serviceTest(["chromium"], {
  name: "the console of tasks in a browser",
  timeout: 240_000,
  async fn(t) {
    await using folder = await DataFolder.make();
    await using service = await startTasks({
      dataDir: folder.path,
      env: { SERVICE_HOST: "localhost", OPERATOR_TOKEN },
    });
    const bench = await openBench(service);
    using _client = bench.client;
    await using browser = await Browser.open();
    const judge = new PageJudge(browser);
    const view = VIEWS[0];
    assert(view !== undefined);
    await browser.look(view);
    await t.step("the form to sign in has no faults", async () => {
      await browser.go(`${bench.console}/sign-in`);
      assertEquals(await judge.faults(), []);
    });
    await t.step("signing in needs no mouse", async () => {
      await signIn(browser, bench);
      assertEquals(await browser.evaluate("location.pathname"), "/console");
    });
    for (
      const path of [
        "",
        "/tasks",
        "/tasks?status=failed&tag=a",
        "/tasks?tag=nothing",
        "/tasks?waiting=approval",
        `/tasks/${bench.approval}`,
        `/tasks/${bench.event}`,
        `/tasks/${bench.failed}`,
        "/tasks/bulk?action=retry&on=filter&filter=status%3Dfailed",
        "/tasks/bulk?action=retry&on=ids&filter=",
        "/tasks?done=bulk&changed=2&failed=1",
        "/tasks/new?cron=30+2+*+*+*&timezone=Europe/Berlin",
        "/schedules",
        `/schedules/${bench.schedule}`,
        `/tasks/${bench.schedule}/edit`,
        "/workers",
        "/workers/new",
        "/workers/mailer",
        "/workers/hook",
        "/workers/hook/edit",
        "/workers/hook/test",
        "/webhooks",
        "/webhooks/new",
        `/webhooks/${bench.webhook}`,
        `/webhooks/${bench.webhook}/edit`,
        "/deliveries",
        "/deliveries?status=delivered",
        `/deliveries/${bench.delivery}`,
        "/alerts",
        "/alerts/new",
        `/alerts/${bench.alert}`,
        `/alerts/${bench.alert}/edit`,
        "/users",
        `/users/${bench.user}`,
        "/keys",
        "/usage",
        "/audit",
      ]
    ) {
      await t.step(`/console${path} has no faults`, async () => {
        await browser.go(bench.console + path);
        await browser.evaluate(
          'document.querySelectorAll("details").forEach((one) => one.open = true)',
        );
        assertEquals(await judge.faults(), []);
      });
    }
    await t.step(
      "a page of a refusal has no faults but its status",
      async () => {
        await browser.go(`${bench.console}/tasks/tsk_1`);
        const faults = await judge.faults();
        assertEquals(faults.filter((fault) => !/\b404\b/.test(fault)), []);
      },
    );
    await t.step(
      "keys walk, tick and search the list",
      () => keys(browser, bench),
    );
    await t.step(
      "a question comes before what cannot be undone, and Escape ends it",
      () => asksFirst({ browser, judge, bench }),
    );
    await t.step(
      "a page shows a change by itself",
      () => isLive(browser, bench),
    );
    await t.step(
      "a form shows the next runs while a schedule is written",
      () => previews(browser, bench),
    );
    await t.step(
      "CONSOLE=false leaves no page",
      () => isOff(folder.path),
    );
    for (
      const path of ["/sign-in", "", "/tenants", "/tenants/acme", "/plans"]
    ) {
      await t.step(`the operator's /console${path} has no faults`, async () => {
        const console = operatorConsole(service);
        if (path === "") {
          await signIn(browser, { console, key: OPERATOR_TOKEN });
        }
        await browser.go(console + path);
        await browser.evaluate(
          'document.querySelectorAll("details").forEach((one) => one.open = true)',
        );
        assertEquals(await judge.faults(), []);
      });
    }
    await t.step("times are in the reader's zone", () => times(browser, bench));
  },
});

async function keys(browser: Browser, { console }: Bench): Promise<void> {
  await browser.go(`${console}/tasks`);
  const row = () =>
    browser.evaluate(
      '[...document.querySelectorAll("tbody tr")].findIndex((row) => row.contains(document.activeElement))',
    );
  await browser.press("j", "j", "j", "k");
  assertEquals(await row(), 1);
  await browser.press("x");
  assertEquals(
    await browser.evaluate(
      '[...document.querySelectorAll("tbody input")].map((box) => box.checked)',
    ),
    [false, true, false, false, false, false],
  );
  await browser.press("/");
  assertEquals(await focused(browser), "q");
  await browser.press("j");
  assertEquals(
    await browser.evaluate('document.getElementById("q").value'),
    "j",
  );
  await browser.press("Escape", "k");
  assertEquals(await row(), 5);
  await browser.leave(() => browser.press("Enter"));
  assertEquals(
    await browser.evaluate("/^.console.tasks.tsk_/.test(location.pathname)"),
    true,
  );
}

async function asksFirst(
  { browser, judge, bench }: {
    readonly browser: Browser;
    readonly judge: PageJudge;
    readonly bench: Bench;
  },
): Promise<void> {
  await browser.go(`${bench.console}/tasks?key=plain`);
  await browser.press("j");
  await browser.leave(() => browser.press("Enter"));
  const press = () =>
    browser.evaluate('document.querySelector("[value=cancel]").click()');
  await press();
  assertEquals(
    await browser.evaluate('document.querySelector("dialog").open'),
    true,
  );
  assertEquals(await judge.faults(), []);
  await browser.press("Escape");
  await waitUntil(
    async () =>
      await browser.evaluate('document.querySelector("dialog")') === null,
    { what: "the question is gone", intervalMs: 20 },
  );
  await press();
  await browser.leave(() => browser.press("Enter"));
  assertEquals(
    await browser.evaluate(
      'document.querySelector("[role=status]").textContent',
    ),
    "The task is canceled.",
  );
}

async function isLive(browser: Browser, bench: Bench): Promise<void> {
  await browser.go(`${bench.console}/tasks?status=scheduled`);
  const told = browser.evaluate(`new Promise((resolve) => {
    const source = new EventSource(document.documentElement.dataset.events);
    source.addEventListener("open", () => document.title = "open");
    source.addEventListener("digest", ({ data }) => {
      source.close();
      resolve(data);
    });
  })`);
  await waitUntil(
    async () => await browser.evaluate("document.title") === "open",
    { what: "the page listens", intervalMs: 100 },
  );
  bench.client.closeIdle();
  await bench.client.expect(201, ["POST", "/api/v1/tasks", {
    worker: "mailer",
    date: "2098-01-01T00:00:00Z",
  }]);
  assert(String(await told).includes("task.created"), "the event is told");
  await browser.go(`${bench.console}/tasks?status=scheduled`);
  const rows = () =>
    browser.evaluate('document.querySelectorAll("tbody tr").length');
  const before = await rows() as number;
  await browser.press("j");
  const focus = () => browser.evaluate("document.activeElement.textContent");
  const focused = await focus();
  bench.client.closeIdle();
  await bench.client.expect(201, ["POST", "/api/v1/tasks", {
    worker: "mailer",
    date: "2098-01-01T00:00:00Z",
  }]);
  await waitUntil(async () => await rows() === before + 1, {
    what: "the new task is in the list",
    intervalMs: 100,
  });
  assertEquals(await focus(), focused);
}

async function previews(browser: Browser, { console }: Bench): Promise<void> {
  await browser.go(`${console}/tasks/new`);
  await browser.evaluate('document.getElementById("cron").focus()');
  await browser.type("0 8 * * *");
  const rows = () =>
    browser.evaluate('document.querySelectorAll("#preview tbody tr").length');
  await waitUntil(async () => await rows() === 10, {
    what: "the next runs are shown",
    intervalMs: 100,
  });
  assertEquals(await focused(browser), "cron");
}

async function times(browser: Browser, bench: Bench): Promise<void> {
  await browser.send("Emulation.setTimezoneOverride", {
    timezoneId: "Asia/Tokyo",
  });
  await browser.go(`${bench.console}/tasks?key=plain`);
  const title = await browser.evaluate(
    'document.querySelector("tbody time").title',
  );
  assert(String(title).endsWith("GMT+9"), String(title));
}

async function isOff(dataDir: string): Promise<void> {
  await using service = await startTasks({
    dataDir: `${dataDir}/off`,
    env: { SERVICE_HOST: "localhost", CONSOLE: "false" },
  });
  const target = () => getTarget(service);
  using accounts = new TasksClient({ target, host: "accounts.localhost" });
  await accounts.expect(201, ["POST", "/", { domain: "acme" }]);
  using client = new TasksClient({ target, host: "acme.localhost" });
  for (const path of ["/console", "/console/sign-in", "/console/tasks"]) {
    const { status } = await client.call("GET", path);
    assertEquals(status, 404, path);
  }
}
