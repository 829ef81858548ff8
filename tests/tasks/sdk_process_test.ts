import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type LeasedTask,
  type Task,
  TaskFailure,
  TasksClient,
  TasksError,
  verifyWebhook,
  waitFor,
  type WebhookVerdict,
  WorkEnded,
  Worker,
  type WorkerOptions,
} from "../../sdk/tasks.ts";
import { runSteps } from "../support/data_service_process.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { createOwnerKey } from "./tenant_client.ts";

/** A tenant with a client and a way to make workers. */
interface Tenant {
  readonly tasks: TasksClient;
  /** Creates a worker and an SDK worker that takes its tasks. */
  readonly worker: (
    name: string,
    options: Pick<WorkerOptions, "handlers"> & Partial<WorkerOptions>,
  ) => Promise<Worker>;
}

async function makeTenant(
  service: TasksProcess,
  domain: string,
): Promise<Tenant> {
  // Names the tenant in the path, since not every resolver resolves names below
  // localhost.
  const connection = { url: new URL(`/t/${domain}`, service.url).href };
  const tasks = new TasksClient({
    ...connection,
    key: await createOwnerKey(service, domain),
  });
  return {
    tasks,
    async worker(name, options) {
      await tasks.workers.ensure({ name, concurrency: 0 });
      const { secret } = await tasks.workers.createCredential(name);
      return new Worker({
        ...connection,
        key: secret!,
        worker: name,
        onError: () => {},
        ...options,
      });
    },
  };
}

function ended(tasks: TasksClient, id: string): Promise<Task> {
  return tasks.wait(id, { timeoutMs: 60_000 });
}

Deno.test("the SDK works with the service", { timeout: 240_000 }, async (t) => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({
    dataDir: folder.path,
    env: { DEV_TENANT_FALLBACK: "true" },
  });
  // Each step has a tenant of its own.
  await runSteps(t, service, {
    "the SDK makes tasks, does them, and shows how they went": doesTasks,
    "the SDK makes a thing once, pages through many, and acts on them":
      pagesThroughMany,
    "a flow goes in one batch, and its tasks get what others returned":
      doesFlow,
    "tasks wait for events and people without a worker": waitsForOthers,
    "runs of a key are spaced and follow each other": spacesRuns,
    "a Worker reports all results though the service takes no result as deep as one of them":
      reportsAll,
    "a Worker ends the work of a task that is canceled, and does the next one":
      endsCanceled,
    "a Worker keeps its lease while it works longer than that": keepsLease,
    "a Worker that stops waits for its tasks, and gives back what takes too long":
      givesBack,
    "a Worker ends when its credential is refused, and says so": endsRefused,
    "Workers of two versions do the jobs that each of them knows": doesOwnJobs,
    "verifyWebhook() takes the calls of the service and no others":
      verifiesCalls,
  });
});

async function waitsForOthers(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "waits");
  await using waiting = await worker("shop", {
    handlers: {
      order: (task, { resumed, state }) => {
        if (resumed === undefined) {
          return waitFor({ event: "paid", state: { order: task.data } });
        }
        if (resumed.kind === "event") {
          const { amount } = resumed.data as { amount: number };
          const { order } = state as { order: number };
          return waitFor({
            approval: { by: "owner" },
            message: `Ship order ${order}?`,
            state: { order, amount },
          });
        }
        return { ...state as object, by: resumed };
      },
      late: (_task, { resumed }) =>
        resumed === undefined
          ? waitFor({ event: "never", timeoutMs: 1_000 })
          : { isLate: resumed.timed_out },
    },
  });
  waiting.start();
  const { id } = await tasks.create({ worker: "shop", job: "order", data: 7 });
  const late = await tasks.create({ worker: "shop", job: "late" });
  const waits = async (kind: "event" | "approval") =>
    (await tasks.list({ waiting: kind }).take(9)).map(({ id }) => id);
  await waitUntil(async () => (await waits("event")).includes(id), {
    what: "the wait for an event",
  });
  await tasks.sendEvent(id, { name: "paid", data: { amount: 17 } }, {
    idempotencyKey: "payment-1",
  });
  await waitUntil(async () => (await waits("approval")).includes(id), {
    what: "the wait for an approval",
  });
  const { hindrances } = await tasks.explain(id);
  assertEquals(
    hindrances[0]?.message,
    'It waits for the approval of an owner ("Ship order 7?")',
  );
  assertEquals((await tasks.overview()).approvals, 1);
  await assertRejects(
    () => tasks.approve(id, { ifVersion: 1 }),
    TasksError,
    "the version has changed",
  );
  await tasks.approve(id, { comment: "Ship it" });
  const { status, result, executions } = await ended(tasks, id);
  assertEquals([status, executions], ["complete", 1]);
  const { by, ...rest } = result as { by: Record<string, unknown> };
  assertEquals(rest, { order: 7, amount: 17 } as object);
  assertEquals([by["kind"], by["approved"], by["comment"]], [
    ...["approval", true, "Ship it"],
  ]);
  assertEquals((await ended(tasks, late.id)).result, { isLate: true });
  await assertRejects(
    () => tasks.sendEvent(id, { name: "paid" }),
    TasksError,
    'Cannot send the event: the task is "complete"',
  );
}

