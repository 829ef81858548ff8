import { assert, assertEquals, assertMatch } from "@std/assert";
import { runTercet } from "../../services/cli/main.ts";
import { runWorker } from "../../services/cli/worker/run.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { EventReceiver } from "./event_receiver.ts";
import { createOwnerKey } from "./tenant_client.ts";

/** The output and the exit code of a command. */
interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The terminal of a user, and the workers that run beside it. */
class Terminal implements AsyncDisposable {
  readonly #url: string;
  readonly #key: string;
  readonly #stops: (() => Promise<unknown>)[] = [];
  /** Files that commands have made. */
  readonly #made: Record<string, string> = {};

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Runs a `tercet` command. */
  async tercet(...args: readonly string[]): Promise<Said> {
    return await this.tercetWith({}, ...args);
  }

  /**
   * Runs a `tercet` command with further environment variables, files and
   * standard input.
   */
  async tercetWith(
    given: {
      readonly variables?: Readonly<Record<string, string>>;
      readonly files?: Readonly<Record<string, string>>;
      readonly input?: string;
    },
    ...args: readonly string[]
  ): Promise<Said> {
    const said = { out: "", err: "" };
    const variables: Readonly<Record<string, string>> = {
      TASKS_URL: this.#url,
      TASKS_KEY: this.#key,
      ...given.variables,
    };
    const code = await runTercet(args, {
      out: (text) => void (said.out += `${text}\n`),
      err: (text) => void (said.err += `${text}\n`),
      readVariable: (name) => variables[name],
      readText: (path) => {
        const text = given.files?.[path] ?? this.#made[path];
        return text === undefined
          ? Promise.reject(new Deno.errors.NotFound("no such file"))
          : Promise.resolve(text);
      },
      writeSecret: (path, text) => {
        if (path.startsWith("gone/")) {
          return Promise.reject(new Deno.errors.NotFound("no such folder"));
        }
        this.#made[path] = text;
        return Promise.resolve();
      },
      readInput: () => Promise.resolve(given.input ?? ""),
    });
    return { code, ...said };
  }

  /** Starts `tercet-worker run` with a Deno script as its command. */
  async work(
    worker: string,
    { script, flags = [] }: {
      readonly script: string;
      readonly flags?: readonly string[];
    },
  ): Promise<{ readonly lines: string[]; stop(): Promise<number> }> {
    const made = await this.tercet("tasks", "workers", "create", worker);
    assertEquals(made.code, 0, made.err);
    const credential = await this.tercet(
      ...["tasks", "workers", "credential", worker, "--json"],
    );
    const { secret } = JSON.parse(credential.out);
    const lines: string[] = [];
    const listeners = new Map<string, () => void>();
    const running = runWorker([
      ...["--worker", worker, ...flags, "--"],
      ...[Deno.execPath(), "eval", "--no-config", script],
    ], {
      io: { out: (text) => lines.push(text), err: (text) => lines.push(text) },
      readVariable: (name) =>
        ({ TASKS_URL: this.#url, TASKS_KEY: secret })[name],
      readText: () => Promise.reject(new Error("no such file")),
      signals: {
        listen(signal, callback) {
          listeners.set(signal, callback);
          return () => listeners.delete(signal);
        },
      },
    });
    const stop = (): Promise<number> => {
      listeners.get("SIGTERM")?.();
      return running;
    };
    this.#stops.push(stop);
    return { lines, stop };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) await stop();
  }
}

/** Runs a test with the terminal of a new tenant. */
async function withTerminal(
  { service, domain }: {
    readonly service: TasksProcess;
    readonly domain: string;
  },
  use: (terminal: Terminal) => Promise<void>,
): Promise<void> {
  const url = new URL(`/t/${domain}`, service.url).href;
  await using terminal = new Terminal(
    url,
    await createOwnerKey(service, domain),
  );
  await use(terminal);
}

/**
 * A script that reads the task's data, prints it, and then does what the data
 * says.
 */
const SCRIPT = `
const data = JSON.parse(await new Response(Deno.stdin.readable).text());
console.error("got", JSON.stringify(data), "key", Deno.env.get("TASKS_KEY"));
if (data.exit) Deno.exit(data.exit);
if (data.text) console.log(data.text);
else console.log(JSON.stringify({
  data,
  job: Deno.env.get("TASK_JOB"),
  fence: Deno.env.get("TASK_FENCE"),
}));
`;

Deno.test("tercet works with the service", { timeout: 240_000 }, async (t) => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({
    dataDir: folder.path,
    env: { DEV_TENANT_FALLBACK: "true" },
  });
  const steps = {
    "tercet tasks create --wait writes the result of a command that tercet-worker ran":
      waitsForResult,
    "tercet tasks lists, cancels and retries tasks, by their ids and by a filter":
      changesTasks,
    "tercet tasks pauses, resumes and runs tasks, and tells what is used":
      holdsTasks,
    "tercet tasks event and approve speak to tasks that wait": signalsTasks,
    "tercet tasks workers makes a worker and a credential once": makesOnce,
    "tercet tasks keys makes a key that works, and removes it": makesKeys,
    "tercet tasks webhooks has events sent, and shows what was sent":
      tellsWebhooks,
    "tercet tasks alerts makes, tests and removes alerts": makesAlerts,
    "tercet tasks calendars puts and removes calendars that schedules leave out":
      leavesOutDays,
    "tercet tasks create takes data from a file and from standard input":
      takesData,
    "tercet-worker ends a command whose task is canceled, and stops when it is told to":
      endsCanceled,
    "tercet-worker leaves no command behind that does not end when it is told to":
      leavesNoneBehind,
  };
  for (const [at, [name, use]] of Object.entries(steps).entries()) {
    await t.step(
      name,
      () => withTerminal({ service, domain: `tenant${at}` }, use),
    );
  }
});

