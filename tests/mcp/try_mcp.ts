/**
 * Tests the Model Context Protocol with programs of others, which are fetched:
 * the conformance suite, both lines of the official client, and the inspector.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { RelayerHome } from "../relayer/relayer_home.ts";
import { NpmProject } from "../sdk/npm/npm_project.ts";
import { TempFolder } from "../sdk/temp_folder.ts";
import { startTasks } from "../support/tasks_process.ts";
import { DataFolder } from "../tasks/data_folder.ts";
import { createOwnerKey } from "../tasks/tenant_client.ts";
import { startConformanceServer } from "./conformance_server.ts";
import { mcpCommandLine, StdioMcp } from "./stdio_client.ts";

/**
 * Scenarios of what the services do not offer, and do not say that they do:
 * completion of arguments, subscriptions, and questions from the server to the
 * client. The suite fails when one of them passes.
 */
const NOT_OFFERED = [
  "completion-complete",
  "tools-call-sampling",
  "tools-call-elicitation",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "resources-subscribe",
  "resources-unsubscribe",
];

/** Scenarios that need no tools of their own. */
const GENERAL = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "prompts-list",
];

const CONFORMANCE =
  "node_modules/@modelcontextprotocol/conformance/dist/index.js";

const INSPECTOR =
  "node_modules/@modelcontextprotocol/inspector-cli/build/index.js";

const CLIENTS = `
import { Client, StreamableHTTPClientTransport, SSEClientTransport }
  from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport }
  from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key, account] = process.argv.slice(2);
const headers = {
  authorization: "Bearer " + key,
  "x-memwal-account-id": account,
};
// The clients check what comes back against the output schemas.
const OTHERS = {
  memwal_remember_bulk: { facts: ["a", "b"], namespace: "n" },
  memwal_remember_status: { job_ids: [crypto.randomUUID()], waitMs: 0 },
  memwal_analyze: { text: "I live in Oslo. I have a dog.", namespace: "n" },
  memwal_ask: { question: "Where do I live?", namespace: "n" },
  memwal_list: { limit: 3 },
  memwal_restore: { namespace: "n" },
  memwal_health: {},
  memwal_forget: { namespace: "n" },
};
const init = { requestInit: { headers } };
const info = { name: "trial", version: "1" };
const modes = {
  stateless: [
    new Client(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    new StreamableHTTPClientTransport(new URL(url), init),
  ],
  negotiated: [
    new Client(info, { versionNegotiation: { mode: "auto" } }),
    new StreamableHTTPClientTransport(new URL(url), init),
  ],
  session: [
    new Client(info, { versionNegotiation: { mode: "legacy" } }),
    new StreamableHTTPClientTransport(new URL(url), init),
  ],
  sse: [
    new Client(info, { versionNegotiation: { mode: "legacy" } }),
    new SSEClientTransport(new URL(url + "/sse"), init),
  ],
  older: [
    new OldClient(info),
    new OldTransport(new URL(url), init),
  ],
};
const seen = {};
for (const [mode, [client, transport]] of Object.entries(modes)) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const progress = [];
  const stored = await client.callTool(
    { name: "memwal_remember", arguments: { text: "Ada likes " + mode } },
    ...(mode === "older"
      ? [undefined, { onprogress: (one) => progress.push(one) }]
      : [{ onprogress: (one) => progress.push(one) }]),
  );
  const found = await client.callTool({
    name: "memwal_recall",
    arguments: { query: mode },
  });
  const { resources } = await client.listResources();
  const read = await client.readResource({ uri: resources.at(-1).uri });
  const { messages } = await client.getPrompt({
    name: "what_is_known",
    arguments: { subject: mode },
  });
  const refused = await client.callTool({
    name: "memwal_recall",
    arguments: { limit: 5 },
  });
  const others = [];
  for (const [name, args] of Object.entries(OTHERS)) {
    const result = await client.callTool({ name, arguments: args });
    if (result.isError === true && name !== "memwal_remember_status") others.push(result);
  }
  seen[mode] = {
    others,
    tools: tools.length,
    isStored: stored.isError !== true,
    progress: progress.length > 0,
    found: found.structuredContent.results[0].text,
    read: read.contents[0].text,
    prompt: messages[0].content.text.includes("Ada likes " + mode),
    refused: refused.isError,
  };
  await client.close();
}
console.log(JSON.stringify(seen));
`;

