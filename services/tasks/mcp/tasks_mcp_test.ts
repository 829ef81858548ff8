import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Scope } from "../access/scope.ts";
import { REGISTRY } from "../engine/repositories.ts";
import { SERVICE_HOST } from "../routes/testing/test_api.ts";
import { testRequest } from "../routes/testing/test_request.ts";
import { TestAgent, withAgents } from "./testing/test_agents.ts";

const READS = ["tasks_list", "tasks_show", "overview"];

Deno.test("tools/list shows a key the tools that its scopes allow", async () => {
  await withAgents(async (api) => {
    const named = async (scopes: readonly Scope[]) => {
      const agent = await api.agent({ key: await api.addKey({ scopes }) });
      return (await agent.tools()).map(({ name }) => name);
    };
    assertEquals(await named(["tasks:read"]), READS);
    assertEquals(await named(["workers:read"]), ["workers_list"]);
    assertEquals(await named(["users:read"]), []);
    assertEquals(await named(["tasks:write"]), [
      "tasks_create",
      "tasks_retry",
      "tasks_cancel",
      "tasks_event",
      "tasks_approve",
      "tasks_reject",
    ]);
    assertEquals((await (await api.agent()).tools()).length, 10);
  });
});

Deno.test("a tool names the missing scope when a key may not call it", async () => {
  await withAgents(async (api) => {
    const agent = await api.agent({
      key: await api.addKey({ scopes: ["tasks:read"] }),
    });
    const refused = await agent.call("tasks_create", { worker: "mailer" });
    assertEquals(refused.isError, true);
    assertStringIncludes(refused.content[0].text, '\\"tasks:write\\"');
    const list = await api.call("GET", "/v1/tasks");
    assertEquals(list.at("data", "length"), 0);
  });
});

Deno.test("a list of tools is private when a request stands alone", async () => {
  await withAgents(async (api) => {
    const agent = new TestAgent(api.mcp, { key: api.ownerKey });
    const version = "2026-07-28";
    const listed = await agent.ask("tools/list", {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    }, { "mcp-protocol-version": version, "mcp-method": "tools/list" });
    const { tools, ttlMs, cacheScope } = listed.json.result;
    assertEquals([tools.length, ttlMs, cacheScope], [10, 0, "private"]);
  });
});

Deno.test("the endpoint refuses in the API's words when a credential is wrong", async () => {
  await withAgents(async (api) => {
    for (const key of ["", "dk_wrong", "wk_wrong", "a.b.c"]) {
      const refused = await new TestAgent(api.mcp, { key }).open();
      assertEquals(refused.status, 401, key);
      assertEquals(refused.json.error.code, -32_001);
      assertStringIncludes(
        String(refused.headers["www-authenticate"]),
        "Bearer",
      );
    }
    const elsewhere = new TestAgent(api.mcp, {
      key: api.ownerKey,
      host: `nobody.${SERVICE_HOST}`,
    });
    assertEquals((await elsewhere.open()).status, 404);
    await api.addTenant("other");
    const foreign = new TestAgent(api.mcp, {
      key: api.ownerKey,
      host: `other.${SERVICE_HOST}`,
    });
    assertEquals((await foreign.open()).status, 401);
    assertEquals(api.mcp.sessions(), 0);
  });
});

Deno.test("a session belongs to its key when another key knows its id", async () => {
  await withAgents(async (api) => {
    const agent = await api.agent();
    const thief = new TestAgent(api.mcp, { key: await api.addKey() });
    thief.session = agent.session;
    assertEquals((await thief.ask("tools/list")).status, 403);
    assertEquals((await thief.send("", {}, "DELETE")).status, 403);
    assertEquals((await thief.send("", {}, "GET")).status, 403);
    assertEquals((await agent.ask("ping")).status, 200);
  });
});

Deno.test("a session ends when its key is removed", async () => {
  await withAgents(async (api) => {
    const key = await api.addKey({ name: "agent" });
    const agent = await api.agent({ key });
    assertEquals((await agent.call("overview")).isError, undefined);
    const keys = await api.call("GET", "/v1/keys");
    const rows = keys.at("data") as readonly { id: string; name: string }[];
    const { id = "" } = rows.find(({ name }) => name === "agent") ?? {};
    const removed = await api.call("DELETE", `/v1/keys/${id}`);
    assertEquals(removed.status, 204);
    const refused = await agent.call("overview");
    assertStringIncludes(refused.content[0].text, "401 invalid_credentials");
    assertEquals((await agent.ask("ping")).status, 401);
    assertEquals(api.mcp.sessions(), 0);
  });
});

