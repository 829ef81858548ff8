import { assert, assertEquals } from "@std/assert";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { TasksClient } from "./tasks_client.ts";
import { createOwnerKey, getTarget, SERVICE_HOST } from "./tenant_client.ts";

const TASKS = 2_000;
const LIMIT = 1_900;
const KEY = { "idempotency-key": "all-of-them" };
const ACTION = {
  action: "pause",
  filter: { status: "active" },
  limit: LIMIT,
};

interface Result {
  readonly matched: number;
  readonly changed: number;
  readonly failed: number;
}

Deno.test("tasks that is killed between two portions of a bulk action does each task once", async () => {
  await using folder = await DataFolder.make();
  let service = await startTasks({ dataDir: folder.path });
  try {
    using client = new TasksClient({
      target: () => getTarget(service),
      host: `acme.${SERVICE_HOST}`,
      token: await createOwnerKey(service, "acme"),
    });
    await client.expect(201, ["POST", "/api/v1/workers", { name: "w" }]);
    for (let left = TASKS; left > 0; left -= 500) {
      await client.expect(200, ["POST", "/api/v1/tasks/batch", {
        tasks: Array.from({ length: 500 }, () => ({ worker: "w" })),
      }]);
    }
    const first = client.call("POST", "/api/v1/tasks/actions", {
      body: ACTION,
      headers: KEY,
    }).catch(() => undefined);
    await waitUntil(async () => await paused(client) > 0, {
      what: "the first portion",
      intervalMs: 1,
    });
    await service.kill();
    await first;
    client.forget();
    service = await startTasks({ dataDir: folder.path });
    let answer: Result | undefined;
    await waitUntil(async () => {
      const { status, json } = await client.call<Result>(
        "POST",
        "/api/v1/tasks/actions",
        { body: ACTION, headers: KEY },
      );
      if (status === 200) answer = json;
      return status === 200;
    }, { what: "the end of the action" });
    const { matched, changed, failed } = answer ?? {};
    assertEquals([matched, changed, failed], [LIMIT, LIMIT, 0]);
    assertEquals(await paused(client), LIMIT);
    assert(await isWrittenOnce(client), "a task was paused twice");
  } finally {
    await service.kill();
  }
});

async function paused(client: TasksClient): Promise<number> {
  const { count } = await client.expect<{ readonly count: number }>(200, [
    "GET",
    "/api/v1/tasks?status=paused&count=true&limit=1",
  ]);
  return count;
}

/** Returns whether no task was changed more than once. */
async function isWrittenOnce(client: TasksClient): Promise<boolean> {
  let path = "/api/v1/tasks?fields=version&limit=200";
  const first = path;
  while (true) {
    const { data, next } = await client.expect<
      {
        readonly data: readonly { readonly version: number }[];
        readonly next: string | null;
      }
    >(200, ["GET", path]);
    if (data.some(({ version }) => version > 2)) return false;
    if (next === null) return true;
    path = `${first}&cursor=${encodeURIComponent(next)}`;
  }
}
