/**
 * Tests `/mcp` of a tasks process: agents that give work to others and to
 * themselves, over real connections.
 *
 * @module
 */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TasksClient, waitFor, Worker } from "../../sdk/tasks.ts";
import { PlainMcpClient } from "../mcp/mcp_client.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { createOwnerKey } from "./tenant_client.ts";

interface Home extends AsyncDisposable {
  readonly service: TasksProcess;
  readonly url: string;
  readonly key: string;
  readonly tasks: TasksClient;
}

async function openHome(
  env: Readonly<Record<string, string>> = {},
): Promise<Home> {
  const folder = await DataFolder.make();
  const service = await startTasks({
    dataDir: folder.path,
    env: { DEV_TENANT_FALLBACK: "true", ...env },
  });
  const url = new URL("/t/acme", service.url).href;
  const key = await createOwnerKey(service, "acme");
  return {
    ...{ service, url, key },
    tasks: new TasksClient({ url, key }),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function agentOf({ url, key }: Home): PlainMcpClient {
  return new PlainMcpClient(`${url}/mcp`, { authorization: `Bearer ${key}` });
}

Deno.test("/mcp lets an agent give itself work, and resume it with an event", async () => {
  await using home = await openHome();
  const agent = agentOf(home);
  assertEquals((await agent.open()).status, 200);
  await home.tasks.workers.ensure({ name: "me", concurrency: 0 });
  const made = await agent.call("tasks_create", {
    ...{ worker: "me", data: { ask: "Has Ada paid?" } },
    idempotency_key: "ada-paid",
  });
  const { id } = made.structuredContent.task;
  const idle = await agent.call("tasks_show", { id });
  assertStringIncludes(idle.structuredContent.why, "has not asked for tasks");
  const { secret } = await home.tasks.workers.createCredential("me");
  await using worker = new Worker({
    ...{ url: home.url, key: secret!, worker: "me", onError: () => {} },
    handlers: {
      default: (_task, { resumed }) =>
        resumed === undefined
          ? waitFor({ event: "paid", timeoutMs: 3_600_000 })
          : { by: resumed },
    },
  });
  worker.start();
  await waitUntil(async () => {
    const found = await agent.call("tasks_list", { waiting: "event" });
    return found.structuredContent.tasks.data.length === 1;
  }, { what: "the wait for an event" });
  const waiting = await agent.call("tasks_show", { id });
  assertStringIncludes(waiting.structuredContent.why, 'the event "paid"');
  await agent.call("tasks_event", { id, event: "paid", data: { amount: 7 } });
  const ended = await agent.call("tasks_show", {
    ...{ id, wait: "PT30S", history: true },
  });
  assertEquals(ended.structuredContent.task.status, "complete");
  assertEquals(
    ended.structuredContent.task.result.by.data,
    { amount: 7 },
  );
  assertStringIncludes(ended.content[0].text, '"type":"resumed"');
});

Deno.test("/mcp counts sessions and calls, and ends its streams when the service stops", async () => {
  await using home = await openHome();
  const agent = agentOf(home);
  await agent.open();
  await agent.call("overview");
  await agent.call("tasks_show", { id: "tsk_none" });
  const metrics = await readMetrics(await metricsUrl(home.service));
  assertEquals(findSeries(metrics, "tasks_mcp_sessions"), 1);
  assertEquals(
    findSeries(metrics, "tasks_mcp_calls_total", {
      ...{ tool: "tasks_show", outcome: "error" },
    }),
    1,
  );
  const stream = await fetch(agent.url, {
    headers: { ...agent.headers, accept: "text/event-stream" },
  });
  assertEquals(stream.status, 200);
  const [text, code] = await Promise.all([
    stream.text(),
    home.service.stop(),
  ]);
  assertEquals([text.includes("data:"), code], [false, 0]);
});

Deno.test("/mcp refuses strangers, and is not there when MCP is false", async () => {
  await using home = await openHome({ MCP: "false" });
  assertEquals((await agentOf(home).open()).status, 404);
  await using other = await openHome();
  const stranger = agentOf({ ...other, key: "dk_wrong" });
  const refused = await stranger.open();
  assertEquals([refused.status, refused.answer.error.code], [401, -32_001]);
  assertMatch(refused.headers.get("www-authenticate") ?? "", /^Bearer/);
  const agent = agentOf(other);
  await agent.open();
  const ended = await fetch(agent.url, {
    method: "DELETE",
    headers: agent.headers,
  });
  assertEquals(ended.status, 204);
  await ended.body?.cancel();
  assertEquals((await agent.ask("ping")).status, 404);
});
