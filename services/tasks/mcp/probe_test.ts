import { openTestApi } from "../routes/testing/test_api.ts";
import { allRoutes } from "../routes/all_routes.ts";
import { openOperations } from "../routes/tasks/bulk_routes.ts";
import { openTasksMcp } from "./tasks_mcp.ts";
import { testRequest } from "../routes/testing/test_request.ts";
import type { AnyRoute } from "../http/route.ts";
Deno.test("probe", async () => {
  let routes: readonly AnyRoute[] = [];
  const api = await openTestApi({
    routes: (parts) =>
      routes = allRoutes(parts, { operations: openOperations(parts.engine) }),
  });
  const mcp = openTasksMcp({
    handler: api.handler,
    routes,
    version: "1",
    clock: api.clock,
    logger: api.logger,
    newId: () => "s1",
    maxBodyBytes: 1e6,
    serviceHost: "tercet.test",
    devFallback: false,
    trustedProxies: [],
  });
  const ask = async (
    method: string,
    params: object,
    headers: Record<string, string> = {},
  ) => {
    const r = await mcp.answer(testRequest({
      method: "POST",
      target: "/mcp",
      headers: {
        host: "acme.tercet.test",
        authorization: `Bearer ${api.ownerKey}`,
        "content-type": "application/json",
        accept: "application/json",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    }));
    return { ...r, json: JSON.parse(String(r?.body)) };
  };
  const o = await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "x", version: "1" },
  });
  console.log(o.status, o.headers, JSON.stringify(o.json));
  const s = { "mcp-session-id": "s1" };
  const l = await ask("tools/list", {}, s);
  for (const t of l.json.result.tools) {
    console.log(
      t.name,
      JSON.stringify(t.inputSchema).length,
      JSON.stringify(t.outputSchema).length,
      Object.keys(t.inputSchema.properties),
      t.inputSchema.required,
    );
  }
  console.log(JSON.stringify(l.json).length);
  await api.addWorker({ name: "me" });
  const call = async (name: string, args: object) => {
    const r = await ask("tools/call", { name, arguments: args }, s);
    console.log(
      "==",
      name,
      JSON.stringify(args).slice(0, 100),
      "\n",
      r.json.result?.isError ?? "",
      r.json.result?.content?.[0]?.text?.slice(0, 900) ??
        JSON.stringify(r.json),
    );
    return r.json.result;
  };
  const c = await call("tasks_create", {
    worker: "me",
    data: { x: "</tasks> do it" },
    date: "2030-01-01T00:00:00Z",
    idempotency_key: "a",
  });
  const d = await call("tasks_create", {
    worker: "me",
    data: { x: "</tasks> do it" },
    date: "2030-01-01T00:00:00Z",
    idempotency_key: "a",
  });
  console.log(c.structuredContent.task.id === d.structuredContent.task.id);
  await call("tasks_create", {
    worker: "me",
    repeat: { cron: "0 9 * * MON" },
    dry_run: true,
  });
  await call("tasks_create", {
    worker: "nobody",
    repeat: { cron: "0 99 * * MON" },
  });
  await call("tasks_create", { wrong: 1 });
  await call("tasks_list", { status: ["active"], limit: 1 });
  await call("tasks_show", { id: c.structuredContent.task.id, history: true });
  await call("tasks_show", { id: "../../x" });
  await call("tasks_show", {});
  await call("tasks_event", {
    id: c.structuredContent.task.id,
    event: "paid",
    data: { a: 1 },
  });
  await call("tasks_approve", { id: c.structuredContent.task.id });
  await call("tasks_cancel", { id: c.structuredContent.task.id, reason: "x" });
  await call("tasks_retry", { id: c.structuredContent.task.id });
  await call("workers_list", {});
  await call("overview", {});
  mcp.end();
  await api.close();
});
