import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { errorResult, type McpTool } from "./catalog.ts";
import type { RpcParams } from "./messages.ts";
import { RPC_ERRORS, type SentNotification } from "./messages.ts";
import { openEchoServer } from "./testing/echo_server.ts";
import { McpServer } from "./server.ts";
import { VERSIONS } from "./versions.ts";

function open({ isStateless = false } = {}) {
  const echo = openEchoServer();
  const sent: SentNotification[] = [];
  const ending = new AbortController();
  const ask = (method: string, params: RpcParams = {}) =>
    echo.server.answer({ kind: "request", id: 1, method, params }, {
      context: () => "ann",
      signal: ending.signal,
      notify: (notification) => sent.push(notification),
      isStateless,
    });
  // deno-lint-ignore no-explicit-any
  const result = async (method: string, params?: RpcParams): Promise<any> => {
    const answer = await ask(method, params);
    return "result" in answer ? answer.result : answer.error;
  };
  return { ...echo, sent, ending, result };
}

Deno.test("initialize() settles the version of the client, or the newest with a session", () => {
  const { server } = openEchoServer();
  for (const version of VERSIONS.slice(1)) {
    const settled = server.initialize({ protocolVersion: version });
    assertEquals(settled.version, version);
    assertEquals(settled.result["protocolVersion"], version);
  }
  for (const version of ["2099-01-01", "2026-07-28", undefined, 4]) {
    const { version: settled } = server.initialize({
      protocolVersion: version,
    });
    assertEquals(settled, "2025-11-25", String(version));
  }
});

Deno.test("answer() lists the tools with their schemas", async () => {
  const { result } = open();
  const { tools } = await result("tools/list");
  assertEquals(tools[0], {
    ...{ name: "echo", title: "echo", description: "echo" },
    annotations: { title: "echo", readOnlyHint: true },
    inputSchema: {
      type: "object",
      properties: { text: { type: "string", maxLength: 100 } },
      required: ["text"],
      additionalProperties: false,
    },
  });
});

Deno.test("answer() returns a result with isError when arguments do not fit", async () => {
  const { result, calls } = open();
  const name = "echo";
  for (const args of [{}, { text: 4 }, { text: "a", more: 1 }, 7, null]) {
    const { isError, content } = await result("tools/call", {
      ...{ name, arguments: args },
    });
    assertEquals(isError, true, JSON.stringify(args));
    assertStringIncludes(content[0].text, "Cannot call echo");
  }
  const good = await result("tools/call", { name, arguments: { text: "hi" } });
  assertEquals(good, { content: [{ type: "text", text: "ann: hi" }] });
  assertEquals(calls.at(-1), { tool: "echo", outcome: "ok" });
  const { code } = await result("tools/call", { name: "__proto__" });
  assertEquals(code, RPC_ERRORS.badParams);
});

Deno.test("answer() does not tell the client an exception of a tool", async () => {
  const { result, errors, calls } = open();
  const broken = await result("tools/call", { name: "break" });
  assertEquals(broken.isError, true);
  assert(!JSON.stringify(broken).includes("4711"));
  assertEquals(errors.length, 1);
  assertEquals(calls, [{ tool: "break", outcome: "failed" }]);
});

Deno.test("answer() ends a call when its time is up, or when it is cancelled", async () => {
  const late = open();
  const begun = late.begun();
  const waiting = late.result("tools/call", { name: "wait" });
  await begun;
  late.clock.advance(240_000);
  assertStringIncludes((await waiting).content[0].text, "took too long");
  assertEquals(late.calls, [{ tool: "wait", outcome: "cancelled" }]);

  const cancelled = open();
  const begunAgain = cancelled.begun();
  const ended = cancelled.result("tools/call", { name: "wait" });
  await begunAgain;
  cancelled.ending.abort();
  assertEquals((await ended).isError, true);
  assertEquals(cancelled.isAborted(), true);
  assertEquals(cancelled.clock.pendingTimers, 0);
});

Deno.test("answer() tells progress when the client asked for it", async () => {
  const { result, sent } = open();
  await result("tools/call", { name: "step" });
  assertEquals(sent, []);
  await result("tools/call", { name: "step", _meta: { progressToken: 7 } });
  assertEquals(sent, [{
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: 7, progress: 1, total: 2, message: "half" },
  }]);
});

Deno.test("answer() names kind and server of results when requests stand alone", async () => {
  const { result } = open({ isStateless: true });
  const { tools, ...rest } = await result("tools/list");
  assertEquals(tools.length, 4);
  assertEquals(rest, {
    resultType: "complete",
    ...{ ttlMs: 3_600_000, cacheScope: "public" },
    _meta: {
      "io.modelcontextprotocol/serverInfo": {
        ...{ name: "echo", title: "Echo", version: "1" },
      },
    },
  });
  const discovered = await result("server/discover");
  assertEquals(discovered.supportedVersions, VERSIONS);
  assertEquals(discovered.capabilities, { tools: {} });
});

Deno.test("answer() refuses a method that the server does not have", async () => {
  const { result } = open();
  for (const method of ["resources/list", "prompts/get", "a".repeat(9_999)]) {
    const { code, message } = await result(method);
    assertEquals(code, RPC_ERRORS.noMethod);
    assert(message.length < 200);
  }
});

Deno.test("tools/list leaves out what a caller is not offered, and a call of it is made all the same", async () => {
  const clock = new FakeClock();
  const tool = (name: string): McpTool<string> => ({
    ...{ name, title: name, description: name, input: { type: "object" } },
    annotations: { readOnlyHint: true },
    isOffered: (caller) => caller === name,
    call: (_, { context }) =>
      Promise.resolve(errorResult(`not for ${context}`)),
  });
  const server = new McpServer<string>({
    clock,
    catalog: {
      info: { name: "test", title: "Test", version: "1" },
      instructions: "",
      tools: [tool("ann"), tool("ben")],
    },
  });
  const ask = async (method: string, params: RpcParams = {}) => {
    const answer = await server.answer(
      { kind: "request", id: 1, method, params },
      {
        context: () => "ben",
        signal: new AbortController().signal,
        notify: () => {},
        isStateless: true,
      },
    );
    return JSON.stringify(answer);
  };
  const listed = JSON.parse(await ask("tools/list")).result;
  assertEquals(listed.tools.map(({ name }: RpcParams) => name), ["ben"]);
  assertEquals([listed.ttlMs, listed.cacheScope], [0, "private"]);
  assertStringIncludes(
    await ask("tools/call", { name: "ann" }),
    "not for ben",
  );
});