async function tellsWebhooks(terminal: Terminal): Promise<void> {
  await using receiver = new EventReceiver();
  await receiver.start();
  const webhooks = async (...args: readonly string[]): Promise<string> => {
    const said = await terminal.tercet("tasks", "webhooks", ...args);
    assertEquals(said.code, 0, said.err);
    return said.out;
  };
  const made = await webhooks(
    ...["create", "--call-url", receiver.url, "--type", "task.created"],
  );
  const [, id = "", secret = ""] = made.match(/^(whk_\S+)\n(whsec_\S+)/) ?? [];
  receiver.secrets.push(secret);
  assertEquals(await webhooks("test", id), "delivered: 204\n");
  await terminal.tercet("tasks", "workers", "create", "mailer");
  await terminal.tercet("tasks", "create", "--worker", "mailer");
  await waitUntil(() => receiver.events.length === 2, { what: "an event" });
  assertEquals(receiver.events[1]?.signedBy, [0]);
  await waitUntil(
    async () => /delivered +1 +task.created/.test(await webhooks("deliveries")),
    { what: "the delivery" },
  );
  const listed = await webhooks("deliveries", "--webhook", id, "--json");
  const { id: delivery } = JSON.parse(listed);
  assertMatch(await webhooks("delivery", delivery), /delivered, sent 1 times/);
  await webhooks("redeliver", delivery);
  await waitUntil(() => receiver.events.length === 3, { what: "an event" });
  assertMatch(await webhooks("rotate", id), /^whsec_/);
  await webhooks("disable", id);
  assertMatch(await webhooks("list"), new RegExp(`${id} +disabled`));
  await webhooks("update", id, "--name", "hook", "--worker", "mailer");
  assertEquals(await webhooks("remove", id), `${id} removed\n`);
}

async function makesAlerts(terminal: Terminal): Promise<void> {
  await using receiver = new EventReceiver();
  await receiver.start();
  const alerts = (...args: readonly string[]): Promise<Said> =>
    terminal.tercet("tasks", "alerts", ...args);
  const made = await alerts(
    ...["create", "--call-url", receiver.url, "--count", "failed"],
    ...["--over", "10", "--within", "5m"],
  );
  const [, id = "", secret = ""] = made.out.match(/^(alr_\S+)\n(whsec_\S+)/) ??
    [];
  assertEquals(made.code, 0, made.err);
  receiver.secrets.push(secret);
  assertEquals((await alerts("test", id)).out, "delivered: 204\n");
  assertEquals(receiver.events[0]?.event.type, "alert.test");
  assertEquals(receiver.events[0]?.signedBy, [0]);
  const listed = await alerts("list");
  assertMatch(listed.out, /ok +more than 10 attempts failed within 5 minutes/);
  receiver.status = 500;
  assertEquals((await alerts("test", id)).code, 1);
  assertEquals((await alerts("remove", id)).out, `${id} removed\n`);
}

