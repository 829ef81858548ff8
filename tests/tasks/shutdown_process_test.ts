import { assertEquals } from "@std/assert";
import { startTasks } from "../support/tasks_process.ts";
import { DataFolder } from "./data_folder.ts";
import { PushReceiver } from "./push_receiver.ts";
import {
  type HistoryJson,
  type TaskJson,
  TasksClient,
} from "./tasks_client.ts";
import { createOwnerKey, getTarget, makeTenant } from "./tenant_client.ts";

Deno.test("tasks answers workers that wait when SIGTERM comes", async () => {
  await using folder = await DataFolder.make();
  // A long grace: a request that is not answered within it gets no response at
  // all.
  await using service = await startTasks({
    dataDir: folder.path,
    env: { SHUTDOWN_GRACE: "15s" },
  });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", { name: "waiter" }]);
  const waiting = Array.from(
    { length: 20 },
    () =>
      client.call<{ readonly leases: readonly unknown[] }>(
        "POST",
        "/api/v1/workers/waiter/lease",
        { body: { wait: "PT30S" } },
      ),
  );
  // Once this request is answered, the ones before it have been received.
  await client.expect(200, ["GET", "/api/v1/workers/waiter"]);
  assertEquals(await service.stop(), 0);
  for (const { status, json } of await Promise.all(waiting)) {
    assertEquals([status, json.leases], [200, []]);
  }
});

Deno.test("tasks is not ready after SIGTERM, and works until SHUTDOWN_DRAIN_DELAY is over", async () => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({
    dataDir: folder.path,
    env: { SHUTDOWN_DRAIN_DELAY: "3s" },
  });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", { name: "waiter" }]);
  const lease = () =>
    client.call<{ readonly leases: readonly unknown[] }>(
      "POST",
      "/api/v1/workers/waiter/lease",
      { body: { wait: "PT30S" } },
    );
  const waiting = lease();
  // Asked just before, so that the answer would be remembered.
  await client.expect(200, ["GET", "/readyz"]);
  service.signal("SIGTERM");
  await service.waitForLine("Service stopping");
  const { checks } = await client.expect<{
    readonly checks: { readonly instance?: unknown };
  }>(503, ["GET", "/readyz"]);
  assertEquals(checks.instance, { ready: false, detail: "it is stopping" });
  await client.expect(201, ["POST", "/api/v1/tasks", { worker: "waiter" }]);
  assertEquals((await waiting).json.leases.length, 1);
  const later = await lease();
  assertEquals([later.status, later.json.leases], [200, []]);
  assertEquals(await service.waitForExit(), 0);
});

Deno.test("tasks waits for push calls that end within the grace", async () => {
  await using folder = await DataFolder.make();
  const answering = Promise.withResolvers<void>();
  await using receiver = new PushReceiver(async () => {
    await answering.promise;
    return Response.json({ done: true });
  });
  const first = await startTasks({ dataDir: folder.path });
  let token: string;
  let id: string;
  try {
    token = await createOwnerKey(first, "acme");
    using client = createClient(() => getTarget(first), token);
    id = await pushTask(client, receiver.url);
    await receiver.waitForCalls(1);
    first.signal("SIGTERM");
    await first.waitForLine("Service stopping");
    answering.resolve();
    assertEquals(await first.waitForExit(), 0);
  } finally {
    answering.resolve();
    await first.kill();
  }
  await using second = await startTasks({ dataDir: folder.path });
  using client = createClient(() => getTarget(second), token);
  const task = await client.expect<TaskJson>(200, [
    "GET",
    `/api/v1/tasks/${id}`,
  ]);
  assertEquals([task.status, task.executions, task.result], [
    "complete",
    1,
    { done: true },
  ]);
  assertEquals(receiver.calls.length, 1);
});

Deno.test("tasks gives push calls back that outlast the grace, no attempt spent", async () => {
  await using folder = await DataFolder.make();
  const answering = Promise.withResolvers<void>();
  await using receiver = new PushReceiver(async (_, index) => {
    if (index === 0) await answering.promise;
    return Response.json({ index });
  });
  const first = await startTasks({
    dataDir: folder.path,
    env: { SHUTDOWN_GRACE: "1s" },
  });
  let token: string;
  let id: string;
  try {
    token = await createOwnerKey(first, "acme");
    using client = createClient(() => getTarget(first), token);
    id = await pushTask(client, receiver.url);
    await receiver.waitForCalls(1);
    assertEquals(await first.stop(), 0, first.stderr);
  } finally {
    answering.resolve();
    await first.kill();
  }
  await using second = await startTasks({ dataDir: folder.path });
  using client = createClient(() => getTarget(second), token);
  await receiver.waitForCalls(2);
  const task = await ended(client, id);
  assertEquals(
    [task.status, task.executions, task.retries, task.lost, task.result],
    ["complete", 1, 0, 0, { index: 1 }],
  );
  const { data } = await client.expect<
    { readonly data: readonly HistoryJson[] }
  >(
    200,
    ["GET", `/api/v1/tasks/${id}/history`],
  );
  assertEquals(data.map(({ type }) => type), [
    "created",
    "started",
    "released",
    "started",
    "succeeded",
    "completed",
  ]);
});

Deno.test("tasks ends with 0 when SIGTERM comes under load", async () => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({ dataDir: folder.path });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
  let created = 0;
  const statuses = new Set<number>();
  const load = Array.from({ length: 20 }, async () => {
    for (;;) {
      const answer = await client.call("POST", "/api/v1/tasks", {
        body: { worker: "mailer" },
      }).catch(() => undefined);
      // The request failed because the port is closed.
      if (answer === undefined) return;
      statuses.add(answer.status);
      created++;
    }
  });
  while (created < 200) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(await service.stop(), 0);
  await Promise.all(load);
  statuses.delete(503);
  assertEquals(statuses, new Set([201]));
});

function createClient(
  target: () => { readonly port: number },
  token: string,
): TasksClient {
  return new TasksClient({ target, host: "acme.tasks.test", token });
}

async function pushTask(client: TasksClient, url: string): Promise<string> {
  await client.expect(201, ["POST", "/api/v1/workers", { name: "hook", url }]);
  const { id } = await client.expect<TaskJson>(201, ["POST", "/api/v1/tasks", {
    worker: "hook",
  }]);
  return id;
}

async function ended(client: TasksClient, id: string): Promise<TaskJson> {
  for (;;) {
    const task = await client.expect<TaskJson>(200, [
      "GET",
      `/api/v1/tasks/${id}`,
    ]);
    if (task.finished_at !== null) return task;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
