import { assert, assertEquals, assertRejects } from "@std/assert";
import { serveLines } from "./stdio.ts";
import { type EchoServer, openEchoServer } from "./testing/echo_server.ts";

// deno-lint-ignore no-explicit-any
type Line = any;

/** Serves what a test writes, and collects the lines that come back. */
function open(
  { echo = openEchoServer(), maxLineBytes = 1_000, write = noWait }: {
    readonly echo?: EchoServer;
    readonly maxLineBytes?: number;
    readonly write?: () => Promise<void>;
  } = {},
) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const lines: Line[] = [];
  const serving = serveLines({
    ...{ server: echo.server, clock: echo.clock, maxLineBytes },
    context: () => "ann",
    input: readable,
    write(line) {
      assert(line.endsWith("\n") && line.indexOf("\n") === line.length - 1);
      lines.push(JSON.parse(line));
      return write();
    },
  });
  const sendBytes = (bytes: Uint8Array) => writer.write(bytes);
  const send = (text: string) => sendBytes(new TextEncoder().encode(text));
  return {
    ...{ echo, lines, serving, send, sendBytes },
    ask: (message: object) =>
      send(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    call: (id: number, name: string, args: object = {}) =>
      send(`${
        JSON.stringify({
          ...{ jsonrpc: "2.0", id, method: "tools/call" },
          params: { name, arguments: args },
        })
      }\n`),
    end: () => writer.close(),
  };
}

function noWait(): Promise<void> {
  return Promise.resolve();
}

Deno.test("serveLines() answers each line when the input comes byte by byte", async () => {
  const { lines, sendBytes, end, serving } = open();
  const text = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: {} },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    {
      ...{ jsonrpc: "2.0", id: 2, method: "tools/call" },
      params: { name: "echo", arguments: { text: "grün ☕" } },
    },
  ].map((message) => JSON.stringify(message)).join("\r\n");
  for (const byte of new TextEncoder().encode(text)) {
    await sendBytes(Uint8Array.of(byte));
  }
  await end();
  await serving;
  assertEquals(lines.map(({ id }) => id), [1, 2]);
  assertEquals(lines[1].result.content[0].text, "ann: grün ☕");
});

Deno.test("serveLines() cancels a call when the client says so, and answers the others", async () => {
  const { lines, echo, call, ask, end, serving } = open();
  const begun = echo.begun();
  await call(1, "wait");
  await begun;
  await call(1, "echo", { text: "the same id" });
  await ask({
    method: "notifications/cancelled",
    params: { requestId: 1, reason: "changed my mind" },
  });
  await call(2, "echo", { text: "b" });
  await end();
  await serving;
  assertEquals(echo.isAborted(), true);
  assertEquals(lines.map(({ id, error }) => [id, error?.code]), [
    [1, -32600],
    [2, undefined],
  ]);
});

Deno.test("serveLines() lets calls end for a moment when the input has ended", async () => {
  const patient = open();
  const begun = patient.echo.begun();
  await patient.call(1, "wait");
  await begun;
  await patient.end();
  patient.echo.release();
  await patient.serving;
  assertEquals(patient.lines[0].result.content[0].text, "waited");

  const late = open();
  const lateBegun = late.echo.begun();
  await late.call(1, "wait");
  await lateBegun;
  await late.end();
  await late.echo.clock.advanceAsync(2_000);
  await late.serving;
  assertEquals(late.lines, []);
});

Deno.test("serveLines() refuses lines that are too long or no messages, and goes on", async () => {
  const { lines, send, call, end, serving } = open();
  await send("x".repeat(700));
  await send(`${"x".repeat(700)}\n\n{"a":\n`);
  await send(`{"jsonrpc":"2.0","id":7}\n`);
  await call(1, "echo", { text: "b" });
  await end();
  await serving;
  assertEquals(lines.map(({ id, error }) => [id, error?.code]), [
    [null, -32600],
    [null, -32700],
    [7, -32600],
    [1, undefined],
  ]);
});

Deno.test("serveLines() speaks 2026-07-28 and older versions on one stream", async () => {
  const { lines, ask, end, serving } = open();
  const meta = (version: string) => ({
    _meta: {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  });
  await ask({ id: 1, method: "server/discover", params: meta("2026-07-28") });
  await ask({ id: 2, method: "tools/list", params: meta("1900-01-01") });
  await ask({ id: 3, method: "tools/list" });
  await end();
  await serving;
  assertEquals(lines[0].result.resultType, "complete");
  assertEquals(lines[1].error.code, -32022);
  assertEquals(lines[1].error.data.requested, "1900-01-01");
  assertEquals(lines[2].result.resultType, undefined);
});

Deno.test("serveLines() rejects when its output is broken", async () => {
  const { call, end, serving } = open({
    write: () => Promise.reject(new Error("the pipe is closed")),
  });
  const rejected = assertRejects(() => serving, Error, "the pipe is closed");
  await call(1, "echo", { text: "a" });
  await end();
  await rejected;
});