Deno.test("a session ends within half a minute when its tenant is suspended", async () => {
  await withAgents(async (api) => {
    const { tenants } = api.engine.parts.repositories;
    const agent = await api.agent();
    const tenant = await tenants.get(REGISTRY, api.tenant.id);
    if (tenant === undefined) throw new Error("There is no tenant");
    await api.write(tenants.update(tenant, {
      ...tenant,
      status: "suspended",
      version: tenant.version + 1,
    }));
    api.clock.advance(30_000);
    const refused = await agent.ask("ping");
    assertEquals(refused.status, 403);
    assertStringIncludes(refused.json.error.message, "suspended");
    assertEquals(api.mcp.sessions(), 0);
  });
});

Deno.test("the endpoint asks the API again when a request comes from another address or is long", async () => {
  await withAgents(async (api) => {
    const key = await api.addKey({ networks: ["192.0.2.0/24"] });
    const agent = await api.agent({ key });
    const elsewhere = new TestAgent(api.mcp, { key, address: "198.51.100.1" });
    elsewhere.session = agent.session;
    assertEquals((await elsewhere.ask("tools/list")).status, 403);
    assertEquals((await agent.ask("ping")).status, 200, "it goes on");
    const long = { worker: "mailer", data: "x".repeat(70_000) };
    const statuses: (number | undefined)[] = [];
    for (let calls = 0; calls < 8; calls++) {
      const params = { name: "nothing", arguments: long };
      statuses.push((await agent.ask("tools/call", params)).status);
    }
    assertEquals(statuses.includes(429), true, "long requests count");
    assertEquals((await agent.ask("ping")).status, 200);
  }, { limits: { requestsPerSecond: 3 } });
});

Deno.test("the endpoint refuses pages, and leaves all other paths to the API", async () => {
  await withAgents(async (api) => {
    const agent = await api.agent();
    const page = await agent.ask("ping", {}, {
      origin: `https://acme.${SERVICE_HOST}`,
    });
    assertEquals(page.status, 403);
    for (
      const [host, target] of [
        [SERVICE_HOST, "/mcp"],
        [`accounts.${SERVICE_HOST}`, "/mcp"],
        [`acme.${SERVICE_HOST}`, "/mcp/rights"],
        [`acme.${SERVICE_HOST}`, "/api/mcp"],
        [`acme.${SERVICE_HOST}`, "/t/acme/mcp"],
      ] as const
    ) {
      const other = new TestAgent(api.mcp, { key: api.ownerKey, host, target });
      assertEquals((await other.open()).status, undefined, `${host}${target}`);
    }
  });
});

Deno.test("the endpoint finds the tenant by the path when it is for development", async () => {
  await withAgents(async (api) => {
    const agent = await api.agent({
      ...{ host: "127.0.0.1:8070", target: "/t/acme/mcp" },
    });
    const made = await agent.call("tasks_create", { worker: "mailer" });
    assertEquals(made.structuredContent.task.status, "waiting");
  }, { devFallback: true });
});

Deno.test("a stream of a session ends after five minutes, so that its key is checked", async () => {
  await withAgents(async (api) => {
    const { session = "" } = await api.agent();
    const opened = await api.mcp.answer(testRequest({
      ...{ method: "GET", target: "/mcp" },
      headers: {
        host: `acme.${SERVICE_HOST}`,
        authorization: `Bearer ${api.ownerKey}`,
        accept: "text/event-stream",
        "mcp-session-id": session,
      },
    }));
    const stream = opened?.stream;
    api.clock.advance(299_999);
    assertEquals(api.clock.pendingTimers > 0, true);
    api.clock.advance(1);
    assertEquals(api.clock.pendingTimers, 0);
    let piece = await stream?.next();
    while (piece !== undefined) piece = await stream?.next();
    assertEquals(api.mcp.sessions(), 1);
  });
});