async function waitsForResult(terminal: Terminal): Promise<void> {
  const { lines } = await terminal.work("shout", {
    script: SCRIPT,
    flags: ["--concurrency", "2", "--history"],
  });
  const create = (data: unknown, ...more: readonly string[]) =>
    terminal.tercet(
      ...["tasks", "create", "--worker", "shout", "--wait"],
      ...["--data", JSON.stringify(data), ...more],
    );
  const done = await create({ to: "Ada" }, "--job", "greet");
  assertEquals(done.code, 0, done.err);
  assertEquals(
    done.out,
    'succeeded: {"data":{"to":"Ada"},"job":"greet","fence":"1"}\n',
  );
  assertEquals(
    (await create({ text: "hello" })).out,
    'succeeded: "hello\\n"\n',
  );
  const failed = await create({ exit: 3 }, "--retries", "0");
  assertEquals(failed.code, 3);
  assertMatch(failed.out, /^failed: exit_3: got \{"exit":3\} key\n$/);
  const final = await create(
    { exit: 100 },
    ...["--retries", "5", "--json", "--retain-failed", "48h"],
  );
  assertEquals(final.code, 3);
  const { id, executions, retain } = JSON.parse(final.out);
  assertEquals([executions, retain], [1, { failed: "PT48H" }]);

  const shown = await terminal.tercet("tasks", "show", id);
  assertMatch(shown.out, /status +failed\n/);
  assertMatch(shown.out, /outcome +failed: exit_100: /);
  assertMatch(shown.out, /kept until +2/);
  const tail = await terminal.tercet("tasks", "tail", id);
  assertEquals(tail.code, 3);
  assertMatch(tail.out, /run 0 {2}log {2}got \{"exit":100\}/);
  assertMatch(tail.out, /exhausted|failed/);
  assert(lines.some((line) => line.includes("is done")), lines.join("\n"));
}

async function changesTasks(terminal: Terminal): Promise<void> {
  await terminal.tercet("tasks", "workers", "create", "later");
  const ids: string[] = [];
  for (const tag of ["a", "b", "b"]) {
    const { out } = await terminal.tercet(
      ...["tasks", "create", "--worker", "later", "--delay", "1h"],
      ...["--tag", tag, "--json"],
    );
    ids.push(JSON.parse(out).id);
  }
  const list = await terminal.tercet("tasks", "list", "--tag", "b");
  assertEquals(list.out.trim().split("\n").length, 3);
  assertMatch(list.out, /^ID +STATUS +WORKER/);
  const json = await terminal.tercet(
    ...["tasks", "list", "--json", "--limit", "2"],
  );
  assertEquals(json.out.trim().split("\n").length, 2);

  const [first = ""] = ids;
  const canceled = await terminal.tercet(
    ...["tasks", "cancel", first, "tsk_unknown", "--reason", "not needed"],
  );
  assertEquals([canceled.code, canceled.out], [1, `${first} canceled\n`]);
  assertMatch(canceled.err, /^tsk_unknown: Cannot find task/);
  const dry = await terminal.tercet("tasks", "cancel", "--tag", "b");
  assertMatch(dry.out, /^2 of 2 tasks would be changed; say --yes/);
  const all = await terminal.tercet("tasks", "cancel", "--tag", "b", "--yes");
  assertEquals([all.code, all.out], [0, "2 of 2 tasks changed\n"]);
  const retried = await terminal.tercet("tasks", "retry", first);
  assertEquals(retried.out, `${first} waiting\n`);
  const past = await terminal.tercet("tasks", "tail", first, "--past");
  assertEquals(past.code, 0);
  assertMatch(past.out, /canceled {2}not needed\n[^]*requeued|retr/);
  const workers = await terminal.tercet("tasks", "workers", "list");
  assertMatch(workers.out, /later +pull/);
}

