/**
 * Tests the server for agents with clients of others, which are fetched: the
 * npm package with the official client in Node, and `tercet mcp --local` with
 * an agent of the AI SDK. `deno task test:npm` runs it.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { runtimeVariables } from "../../scripts/launch/deno_process.ts";
import { createAccount, startRelayer } from "../support/relayer_process.ts";
import { buildPackage } from "../sdk/npm/build_package.ts";
import { NpmProject } from "../sdk/npm/npm_project.ts";
import { TempFolder } from "../sdk/temp_folder.ts";
import { mcpCommandLine } from "./stdio_client.ts";

const TIMEOUT_MS = 300_000;

/** Calls tools of the package over its standard input, as `npx` starts it. */
const CLIENT = `
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const args = JSON.parse(process.argv[2]);
const client = new Client({ name: "trial", version: "1" });
await client.connect(new StdioClientTransport({
  command: "npx",
  args: ["--no-install", "tercet-mcp", ...args],
}));
const { tools } = await client.listTools();
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  return result.content.map(({ text }) => text).join("\\n");
};
const report = {
  tools: tools.map(({ name }) => name),
  stored: await call("memwal_remember", { text: "Ada drinks tea" }),
  found: await call("memwal_recall", { query: "What does Ada drink?" }),
};
await client.close();
console.log(JSON.stringify(report));
`;

/**
 * An agent whose model calls one tool, and then says what the tool returned.
 * Its arguments: the command of the server, the tool, the tool's arguments.
 */
const AGENT = `
import { createMCPClient } from "@ai-sdk/mcp";
import { StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { generateText, stepCountIs } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false;
const [command, toolName, input] = process.argv.slice(2);
const { program, args, env } = JSON.parse(command);
const client = await createMCPClient({
  transport: new StdioMCPTransport({ command: program, args, env }),
});
const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 4, text: 4, reasoning: 0 },
};
const model = {
  specificationVersion: "v4",
  provider: "scripted",
  modelId: "scripted",
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const last = prompt.at(-1);
    const isCalled = last.role === "tool";
    return {
      content: isCalled
        ? [{ type: "text", text: JSON.stringify(last.content) }]
        : [{ type: "tool-call", toolCallId: "1", toolName, input }],
      finishReason: isCalled
        ? { unified: "stop", raw: "stop" }
        : { unified: "tool-calls", raw: "tool-calls" },
      usage,
      warnings: [],
    };
  },
};
const { text } = await generateText({
  model,
  prompt: "Remember, or recall.",
  tools: await client.tools(),
  stopWhen: stepCountIs(3),
});
await client.close();
console.log(JSON.stringify({ text }));
`;

Deno.test({
  name: "the npm package of the server for agents works in Node",
  timeout: TIMEOUT_MS,
  async fn() {
    await using folder = await TempFolder.make();
    await using project = await NpmProject.make();
    const tarball = await buildPackage("mcp", `${folder.path}/package`);
    await project.install(tarball, "@modelcontextprotocol/client@2");
    await project.write("client.mjs", CLIENT);
    const dataDir = `${folder.path}/data`;
    const { key, accountId } = await createAccount({ dataDir });
    await using relayer = await startRelayer({ dataDir });
    const keyFile = `${folder.path}/delegate.key`;
    await Deno.writeTextFile(keyFile, `${key}\n`, { mode: 0o600 });
    const args = [
      ...["--relayer", relayer.url, "--account", accountId],
      ...["--key-file", keyFile],
    ];
    const run = (args: readonly string[]): Promise<string> =>
      project.run("node", ["client.mjs", JSON.stringify(args)]);
    const { tools, stored, found } = JSON.parse(await run(args));
    assertEquals(tools.includes("memwal_recall"), true);
    assertStringIncludes(stored, "Remembered");
    assertStringIncludes(found, "Ada drinks tea");
    const credentials = `${folder.path}/credentials.json`;
    const json = {
      delegatePrivateKey: key,
      accountId,
      relayerUrl: relayer.url,
      version: 1,
    };
    await Deno.writeTextFile(credentials, JSON.stringify(json), {
      mode: 0o600,
    });
    const again = JSON.parse(await run([`--credentials=${credentials}`]));
    assertStringIncludes(again.found, "Ada drinks tea");
  },
});

Deno.test({
  name:
    "an agent of the AI SDK recalls in one process what it has remembered in another, without a relayer",
  timeout: TIMEOUT_MS,
  async fn() {
    await using folder = await TempFolder.make();
    await using project = await NpmProject.make();
    await project.install("ai@7", "@ai-sdk/mcp@2", "zod@4");
    await project.write("agent.mjs", AGENT);
    const command = JSON.stringify({
      program: Deno.execPath(),
      args: mcpCommandLine(["--local", `${folder.path}/memory`]),
      env: runtimeVariables(Deno.env.toObject()),
    });
    const play = async (tool: string, args: object): Promise<string> => {
      const text = await project.run("node", [
        ...["agent.mjs", command, tool, JSON.stringify(args)],
      ]);
      return JSON.parse(text).text;
    };
    const fact = "Ada drinks tea in the afternoon";
    const stored = await play("memwal_remember", { text: fact });
    assertStringIncludes(stored, "Remembered");
    const found = await play("memwal_recall", {
      query: "What does Ada drink?",
    });
    assertStringIncludes(found, fact);
  },
});
