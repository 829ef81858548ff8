import { assert, assertEquals } from "@std/assert";
import { openTestApi, type TestApi } from "../testing/test_api.ts";
import type { TestAnswer } from "../testing/test_caller.ts";
import { keyRoutes } from "../keys/key_routes.ts";
import { openOperations } from "../tasks/bulk_routes.ts";
import { listFaults } from "../tasks/testing/tasks_api.ts";
import { taskRoutes } from "../tasks/task_routes.ts";
import { workerRoutes } from "../workers/worker_routes.ts";
import { eventsRoute } from "./events_route.ts";

function open(): Promise<TestApi> {
  return openTestApi({
    routes: (parts) => [
      eventsRoute(parts),
      ...taskRoutes(parts, { operations: openOperations(parts.engine) }),
      ...keyRoutes(parts),
      ...workerRoutes(parts),
    ],
  });
}

/** The types of the events that come, or what a stream says when it ends. */
async function read(
  api: TestApi,
  { status, stream }: TestAnswer,
): Promise<readonly string[]> {
  assertEquals(status, 200);
  assert(stream !== undefined);
  let text = "";
  await api.clock.advanceAsync(100);
  let isOver = false;
  const reading = (async () => {
    while (!isOver) {
      const bytes = await stream.next();
      text += bytes === undefined
        ? "\nevent: the end\n"
        : new TextDecoder().decode(bytes);
      if (bytes === undefined) break;
    }
  })();
  await api.clock.advanceAsync(15_000);
  isOver = true;
  // The next sign of life ends the wait.
  await api.clock.advanceAsync(15_000);
  await reading;
  return [...text.matchAll(/^event: (.*)$/gm)].map(([, type = ""]) => type);
}

async function makeTask(api: TestApi): Promise<string> {
  const body = { worker: "mailer" };
  return (await api.call("POST", "/v1/tasks", { body })).textAt("id");
}

Deno.test("GET /v1/events tells what happens, filtered and without delay by proxies", async () => {
  const api = await open();
  await api.addWorker();
  const all = await api.call("GET", "/v1/events");
  assertEquals(all.headers["content-type"], "text/event-stream");
  assertEquals(all.headers["x-accel-buffering"], "no");
  assertEquals(all.headers["cache-control"], "no-store");
  const canceled = await api.call("GET", "/v1/events?type=task.canceled");
  const id = await makeTask(api);
  await api.clock.advanceAsync(100);
  const own = await api.call("GET", `/v1/events?task=${id}&worker=mailer`);
  await makeTask(api);
  await api.call("POST", `/v1/tasks/${id}/cancel`);
  assertEquals(await read(api, all), [
    "task.created",
    "task.created",
    "task.canceled",
  ]);
  assertEquals(await read(api, canceled), ["task.canceled"]);
  assertEquals(await read(api, own), ["task.canceled"]);
  await api.close();
});

Deno.test("GET /v1/events goes on after Last-Event-ID or the parameter after", async () => {
  const api = await open();
  await api.addWorker();
  const first = await api.call("GET", "/v1/events");
  const decoder = new TextDecoder();
  const [, id = ""] = /id: (.*)/.exec(
    decoder.decode(await first.stream?.next()),
  ) ?? [];
  await makeTask(api);
  for (
    const again of [
      await api.call("GET", `/v1/events?after=${id}`),
      await api.call("GET", "/v1/events", { headers: { "Last-Event-ID": id } }),
    ]
  ) assertEquals(await read(api, again), ["task.created"]);
  const other = await api.call("GET", "/v1/events?after=other-1");
  assertEquals(await read(api, other), ["reset", "task.created"]);
  await api.close();
});

Deno.test("GET /v1/events refuses what it does not know, and what the key may not see", async () => {
  const api = await open();
  for (
    const [query, faults] of [
      ["type=task.*,task.nothing", [["type", "not_allowed"]]],
      ["every=PT0.01S", [["every", "too_small"]]],
      ["every=x", [["every", "bad_format"]]],
      ["nothing=1", [["nothing", "unknown"]]],
    ] as const
  ) {
    const answer = await api.call("GET", `/v1/events?${query}`);
    assertEquals(answer.status, 422, query);
    assertEquals(listFaults(answer)[0]?.[0], faults[0][0], query);
  }
  const none = await api.call("GET", "/v1/events?worker=none");
  assertEquals(none.status, 404);
  const { key } = await makeKey(api, ["tasks:read"]);
  const denied = await api.call("GET", "/v1/events?type=user.*", { key });
  assertEquals([denied.status, denied.at("scope")], [403, "audit:read"]);
  const nobody = await api.call("GET", "/v1/events", { key: null });
  assertEquals(nobody.status, 401);
  await api.close();
});

Deno.test("GET /v1/events shows a key what its scopes are for, and ends with it", async () => {
  const api = await open();
  await api.addWorker();
  const { key, id } = await makeKey(api, ["tasks:read"]);
  const seen = await api.call("GET", "/v1/events", { key });
  const owner = await api.call("GET", "/v1/events");
  await makeTask(api);
  await api.clock.advanceAsync(100);
  await api.call("PUT", "/v1/workers/mailer", { body: { timeout: "PT5S" } });
  const removed = await api.call("DELETE", `/v1/keys/${id}`);
  assertEquals(removed.status, 204);
  assertEquals(await read(api, seen), ["task.created", "the end"]);
  assertEquals(await read(api, owner), [
    "task.created",
    "worker.updated",
    "key.changed",
  ]);
  await api.close();
});

Deno.test("GET /v1/events ends a minute later at most when its key has expired", async () => {
  const api = await open();
  const expires = new Date(api.clock.nowMs() + 30_000).toISOString();
  const { key } = await makeKey(api, ["tasks:read"], { expires_at: expires });
  const seen = await api.call("GET", "/v1/events", { key });
  await api.call("GET", "/v1/events");
  const { counts } = api.engine.parts.events;
  await api.clock.advanceAsync(59_000);
  assertEquals(counts.readers, 2);
  await api.clock.advanceAsync(2_000);
  assertEquals(counts.readers, 1);
  assertEquals(await read(api, seen), ["the end"]);
  await api.clock.advanceAsync(120_000);
  assertEquals(counts.readers, 1);
  await api.close();
});

Deno.test("GET /v1/events ends when its client goes away", async () => {
  const api = await open();
  const client = new AbortController();
  const { signal } = client;
  const { stream } = await api.call("GET", "/v1/events", { signal });
  assertEquals(api.engine.parts.events.counts.readers, 1);
  client.abort();
  assertEquals(await stream?.next(), undefined);
  assertEquals(api.engine.parts.events.counts.readers, 0);
  await api.close();
});

async function makeKey(
  api: TestApi,
  scopes: readonly string[],
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly key: string; readonly id: string }> {
  const body = { name: "reader", scopes, ...more };
  const made = await api.call("POST", "/v1/keys", { body });
  assertEquals(made.status, 201, made.text);
  return { key: made.textAt("key"), id: made.textAt("id") };
}
