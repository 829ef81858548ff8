import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  parseVerifyingKey,
  verifyWebhook,
} from "../../services/tasks/delivery/testing/verify_webhook.ts";
import { runSteps } from "../support/data_service_process.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { type PushCall, PushReceiver } from "./push_receiver.ts";
import type { TaskJson, TasksClient } from "./tasks_client.ts";
import { makeTenant } from "./tenant_client.ts";

interface MadeWorker {
  readonly signing_secret: string;
  readonly public_key: string;
}

Deno.test("tasks calls push workers", { timeout: 240_000 }, async (t) => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({ dataDir: folder.path });
  // Each step has a tenant of its own.
  await runSteps(t, service, {
    "tasks signs its push calls as Standard Webhooks has it": signsCalls,
    "tasks tries a push call again no sooner than Retry-After says": triesAgain,
    "tasks tries no push call again that says it is useless": triesNoMore,
    "tasks follows no redirect of a push worker": followsNoRedirect,
    "tasks lets a push worker that took a task finish it later":
      letsFinishLater,
  });
});

async function signsCalls(service: TasksProcess): Promise<void> {
  await using receiver = new PushReceiver(() => Response.json({ sent: true }));
  using client = await makeTenant(service, "tenant0");
  const worker = await client.expect<MadeWorker>(201, [
    "POST",
    "/api/v1/workers",
    {
      name: "hook",
      url: receiver.url,
      asymmetric: true,
      headers: { "x-kind": "test" },
    },
  ]);
  const task = await client.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
    worker: "hook",
    data: { greet: "wörld" },
  }]);
  const done = await ended(client, task.id);
  assertEquals([done.status, done.result], ["complete", { sent: true }]);
  const [call] = receiver.calls;
  if (call === undefined) throw new Error("Cannot go on: nothing was called");
  for (const text of [worker.signing_secret, worker.public_key]) {
    const key = parseVerifyingKey(text);
    if (key.kind !== "ok") throw new Error(text);
    const check = (body: string) =>
      verifyWebhook({ headers: call.headers, body }, {
        keys: [key.key],
        nowMs: Date.now(),
      });
    assertEquals(check(call.body), { kind: "ok" });
    assertEquals(check(`${call.body} `), {
      kind: "rejected",
      code: "no_match",
    });
  }
  assertEquals(call.headers["webhook-id"], `${task.id}.0`);
  assertEquals(call.headers["task-id"], task.id);
  assertEquals(call.headers["task-attempt"], "1");
  assertEquals(call.headers["x-kind"], "test");
  assertMatch(call.headers.traceparent ?? "", /^00-[0-9a-f]{32}-[0-9a-f]{16}-/);
}

async function triesAgain(service: TasksProcess): Promise<void> {
  await using receiver = new PushReceiver((_, index) =>
    index === 0
      ? new Response("busy", { status: 503, headers: { "retry-after": "2" } })
      : index === 1
      ? new Response("no luck", { status: 500 })
      : Response.json("third time")
  );
  using client = await makeTenant(service, "tenant1");
  await makeWorker(client, receiver);
  const task = await client.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
    worker: "hook",
    retry: { limit: 3, interval: "PT1S", jitter: "none" },
  }]);
  const done = await ended(client, task.id);
  assertEquals([done.status, done.executions, done.result], [
    "complete",
    3,
    "third time",
  ]);
  const [first, second, third] = receiver.calls as [
    PushCall,
    PushCall,
    PushCall,
  ];
  const [afterBusy, afterFailure] = [
    second.atMs - first.atMs,
    third.atMs - second.atMs,
  ];
  assert(afterBusy >= 2_000 && afterBusy < 4_000, `${afterBusy} ms`);
  assert(afterFailure >= 1_000 && afterFailure < 3_000, `${afterFailure} ms`);
  // All attempts of a run are the same message; they differ in the attempt's
  // id.
  assertEquals(
    receiver.calls.map(({ headers }) => headers["webhook-id"]),
    [`${task.id}.0`, `${task.id}.0`, `${task.id}.0`],
  );
  assertEquals(
    receiver.calls.map(({ headers }) => headers["task-attempt"]),
    ["1", "2", "3"],
  );
}

