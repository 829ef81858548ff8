import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { Logger } from "../logger.ts";
import {
  HttpServer,
  type HttpServerOptions,
  isLoopbackAddress,
} from "./server.ts";

const ignore = () => {};
const silent: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
};

function serverFor(
  handler: HttpServerOptions["handler"],
  options: Partial<HttpServerOptions> = {},
): HttpServer {
  return new HttpServer({
    hostname: "127.0.0.1",
    port: 0,
    handler,
    logger: silent,
    ...options,
  });
}

Deno.test("HttpServer answers with the peer's address at hand", async () => {
  const server = serverFor((_request, { remoteAddr }) =>
    new Response(
      remoteAddr.transport === "tcp" ? remoteAddr.hostname : "from afar",
    )
  );
  const { hostname, port } = await server.start();
  try {
    const response = await fetch(`http://${hostname}:${port}/`);
    assertEquals(await response.text(), hostname);
  } finally {
    await server.stop(1000);
  }
});

Deno.test("HttpServer.start() rejects with AddrInUse when the port is taken", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    const server = serverFor(() => new Response(), {
      port: listener.addr.port,
    });
    await assertRejects(() => server.start(), Deno.errors.AddrInUse);
    await server.stop(0);
  } finally {
    listener.close();
  }
});

Deno.test("HttpServer.start() rejects when it runs or was stopped", async () => {
  const server = serverFor(() => new Response());
  await server.start();
  await assertRejects(() => server.start(), Error, "it is running");
  await server.stop(1000);
  await assertRejects(() => server.start(), Error, "it was stopped");

  const never = serverFor(() => new Response());
  await never.stop(0);
  await never.stop(0);
  await assertRejects(() => never.start(), Error, "it was stopped");
});

Deno.test("HttpServer.stop() lets a running request finish and takes no new one", async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const clock = new FakeClock();
  const server = serverFor(async () => {
    entered.resolve();
    await release.promise;
    return new Response("finished");
  }, { clock });
  const { port } = await server.start();
  const running = fetch(`http://127.0.0.1:${port}/`);
  await entered.promise;
  const stopped = server.stop(60_000);
  await assertRejects(() => fetch(`http://127.0.0.1:${port}/`), TypeError);
  release.resolve();
  assertEquals(await (await running).text(), "finished");
  await stopped;
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("HttpServer.stop() does not wait for an idle connection", async () => {
  const clock = new FakeClock();
  const server = serverFor(() => new Response("ok"), { clock });
  const { port } = await server.start();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    await connection.write(
      new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
    );
    const bytes = new Uint8Array(1024);
    await connection.read(bytes);
    // The clock never fires, so only the end of the connection ends the stop.
    await server.stop(60_000);
    assertEquals(await connection.read(bytes), null);
    assertEquals(clock.pendingTimers, 0);
  } finally {
    connection.close();
  }
});

Deno.test("HttpServer.stop() cuts a hanging request when the grace is over", async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const clock = new FakeClock();
  const warnings: string[] = [];
  const server = serverFor(async () => {
    entered.resolve();
    await release.promise;
    return new Response("too late");
  }, {
    clock,
    logger: { ...silent, warn: (message) => warnings.push(message) },
  });
  const { port } = await server.start();
  const running = fetch(`http://127.0.0.1:${port}/`);
  await entered.promise;
  const stopped = server.stop(10);
  const again = server.stop(60_000);
  clock.advance(10);
  const response = await running;
  assertEquals(response.status, 503);
  await response.body?.cancel();
  await stopped;
  await again;
  assertEquals(warnings, ["Cut requests that outlived the grace period"]);
  release.resolve();
});

Deno.test("HttpServer.stop() resolves when a client keeps sending nothing", async () => {
  const entered = Promise.withResolvers<void>();
  const clock = new FakeClock();
  const server = serverFor(async (request) => {
    entered.resolve();
    return new Response(await request.text());
  }, { clock });
  const { port } = await server.start();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf",
  ));
  await entered.promise;
  const stopped = server.stop(10);
  clock.advance(10);
  await connection.read(new Uint8Array(1024));
  // The server still hopes for the rest of the body; the second bound ends it.
  clock.advance(1000);
  await stopped;
  connection.close();
});

Deno.test("HttpServer logs a handler that throws and answers 500", async () => {
  const errors: string[] = [];
  const server = serverFor(() => {
    throw new Error("broken");
  }, {
    logger: {
      ...silent,
      error: (_message, fields) => errors.push(String(fields?.error)),
    },
  });
  const { port } = await server.start();
  try {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    assertEquals(response.status, 500);
    assertEquals((await response.text()).includes("broken"), false);
    assertEquals(errors.length, 1);
  } finally {
    await server.stop(1000);
  }
});

Deno.test("isLoopbackAddress() is true for addresses of this machine", () => {
  for (const address of ["127.0.0.1", "127.9.8.7", "::1", "::FFFF:127.0.0.1"]) {
    assertEquals(isLoopbackAddress(address), true, address);
  }
});

Deno.test("isLoopbackAddress() is false for others", () => {
  const others = ["10.0.0.1", "::", "0.0.0.0", "::ffff:10.0.0.1", "1127.0.0.1"];
  for (const address of [...others, "127.0.0.1.example.com", "localhost", ""]) {
    assertEquals(isLoopbackAddress(address), false, address);
  }
});