async function signalsTasks(terminal: Terminal): Promise<void> {
  const tasks = (...args: readonly string[]) =>
    terminal.tercet("tasks", ...args);
  await tasks("workers", "create", "later");
  const made = await tasks(
    ...["create", "--worker", "later", "--delay", "1h", "--json"],
  );
  const { id } = JSON.parse(made.out);
  const sent = await tasks("event", id, "paid", "--data", '{"amount":17}');
  assertEquals([sent.code, sent.out], [0, `${id} scheduled\n`]);
  const wrong = await tasks("event", id, "paid", "--data", "{amount}");
  assertEquals(wrong.code, 2);
  const early = await tasks("approve", id, "--comment", "Yes");
  assertEquals(early.code, 1);
  assertMatch(early.err, /Cannot approve: the task waits for no approval/);
  const none = await tasks("list", "--waiting", "approval");
  assertEquals([none.code, none.err], [0, "No tasks.\n"]);
  await tasks("cancel", id);
  const ended = await tasks("event", id, "paid");
  assertEquals(ended.code, 1);
  assertMatch(ended.err, /Cannot send the event: the task is "canceled"/);
}

async function holdsTasks(terminal: Terminal): Promise<void> {
  const tasks = (...args: readonly string[]) =>
    terminal.tercet("tasks", ...args);
  await tasks("workers", "create", "later");
  const made = await tasks(
    ...["create", "--worker", "later", "--delay", "1h", "--json"],
  );
  const { id } = JSON.parse(made.out);
  assertEquals((await tasks("pause", id)).out, `${id} paused\n`);
  const resumed = await tasks("resume", "--status", "paused", "--yes");
  assertEquals(resumed.out, "1 of 1 tasks changed\n");
  assertEquals((await tasks("run", id)).out, `${id} waiting\n`);
  const unfit = await tasks("run", "--worker", "later", "--yes");
  assertEquals(unfit.code, 2);
  assertMatch(unfit.err, /^Cannot run tasks by a filter: give ids/);
  const overview = await tasks("overview");
  assertMatch(overview.out, /^\d+ waiting, \d+ running/);
  assertMatch(overview.out, /\n\nWORKER +JOB +WAITING/);
  const { counts } = JSON.parse((await tasks("overview", "--json")).out);
  assertEquals(typeof counts.waiting, "number");
  const usage = await tasks("usage");
  assertMatch(usage.out, /^plan \w+, executions of \d{4}-\d{2}\n\nWHAT +USED/);
  assertMatch(usage.out, /\nactive tasks +1 +/);
  const { use } = JSON.parse((await tasks("usage", "--json")).out);
  assertEquals(use.workers.used, 1);
}

async function makesOnce(terminal: Terminal): Promise<void> {
  const workers = (...args: readonly string[]) =>
    terminal.tercet("tasks", "workers", ...args, "--json");
  const first = JSON.parse((await workers("create", "mailer")).out);
  assertEquals((await workers("create", "mailer")).code, 1);
  const again = await workers("create", "mailer", "--if-missing");
  assertEquals(JSON.parse(again.out).id, first.id);
  for (let times = 0; times < 2; times++) {
    const kept = await workers("credential", "mailer", "--file", "wk.txt");
    assertEquals([kept.code, kept.out], [0, '{"file":"wk.txt"}\n']);
  }
  const asked = await terminal.tercet(
    ...["tasks", "list", "--key-file", "wk.txt"],
  );
  assertMatch(asked.err, /tasks:read/, "it is the credential of a worker");
  const failed = await workers("credential", "mailer", "--file", "gone/a");
  assertEquals([failed.code, failed.err], [
    1,
    'Cannot keep the credential in "gone/a": no such folder\n',
  ]);
}

async function makesKeys(terminal: Terminal): Promise<void> {
  const made = await terminal.tercet(
    ...["tasks", "keys", "create", "--name", "ci", "--role", "viewer"],
    "--json",
  );
  const { id, key } = JSON.parse(made.out);
  const files = { "key.txt": `${key}\n` };
  const withKey = ["--key-file", "key.txt"];
  const list = await terminal.tercetWith(
    { files },
    ...["tasks", "list", ...withKey],
  );
  assertEquals([list.code, list.err], [0, "No tasks.\n"]);
  const refused = await terminal.tercetWith(
    { files },
    ...["tasks", "create", "--worker", "x", ...withKey],
  );
  assertEquals(refused.code, 1);
  assertMatch(refused.err, /tasks:write/);
  assertMatch(
    (await terminal.tercet("tasks", "keys", "list")).out,
    /ci +viewer/,
  );
  const removed = await terminal.tercet("tasks", "keys", "remove", id);
  assertEquals(removed.out, `${id} removed\n`);
  const after = await terminal.tercetWith(
    { files },
    ...["tasks", "list", ...withKey],
  );
  assertEquals(after.code, 1);
}

