import { createServer, type IncomingMessage, type Server } from "node:http";
import { assert, assertEquals } from "@std/assert";
import { callService, type ServiceOutcome } from "./service_call.ts";

Deno.test("callService() reaches names below localhost with their Host header", async () => {
  const { server, url } = await listen((request, text) => ({
    status: 201,
    text: JSON.stringify({
      method: request.method,
      host: request.headers.host,
      path: request.url,
      token: request.headers.authorization,
      text,
    }),
  }));
  const outcome = await callService({
    url: new URL("/x?y=1", url),
    body: { domain: "ä" },
    token: "t1",
  });
  assert(outcome.kind === "ok");
  assertEquals(outcome.status, 201);
  assertEquals(JSON.parse(outcome.text), {
    method: "POST",
    host: url.host,
    path: "/x?y=1",
    token: "Bearer t1",
    text: '{"domain":"ä"}',
  });
  const read = await callService({ url: new URL("/list", url) });
  assert(read.kind === "ok");
  assertEquals(JSON.parse(read.text), {
    method: "GET",
    host: url.host,
    path: "/list",
    text: "",
  });
  await close(server);
});

Deno.test("callService() does not wait for ever, nor read without end", async () => {
  const { server, url } = await listen((request) =>
    request.url === "/silent"
      ? undefined
      : { status: 200, text: "x".repeat(2_000_000) }
  );
  const silent = await callService({
    url: new URL("/silent", url),
    body: {},
    timeoutMs: 100,
  });
  assertEquals(silent, { kind: "failed", reason: "it did not answer in time" });
  const large = await callService({ url, body: {} });
  assertEquals(large, { kind: "failed", reason: "its answer is too large" });
  await close(server);
  const away: ServiceOutcome = await callService({ url, body: {} });
  assertEquals(away.kind, "failed");
});

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function listen(
  answer: (request: IncomingMessage, text: string) => Reply | undefined,
): Promise<{ readonly server: Server; readonly url: URL }> {
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
    });
    request.on("end", () => {
      const bytes = new Uint8Array(chunks.flatMap((chunk) => [...chunk]));
      const reply = answer(request, new TextDecoder().decode(bytes));
      if (reply === undefined) return;
      response.writeHead(reply.status).end(reply.text);
    });
  });
  const ready = Promise.withResolvers<void>();
  server.listen(0, "localhost", () => ready.resolve());
  await ready.promise;
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  return { server, url: new URL(`http://accounts.localhost:${address.port}/`) };
}

async function close(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeAllConnections();
  await closed.promise;
}