async function triesNoMore(service: TasksProcess): Promise<void> {
  const answers: readonly ResponseInit[] = [
    { status: 410 },
    { status: 501 },
    { status: 500, headers: { "task-retry": "no" } },
  ];
  await using receiver = new PushReceiver((_, index) =>
    new Response("never", answers[index] ?? { status: 200 })
  );
  using client = await makeTenant(service, "tenant2");
  await makeWorker(client, receiver);
  for (const _ of answers) {
    const { id } = await client.expect<TaskJson>(201, [
      "POST",
      "/api/v1/tasks",
      {
        worker: "hook",
      },
    ]);
    const done = await ended(client, id);
    assertEquals([done.status, done.executions], ["failed", 1]);
  }
  assertEquals(receiver.calls.length, answers.length);
}

async function followsNoRedirect(service: TasksProcess): Promise<void> {
  await using trap = new PushReceiver(() => new Response("trapped"));
  await using receiver = new PushReceiver(() =>
    Response.redirect(trap.url, 307)
  );
  using client = await makeTenant(service, "tenant3");
  await makeWorker(client, receiver);
  const { id } = await client.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
    worker: "hook",
    retry: null,
  }]);
  const done = await ended(client, id);
  assertEquals([done.status, done.error?.code], ["failed", "redirected"]);
  assertEquals(trap.calls.length, 0);
}

async function letsFinishLater(service: TasksProcess): Promise<void> {
  await using receiver = new PushReceiver(() =>
    new Response(null, { status: 202, headers: { "task-lease": "20" } })
  );
  using client = await makeTenant(service, "tenant4");
  await makeWorker(client, receiver);
  const { id } = await client.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
    worker: "hook",
  }]);
  await receiver.waitForCalls(1);
  const [call] = receiver.calls as [PushCall];
  const { attempt } = call.data;
  await waitUntil(
    async () => {
      const { data } = await client.expect<
        { readonly data: readonly { readonly type: string }[] }
      >(200, ["GET", `/api/v1/tasks/${id}/history`]);
      return data.some(({ type }) => type === "accepted");
    },
    { what: "the acceptance in the history" },
  );
  const say = (action: string, body: unknown, token = attempt.token) =>
    client.call<{ readonly status: string }>(
      "POST",
      `/api/v1/leases/${attempt.id}/${action}`,
      { body, token },
    );
  assertEquals((await say("heartbeat", { progress: 0.5 })).status, 200);
  assertEquals((await say("complete", {}, "lt_wrong")).status, 409);
  const complete = await say("complete", { result: { later: true } });
  assertEquals([complete.status, complete.json.status], [200, "complete"]);
  const done = await ended(client, id);
  assertEquals([done.status, done.result], ["complete", { later: true }]);
}

Deno.test("tasks calls nothing that is not public, however it is spelt", async () => {
  await using folder = await DataFolder.make();
  await using receiver = new PushReceiver(() => new Response("reached"));
  await using service = await startTasks({
    dataDir: folder.path,
    env: { PUSH_ALLOW: "", PUSH_ALLOW_HTTP: "true" },
  });
  using client = await makeTenant(service);
  const { port } = receiver;
  const hosts = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "0.0.0.0",
    "localhost",
    "LOCALHOST.",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "[fe80::1]",
    "[fd00::1]",
    "224.0.0.1",
    "①②⑦.0.0.1",
  ];
  for (const [index, host] of hosts.entries()) {
    const name = `hook-${index}`;
    const made = await client.call("POST", "/api/v1/workers", {
      body: { name, url: `http://${host}:${port}/run` },
    });
    // A URL whose host is obviously forbidden is refused at once, the others
    // when they are called.
    if (made.status === 422) continue;
    assertEquals(made.status, 201, host);
    const { id } = await client.expect<TaskJson>(201, [
      "POST",
      "/api/v1/tasks",
      {
        worker: name,
        retry: null,
      },
    ]);
    const done = await ended(client, id);
    assertEquals(done.status, "failed", host);
    assertEquals(done.result, null, host);
  }
  assertEquals(receiver.calls.length, 0);
});

async function makeWorker(
  client: TasksClient,
  { url }: PushReceiver,
): Promise<void> {
  await client.expect(201, ["POST", "/api/v1/workers", { name: "hook", url }]);
}

async function ended(client: TasksClient, id: string): Promise<TaskJson> {
  let task: TaskJson | undefined;
  await waitUntil(async () => {
    task = await client.expect<TaskJson>(200, ["GET", `/api/v1/tasks/${id}`]);
    return task.finished_at !== null;
  }, { what: `the end of ${id}` });
  if (task === undefined) throw new Error("Cannot go on: there is no task");
  return task;
}