async function leavesOutDays(terminal: Terminal): Promise<void> {
  await terminal.tercet("tasks", "workers", "create", "later");
  const ical = [
    "BEGIN:VCALENDAR",
    "BEGIN:VEVENT",
    "DTSTART;VALUE=DATE:20300102",
    "END:VEVENT",
    "END:VCALENDAR",
  ].join("\n");
  const put = await terminal.tercetWith(
    { files: { "holidays.ics": ical } },
    ...["tasks", "calendars", "put", "holidays", "holidays.ics"],
  );
  assertEquals(
    put.out,
    "holidays: 1 events, 1 spans of time; 0 tasks have another date\n",
  );
  const create = ["tasks", "create", "--worker", "later"];
  const made = await terminal.tercet(
    ...[...create, "--date", "2030-01-01T00:00:00Z", "--json"],
    ...["--cron", "0 0 9 ? * 2-6", "--calendar", "holidays"],
    ...["--exclude", "2030-01-01"],
  );
  assertEquals(JSON.parse(made.out).date, "2030-01-03T09:00:00.000Z");
  assertMatch(made.err, /warning: .*"dialect": "quartz"/);
  const quartz = await terminal.tercet(
    ...[...create, "--date", "2030-01-01T00:00:00Z", "--json"],
    ...["--cron", "0 0 9 ? * 2-6", "--dialect", "quartz", "--every", "1d"],
  );
  assertEquals(quartz.code, 2);
  const inUse = await terminal.tercet(
    "tasks",
    "calendars",
    "remove",
    "holidays",
  );
  assertEquals(inUse.code, 1);
  assertMatch(inUse.err, /live tasks name it/);
  const none = ical.replace(/BEGIN:VEVENT[^]*END:VEVENT\n/, "");
  const replaced = await terminal.tercetWith(
    { input: none },
    ...["tasks", "calendars", "put", "holidays", "-", "--json"],
  );
  assertEquals(JSON.parse(replaced.out).tasks_moved, 1);
  const shown = await terminal.tercet("tasks", "calendars", "show", "holidays");
  assertEquals(shown.out, `${none}\n`);
  const list = await terminal.tercet("tasks", "calendars", "list");
  assertMatch(list.out, /^NAME +EVENTS +SPANS +UPDATED\nholidays +0 +0 /);
  await terminal.tercet("tasks", "cancel", JSON.parse(made.out).id);
  const removed = await terminal.tercet(
    "tasks",
    "calendars",
    "remove",
    "holidays",
  );
  assertEquals(removed.out, "holidays removed\n");
}

async function takesData(terminal: Terminal): Promise<void> {
  await terminal.tercet("tasks", "workers", "create", "later");
  const given = {
    files: { "data.json": '{"from": "a file"}' },
    input: "[7]",
  };
  for (
    const [data, expected] of [
      ["@data.json", { from: "a file" }],
      ["@-", [7]],
      ['"text"', "text"],
    ] as const
  ) {
    const { out, err } = await terminal.tercetWith(
      given,
      ...["tasks", "create", "--worker", "later", "--delay", "1h", "--json"],
      ...["--data", data],
    );
    assertEquals(JSON.parse(out).data, expected, err);
  }
}

async function endsCanceled(terminal: Terminal): Promise<void> {
  const { lines, stop } = await terminal.work("slow", {
    script: `
      Deno.addSignalListener("SIGTERM", () => {
        console.error("told to end");
        Deno.exit(0);
      });
      console.error("begun");
      setInterval(() => {}, 1_000);`,
    flags: ["--lease", "5s"],
  });
  const { out } = await terminal.tercet(
    ...["tasks", "create", "--worker", "slow", "--json"],
  );
  const { id } = JSON.parse(out);
  await waitUntil(() => lines.some((line) => line.endsWith("| begun")), {
    what: "the command has begun",
  });
  await terminal.tercet("tasks", "cancel", id);
  await waitUntil(
    () => lines.some((line) => line.endsWith("| told to end")),
    { what: "the command was told" },
  );
  assertEquals(await stop(), 0);
}