async function doesFlow(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "flows");
  let fails = true;
  await using etl = await worker("etl", {
    handlers: {
      load: () => {
        if (fails) throw new Error("no data yet");
        return { rows: [1, 2] };
      },
      sum: (_task, { dependencies }) =>
        dependencies.map(({ status, result }) => [status, result]),
    },
  });
  etl.start();
  const outcomes = await tasks.createBatch([
    { worker: "etl", job: "sum", dependencies: ["load"] },
    { worker: "etl", job: "load", ref: "load", retry: null },
  ], { isAtomic: true });
  const [sum = "", load = ""] = outcomes.map((one) =>
    one.kind === "task" ? one.task.id : ""
  );
  assertEquals((await ended(tasks, sum)).error?.dependency, load);
  const left = await tasks.retry(load, { revivesDependents: false });
  assertEquals(left.revived_dependents, undefined);
  await ended(tasks, load);
  fails = false;
  const retried = await tasks.retry(load);
  assertEquals(retried.revived_dependents?.ids, [sum]);
  assertEquals((await ended(tasks, sum)).result, [["complete", {
    rows: [1, 2],
  }]]);
}

async function spacesRuns(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "keys");
  const begun = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const done: unknown[] = [];
  await using mailer = await worker("mailer", {
    handlers: async ({ data }) => {
      begun.resolve();
      await asked.promise;
      done.push(data);
    },
  });
  mailer.start();
  const task = { worker: "mailer", key: "k" };
  const { id } = await tasks.create({ ...task, data: 0 });
  await begun.promise;
  for (const data of [1, 2]) {
    const asking = { ...task, data, on_conflict: "run_after" } as const;
    assertEquals((await tasks.create(asking)).id, id);
  }
  asked.resolve();
  await ended(tasks, id);
  assertEquals(done, [0, 2]);
  const throttle = { window: "PT1H" };
  const spaced = { ...task, key: "t", throttle };
  const first = await tasks.create({ ...spaced, data: 3 });
  await ended(tasks, first.id);
  const [second, third] = [
    await tasks.create({ ...spaced, data: 4 }),
    await tasks.create({ ...spaced, data: 5 }),
  ];
  assertEquals(second.id, third.id);
  const spacingMs = Date.parse(third.date) - Date.parse(first.date);
  assertEquals([spacingMs, third.data], [3_600_000, 5]);
}

async function doesTasks(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "tenant0");
  const seen: LeasedTask[] = [];
  await using mailer = await worker("mailer", {
    handlers: {
      greet: (task, { fence, progress, log }) => {
        seen.push(task);
        progress({ percent: 50 });
        log("half of it", "all of it");
        return { greeted: task.data, fence };
      },
      refuse: () => {
        throw new TaskFailure("no such card", {
          code: "card_refused",
          detail: { card: 7 },
          isFinal: true,
        });
      },
    },
  });
  mailer.start();
  const task = await tasks.create({
    worker: "mailer",
    job: "greet",
    data: "Ada",
    metadata: { order: "17" },
    tags: ["b", "c"],
  });
  const refused = await tasks.create({
    worker: "mailer",
    job: "refuse",
    retry: { limit: 5 },
  });
  const done = await ended(tasks, task.id);
  assertEquals(done.status, "complete");
  assertEquals(done.result, { greeted: "Ada", fence: 1 });
  assertEquals(seen.map(({ job, metadata }) => [job, metadata]), [
    ["greet", { order: "17" }],
  ]);
  const { error, executions } = await ended(tasks, refused.id);
  assertEquals([error?.code, error?.detail, executions], [
    "card_refused",
    { card: 7 },
    1,
  ]);

  const lists = tasks.list({
    worker: ["mailer"],
    tag: ["b", "c"],
    metadata: { order: "17" },
    fields: ["id", "status"],
  });
  assertEquals(await lists.take(9), [{ id: task.id, status: "complete" }]);
  const messages: (string | undefined)[] = [];
  for await (const record of tasks.history(task.id, { type: "log" })) {
    messages.push(record.message);
  }
  assertEquals(messages, ["half of it\nall of it"]);
  const attempts = await tasks.attempts(task.id).take(9);
  assertEquals(attempts.length, 1);
  assertEquals((await tasks.me()).tenant.domain, "tenant0");
}

