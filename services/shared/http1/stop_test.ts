import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import type { HttpHandler } from "../http/exchange.ts";
import { Http1Server } from "./server.ts";
import { RawClient } from "./testing/raw_client.ts";
import { echo } from "./testing/test_server.ts";

const WHOLE = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

interface Started {
  readonly server: Http1Server;
  readonly client: RawClient;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly port: number;
}

async function started(handler: HttpHandler): Promise<Started> {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const server = new Http1Server({
    hostname: "127.0.0.1",
    port: 0,
    handler,
    logger,
    clock,
  });
  const { port } = await server.start();
  return { server, client: await RawClient.connect(port), clock, logger, port };
}

Deno.test("Http1Server.stop() closes connections without a request", async () => {
  const { server, client, clock, port } = await started(echo);
  await client.send(WHOLE);
  await client.answer();
  using half = await RawClient.connect(port);
  await half.send("GET / HT");
  using other = await RawClient.connect(port);
  await other.send(WHOLE);
  await other.answer();
  // The clock stands still: stop() resolves only when all connections end.
  await server.stop(60_000);
  assertEquals(await client.rest(), "");
  assertEquals(await half.rest(), "");
  assertEquals(clock.pendingTimers, 0);
  await assertRejects(
    () => RawClient.connect(port),
    Deno.errors.ConnectionRefused,
  );
  client.close();
});

Deno.test("Http1Server.stop() lets a long poll answer early", async () => {
  const asked = Promise.withResolvers<void>();
  const { server, client } = await started(async () => {
    asked.resolve();
    await new Promise((resolve) => {
      server.stopping.addEventListener("abort", resolve, { once: true });
    });
    return { status: 200, headers: {}, body: "nothing yet" };
  });
  await client.send(WHOLE);
  await asked.promise;
  const stopped = server.stop(60_000);
  const { body, headers } = await client.answer();
  assertEquals([body, headers["connection"]], ["nothing yet", "close"]);
  await stopped;
  assertEquals(await client.rest(), "");
  client.close();
});

Deno.test("Http1Server.drain() lets clients leave with their next answer, and takes new ones", async () => {
  const { server, client, port } = await started(echo);
  await client.send(WHOLE);
  assertEquals((await client.answer()).headers["connection"], undefined);
  server.drain();
  await client.send(WHOLE);
  assertEquals((await client.answer()).headers["connection"], "close");
  assertEquals(await client.rest(), "");
  using other = await RawClient.connect(port);
  await other.send(WHOLE);
  assertEquals((await other.answer()).headers["connection"], "close");
  await server.stop(60_000);
  client.close();
});

Deno.test("Http1Server.stop() waits for a request, its body and its answer", async () => {
  const asked = Promise.withResolvers<void>();
  const { server, client } = await started((request) => {
    asked.resolve();
    return echo(request);
  });
  await client.send(
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nab",
  );
  await asked.promise;
  const stopped = server.stop(60_000);
  await client.send("cd");
  assertEquals((await client.answer()).body, "POST / abcd");
  await stopped;
  client.close();
});

Deno.test("Http1Server.stop() answers 503 when the grace is over", async () => {
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let isGone = false;
  const { server, client, clock, logger } = await started(async (request) => {
    request.onGone(() => isGone = true);
    asked.resolve();
    await release.promise;
    return { status: 200, headers: {}, body: "too late" };
  });
  await client.send(WHOLE);
  await asked.promise;
  const stopped = server.stop(1_000);
  const again = server.stop(60_000);
  await clock.advanceAsync(1_000);
  const { status, headers } = await client.answer();
  assertEquals([status, headers["connection"]], [503, "close"]);
  await stopped;
  await again;
  assert(isGone);
  assertEquals(logger.listMessages("warning"), [
    "Cut requests that outlived the grace period",
  ]);
  release.resolve();
  client.close();
});

Deno.test("Http1Server.stop() ends though a client takes nothing and sends nothing", async () => {
  const body = new Uint8Array(50_000_000);
  const asked = Promise.withResolvers<void>();
  const { server, client, clock, port } = await started(async (request) => {
    if (request.target === "/half") {
      asked.resolve();
      await request.body(100);
    }
    return { status: 200, headers: {}, body };
  });
  await client.send(WHOLE);
  await client.waitFor("\r\n\r\n");
  using half = await RawClient.connect(port);
  await half.send(
    "POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n",
  );
  await asked.promise;
  const stopped = server.stop(1_000);
  await clock.advanceAsync(1_000);
  assertEquals((await half.answer()).status, 503);
  await clock.advanceAsync(250);
  await stopped;
  client.close();
});

Deno.test("Http1Server.stop() before the start is the end of it", async () => {
  const server = new Http1Server({
    hostname: "127.0.0.1",
    port: 0,
    handler: echo,
    logger: new RecordingLogger(),
  });
  await server.stop(0);
  await assertRejects(() => server.start(), Error, "it was stopped");
});