async function leavesNoneBehind(terminal: Terminal): Promise<void> {
  const { lines, stop } = await terminal.work("stubborn", {
    script: `
      Deno.addSignalListener("SIGTERM", () => {});
      console.error("begun");
      setInterval(() => {}, 1_000);`,
    flags: ["--grace", "1ms"],
  });
  const { out } = await terminal.tercet(
    ...["tasks", "create", "--worker", "stubborn", "--json"],
  );
  const { id } = JSON.parse(out);
  await waitUntil(() => lines.some((line) => line.endsWith("| begun")), {
    what: "the command has begun",
  });
  assertEquals(await stop(), 0);
  // The line follows the end of the command.
  assert(
    lines.some((line) => line.startsWith(`${id} default has failed`)),
    lines.join("\n"),
  );
  const shown = await terminal.tercet("tasks", "show", id, "--json");
  const { status, executions } = JSON.parse(shown.out);
  assertEquals([status, executions], ["waiting", 0]);
}

Deno.test("tercet tasks tells what is wrong before it asks a service", async () => {
  const terminal = new Terminal("http://127.0.0.1:9", "dk_1");
  const create = ["tasks", "create", "--worker", "x"];
  for (
    const [variables, args, code, message] of [
      [{ TASKS_URL: "" }, create, 2, /set TASKS_URL or use --url/],
      [{ TASKS_KEY: "" }, create, 2, /set TASKS_KEY or use --key-file/],
      [{ TASKS_URL: "x" }, create, 2, /url is "x", not an address/],
      [{}, [...create, "--data", "text"], 2, /it is not JSON/],
      [{}, [...create, "--data", "@gone"], 2, /no such file/],
      [{}, [...create, "--cron", "* * * * *", "--every", "1m"], 2, /both/],
      [{}, ["tasks", "create"], 2, /--worker is missing/],
      [{}, ["tasks", "cancel"], 2, /give ids or a filter/],
      [{}, ["tasks", "cancel", "a", "--tag", "b"], 2, /give ids or/],
      [{}, ["tasks", "retry", "a", "--reason", "b"], 2, /only cancel has/],
      [{}, ["tasks", "run"], 2, /give ids/],
      [{}, ["tasks", "cancel", "a", "--leave-dependents"], 2, /needs retry/],
      [
        {},
        ["tasks", "create", "--worker", "w", "--max-wait", "1s"],
        2,
        /debounce/,
      ],
      [{}, ["tasks", "keys", "rotate"], 2, /the id is missing/],
      [{}, ["tasks", "keys", "lst"], 2, /there is no such command/],
      [{}, ["tasks", "calendars", "put", "x"], 2, /takes 2 arguments/],
      [{}, ["tasks", "webhooks", "create"], 2, /--call-url is missing/],
      [{}, ["tasks", "alerts", "create"], 2, /--call-url is missing/],
      [
        {},
        ["tasks", "alerts", "create", "--call-url", "x"],
        2,
        /--count or --nothing is missing/,
      ],
      [{}, ["tasks", "webhooks", "test"], 2, /the id is missing/],
      [{}, ["tasks", "webhooks", "lst"], 2, /there is no such command/],
      [{}, ["tasks", "calendars", "x"], 2, /there is no such command/],
      [{}, ["tasks", "calendars", "put", "x", "gone"], 2, /no such file/],
      [{}, [...create, "--dialect", "quartz"], 2, /give --cron or --every/],
      [{}, [...create, "--delay", "5000"], 2, /1h30m/],
      [{}, ["tasks", "workers", "create"], 2, /the name is missing/],
      [{}, [...create, "--key-file", "gone"], 1, /Cannot read key file "gone"/],
    ] as const
  ) {
    const said = await terminal.tercetWith({ variables }, ...args);
    assertEquals(said.code, code, said.err);
    assertMatch(said.err, message);
  }
});