async function pagesThroughMany(service: TasksProcess): Promise<void> {
  const { tasks } = await makeTenant(service, "tenant1");
  await tasks.workers.create({ name: "later" });
  const task = { worker: "later", delay: { hours: 1 } };
  const first = await tasks.create(task, { idempotencyKey: "order-1" });
  const second = await tasks.create(task, { idempotencyKey: "order-1" });
  assertEquals(second.id, first.id);
  const made = await tasks.createBatch([
    ...Array.from({ length: 24 }, () => task),
    { worker: "nobody" },
  ]);
  assertEquals(made.filter(({ kind }) => kind === "task").length, 24);
  const last = made.at(-1);
  assertEquals(last?.kind === "refused" && last.problem.code, "unknown_worker");

  const ids: (string | undefined)[] = [];
  let pages = 0;
  for await (const page of tasks.list({ limit: 10 }).pages()) {
    pages++;
    for (const { id } of page.data) ids.push(id);
  }
  assertEquals([pages, new Set(ids).size], [3, 25]);

  const paused = await tasks.pause(first.id);
  assertEquals(paused.status, "paused");
  await assertRejects(
    () => tasks.cancel(first.id, { ifVersion: paused.version - 1 }),
    TasksError,
    "",
  );
  const resumed = await tasks.resume(first.id, { ifVersion: paused.version });
  assertEquals(resumed.status, "scheduled");
  const changed = await tasks.patch(first.id, { priority: 3 });
  assertEquals(changed.priority, 3);
  assertEquals((await tasks.run(first.id)).status, "waiting");
  const { hindrances } = await tasks.explain(first.id);
  assert(hindrances.length > 0);
  const canceled = await tasks.cancel(first.id, { reason: "withdrawn" });
  assertEquals(canceled.status, "canceled");
  assertEquals((await tasks.retry(first.id)).status, "waiting");
  const outcome = await tasks.apply({
    action: "cancel",
    filter: { worker: "later" },
  });
  const final = "id" in outcome ? await tasks.finished(outcome) : outcome;
  assertEquals(final.changed, 25);
  await tasks.remove(first.id);
  const error = await assertRejects(() => tasks.get(first.id), TasksError);
  assertEquals([error.code, error.status], ["not_found", 404]);
  const preview = await tasks.previewSchedule({
    repeat: { cron: "0 7 * * *" },
    timezone: "Europe/Vienna",
    count: 2,
  });
  assertEquals(preview.data.length, 2);

  const ical = "BEGIN:VCALENDAR\nEND:VCALENDAR";
  const { version } = await tasks.calendars.put("free", ical);
  assertEquals((await tasks.calendars.get("free")).ical, ical);
  const calendars = await tasks.calendars.list().take(9);
  assertEquals(calendars.map(({ name }) => name), ["free"]);
  await assertRejects(
    () => tasks.calendars.put("free", ical, { ifVersion: version + 1 }),
    TasksError,
  );
  await tasks.calendars.remove("free", { ifVersion: version });

  const key = await tasks.keys.create({ name: "ci", role: "viewer" });
  const rotated = await tasks.keys.rotate(key.id, { overlap: "60s" });
  const keys = await tasks.keys.list().take(9);
  assert(keys.some(({ id }) => id === rotated.id));
  await tasks.keys.remove(rotated.id);
}

async function reportsAll(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "tenant2");
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  await using deep = await worker("deep", {
    handlers: async ({ data }) => {
      if (++begun === 8) gate.resolve();
      await gate.promise;
      let value: unknown = data;
      for (let at = 0; data === 3 && at < 100; at++) value = [value];
      return { value };
    },
  });
  const outcomes = await tasks.createBatch(
    Array.from({ length: 8 }, (_, at) => ({ worker: "deep", data: at })),
  );
  deep.start();
  const results: unknown[] = [];
  for (const outcome of outcomes) {
    assert(outcome.kind === "task");
    const { status, result } = await ended(tasks, outcome.task.id);
    assertEquals(status, "complete");
    results.push(result);
  }
  assertEquals(
    results,
    Array.from({ length: 8 }, (_, at) => at === 3 ? null : { value: at }),
  );
}