Deno.test("the conformance suite passes for what the kit offers", async () => {
  await using server = await startConformanceServer();
  await using project = await NpmProject.make();
  await project.install("@modelcontextprotocol/conformance@0.1");
  const scenarios = NOT_OFFERED.map((name) => `  - ${name}\n`).join("");
  await project.write("baseline.yml", `server:\n${scenarios}`);
  for (const suite of ["active", "pending"]) {
    const said = await project.run(Deno.execPath(), [
      ...["run", "-A", CONFORMANCE],
      ...["server", "--url", server.url, "--suite", suite],
      ...["--expected-failures", "baseline.yml"],
    ]);
    assertStringIncludes(said, "Baseline check passed");
    assertStringIncludes(said, suite === "active" ? "24 passed" : "6 passed");
  }
});

Deno.test("the conformance suite passes for what a relayer has", async () => {
  await using home = await RelayerHome.open();
  await using project = await NpmProject.make();
  await project.install("@modelcontextprotocol/conformance@0.1");
  const { key, accountId } = home.account();
  // The suite sends no credential, so a proxy adds one.
  await using proxy = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen: () => {} },
    handler: async (request) => {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${key}`);
      headers.set("x-memwal-account-id", accountId);
      const { method } = request;
      const body = method === "POST" ? await request.text() : null;
      return await fetch(`${home.url}/api/mcp`, { method, headers, body });
    },
  });
  const url = `http://127.0.0.1:${proxy.addr.port}/`;
  for (const scenario of GENERAL) {
    const said = await project.run(Deno.execPath(), [
      ...["run", "-A", CONFORMANCE],
      ...["server", "--url", url, "--scenario", scenario],
    ]);
    assertStringIncludes(said, "0 failed", scenario);
  }
});

Deno.test("the conformance suite passes for tercet mcp over standard input and output", async () => {
  await using folder = await TempFolder.make();
  await using project = await NpmProject.make();
  await project.install("@modelcontextprotocol/conformance@0.1");
  const processes = new AsyncDisposableStack();
  let process: StdioMcp | undefined;
  // The suite speaks HTTP alone, so its messages are handed on as they are.
  await using bridge = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async handler(request) {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      const message = await request.json();
      if (message.method === "initialize") {
        process = processes.use(
          new StdioMcp(["--local", `${folder.path}/memory`]),
        );
      }
      const answer = await process?.pass(message);
      return answer === undefined
        ? new Response(null, { status: 202 })
        : Response.json(answer);
    },
  });
  await using _ = processes;
  const url = `http://127.0.0.1:${bridge.addr.port}/`;
  for (const scenario of GENERAL) {
    const said = await project.run(Deno.execPath(), [
      ...["run", "-A", CONFORMANCE],
      ...["server", "--url", url, "--scenario", scenario],
    ]);
    assertStringIncludes(said, "0 failed", scenario);
  }
});

Deno.test("the inspector lists the tools of tercet mcp over standard input and output", async () => {
  await using folder = await TempFolder.make();
  await using project = await NpmProject.make();
  await project.install("@modelcontextprotocol/inspector-cli@1");
  await nameInspector(project);
  const listed = await project.run("node", [
    INSPECTOR,
    Deno.execPath(),
    ...mcpCommandLine(["--local", `${folder.path}/memory`]),
    ...["--method", "tools/list"],
  ]);
  assertStringIncludes(listed, "memwal_recall");
});

Deno.test("the official clients remember and recall at /api/mcp in every version", async () => {
  await using home = await RelayerHome.open();
  await using project = await NpmProject.make();
  await project.install(
    "@modelcontextprotocol/client@2",
    "@modelcontextprotocol/sdk@1",
    "@modelcontextprotocol/inspector-cli@1",
  );
  await project.write("clients.mjs", CLIENTS);
  const { key, accountId } = home.account();
  const url = `${home.url}/api/mcp`;
  const seen = JSON.parse(
    await project.run("node", ["clients.mjs", url, key, accountId]),
  );
  for (const mode of Object.keys(seen)) {
    assertEquals(seen[mode], {
      ...{
        others: [],
        tools: 10,
        isStored: true,
        progress: true,
        refused: true,
      },
      ...{
        found: `Ada likes ${mode}`,
        read: `Ada likes ${mode}`,
        prompt: true,
      },
    }, mode);
  }
  assertEquals(Object.keys(seen).length, 5);
  await nameInspector(project);
  const listed = await project.run("node", [
    INSPECTOR,
    url,
    ...["--transport", "http", "--method", "tools/list"],
    ...["--header", `authorization: Bearer ${key}`],
    ...["--header", `x-memwal-account-id: ${accountId}`],
  ]);
  assertStringIncludes(listed, "memwal_recall");
});