async function endsCanceled(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "tenant3");
  const reasons: unknown[] = [];
  let begun = 0;
  await using slow = await worker("slow", {
    leaseMs: 5_000,
    concurrency: 1,
    handlers: async ({ data }, { signal }) => {
      begun++;
      if (data === "quick") return "done";
      await new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true })
      );
      return reasons.push(signal.reason);
    },
  });
  slow.start();
  const task = await tasks.create({ worker: "slow", data: "endless" });
  await waitUntil(() => begun === 1, { what: "the work has begun" });
  await tasks.cancel(task.id);
  const next = await tasks.create({ worker: "slow", data: "quick" });
  assertEquals((await ended(tasks, next.id)).result, "done");
  const [reason] = reasons;
  assert(reason instanceof WorkEnded);
  assertEquals(reason.cause, "canceled");
  assertEquals((await tasks.get(task.id)).status, "canceled");
}

async function keepsLease(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "tenant4");
  await using slow = await worker("slow", {
    leaseMs: 5_000,
    handlers: async () => {
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      return "kept";
    },
  });
  slow.start();
  const { id } = await tasks.create({ worker: "slow" });
  const { result, executions, lost } = await ended(tasks, id);
  assertEquals([result, executions, lost], ["kept", 1, 0]);
}

async function givesBack(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "tenant5");
  const began: unknown[] = [];
  const release = Promise.withResolvers<void>();
  const stopping = await worker("stopping", {
    handlers: async ({ data }, { signal }) => {
      began.push(data);
      if (data === "short") return await release.promise;
      await new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true })
      );
      signal.throwIfAborted();
    },
  });
  stopping.start();
  const short = await tasks.create({ worker: "stopping", data: "short" });
  const long = await tasks.create({ worker: "stopping", data: "long" });
  await waitUntil(() => began.length === 2, { what: "both have begun" });
  const stopped = stopping.stop({ graceMs: 500 });
  release.resolve();
  await stopped;
  await stopping.ended;
  assertEquals((await tasks.get(short.id)).status, "complete");
  const { status, executions, lost } = await tasks.get(long.id);
  assertEquals([status, executions, lost], ["waiting", 0, 0]);
}

async function endsRefused(service: TasksProcess): Promise<void> {
  const { worker } = await makeTenant(service, "tenant6");
  const told: Error[] = [];
  const refused = await worker("refused", {
    key: "wk_nothing",
    refusedForMs: 0,
    handlers: () => {},
    onError: (error) => void told.push(error),
  });
  refused.start();
  const error = await assertRejects(() => refused.ended, TasksError);
  assertEquals([error.status, told], [401, [error]]);
  await refused.stop();
}

async function doesOwnJobs(service: TasksProcess): Promise<void> {
  const { tasks, worker } = await makeTenant(service, "tenant8");
  const mail = (): string => "sent";
  await using old = await worker("mailer", { handlers: { mail } });
  old.start();
  const report = await tasks.create({ worker: "mailer", job: "report" });
  const sent = await tasks.create({ worker: "mailer", job: "mail" });
  assertEquals((await ended(tasks, sent.id)).result, "sent");
  const [hindrance] = (await tasks.explain(report.id)).hindrances;
  assertEquals(hindrance?.code, "job_not_asked");
  await using young = await worker("mailer", {
    handlers: { mail, report: () => "written" },
  });
  young.start();
  const { result, executions, retries } = await ended(tasks, report.id);
  assertEquals([result, executions, retries], ["written", 1, 0]);
}

async function verifiesCalls(service: TasksProcess): Promise<void> {
  const { tasks } = await makeTenant(service, "tenant7");
  const verdicts: WebhookVerdict[] = [];
  let secrets: readonly string[] = [];
  await using receiver = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    const [first, second, third] = [
      request.clone(),
      request.clone(),
      new Request(request, {
        body: (await request.clone().text()).replace("Ada", "Eve"),
      }),
    ];
    const [secret] = secrets;
    verdicts.push(
      await verifyWebhook(first, secrets),
      await verifyWebhook(second, `whsec_${btoa("x".repeat(32))}`),
      await verifyWebhook(third, secret!),
    );
    return Response.json("ok");
  });
  const url = `http://127.0.0.1:${receiver.addr.port}/`;
  for (const asymmetric of [false, true]) {
    verdicts.length = 0;
    const name = asymmetric ? "asymmetric" : "symmetric";
    const made = await tasks.workers.create({ name, url, asymmetric });
    secrets = [asymmetric ? made.public_key! : made.signing_secret!];
    const task = await tasks.create({ worker: name, data: "Ada" });
    assertEquals((await ended(tasks, task.id)).result, "ok");
    const [valid, other, changed] = verdicts;
    assert(valid?.kind === "valid" && valid.call.type === "task.run", name);
    assertEquals(valid.call.data.task.id, task.id);
    assertEquals(valid.call.data.attempt.fence, 1);
    for (const verdict of [other, changed]) {
      assertEquals(verdict, { kind: "invalid", reason: "bad_signature" });
    }
  }
}