/** The inspector's own command reads this file, and no package has it. */
async function nameInspector(project: NpmProject): Promise<void> {
  await project.write(
    "node_modules/@modelcontextprotocol/package.json",
    JSON.stringify({ name: "inspector-cli", version: "1.0.0" }),
  );
}

/**
 * The scenarios that fit any server; the others ask for tools of their own, or
 * send header fields that a server in front would change.
 */
const GENERIC = [
  "server-initialize",
  "ping",
  "tools-list",
  "server-sse-multiple-streams",
];

const TASK_CLIENTS = `
import { Client, StreamableHTTPClientTransport }
  from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport }
  from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, key] = process.argv.slice(2);
const init = { requestInit: { headers: { authorization: "Bearer " + key } } };
const info = { name: "trial", version: "1" };
const made = (mode) => [
  new Client(info, { versionNegotiation: { mode } }),
  new StreamableHTTPClientTransport(new URL(url), init),
];
const modes = {
  stateless: made({ pin: "2026-07-28" }),
  session: made("legacy"),
  older: [new OldClient(info), new OldTransport(new URL(url), init)],
};
const seen = {};
for (const [mode, [client, transport]] of Object.entries(modes)) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const call = (name, args = {}) => client.callTool({ name, arguments: args });
  const args = { worker: "me", data: mode, idempotency_key: mode };
  const { task } = (await call("tasks_create", args)).structuredContent;
  const again = (await call("tasks_create", args)).structuredContent.task;
  const shown = (await call("tasks_show", { id: task.id, history: true }))
    .structuredContent;
  const listed = (await call("tasks_list")).structuredContent.tasks.data;
  await call("overview");
  await call("workers_list");
  const canceled = (await call("tasks_cancel", { id: task.id }))
    .structuredContent.task;
  const refused = await call("tasks_approve", { id: task.id });
  seen[mode] = {
    tools: tools.length,
    once: again.id === task.id,
    data: shown.task.data,
    why: shown.why.includes("has not asked for tasks"),
    listed: listed.some(({ id }) => id === task.id),
    status: canceled.status,
    refused: refused.isError,
  };
  await client.close();
}
console.log(JSON.stringify(seen));
`;

/** Serves an address whose requests get a bearer, for programs without one. */
function withBearer(
  url: string,
  key: string,
): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const headers = new Headers(request.headers);
      headers.set("authorization", `Bearer ${key}`);
      headers.delete("origin");
      const body = request.body === null ? null : await request.bytes();
      const { method } = request;
      return await fetch(url, { method, headers, body });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("the official clients and the conformance suite find the tools of tasks at /mcp", async () => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({
    dataDir: folder.path,
    env: { DEV_TENANT_FALLBACK: "true" },
  });
  const key = await createOwnerKey(service, "acme");
  const url = new URL("/t/acme/mcp", service.url).href;
  const worker = await fetch(new URL("/t/acme/api/v1/workers", service.url), {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ name: "me" }),
  });
  assertEquals(worker.status, 201);
  await worker.body?.cancel();
  await using project = await NpmProject.make();
  await project.install(
    "@modelcontextprotocol/client@2",
    "@modelcontextprotocol/sdk@1",
    "@modelcontextprotocol/conformance@0.1",
  );
  await project.write("clients.mjs", TASK_CLIENTS);
  const seen = JSON.parse(await project.run("node", ["clients.mjs", url, key]));
  assertEquals(Object.keys(seen), ["stateless", "session", "older"]);
  for (const [mode, found] of Object.entries(seen)) {
    assertEquals(found, {
      ...{ tools: 10, once: true, data: mode, why: true, listed: true },
      ...{ status: "canceled", refused: true },
    }, mode);
  }
  await using open = withBearer(url, key);
  for (const scenario of GENERIC) {
    const said = await project.run(Deno.execPath(), [
      "run",
      "-A",
      "node_modules/@modelcontextprotocol/conformance/dist/index.js",
      ...["server", "--url", open.url, "--scenario", scenario],
    ]);
    assertStringIncludes(said, "0 failed", scenario);
  }
});
