import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSocket } from "node:dgram";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { StatsdServer } from "../../../tests/support/statsd_server.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { StatsRegistry } from "./registry.ts";
import { StatsdSink } from "./statsd_sink.ts";

Deno.test("statsd sink sends what has changed at each flush over TCP", async () => {
  await using server = await StatsdServer.listen();
  const { clock, registry, sink } = setUp(server.port, {
    shown: (name) => ({ name: `${name}.__env=prod.__zone=eu`, ending: "" }),
  });
  registry.counter("hits").add(2);
  registry.gauge("entries").set(7);
  registry.timer("time").record(99);
  sink.start();
  sink.start();
  registry.timer("time").record(4.5);
  await server.connected(1);
  await settled(() => sink.flush(), server, 3);
  assertEquals(server.take(), [
    "hits.__env=prod.__zone=eu:2|c",
    "entries.__env=prod.__zone=eu:7|g",
    "time.__env=prod.__zone=eu:4.5|ms",
  ]);
  clock.advance(10_000);
  await server.lines(1);
  assertEquals(server.take(), ["entries.__env=prod.__zone=eu:7|g"]);
  registry.counter("hits").add(3);
  clock.advance(10_000);
  await server.lines(2);
  assertEquals(server.take(), [
    "hits.__env=prod.__zone=eu:3|c",
    "entries.__env=prod.__zone=eu:7|g",
  ]);
  await sink.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("statsd sink sends a bounded sample of a busy timer", async () => {
  await using server = await StatsdServer.listen();
  const { registry, sink } = setUp(server.port, { maxTimerSamples: 5 });
  sink.start();
  for (let ms = 1; ms <= 50; ms++) registry.timer("t").record(ms);
  await server.connected(1);
  await settled(() => sink.flush(), server, 5);
  const lines = server.take();
  assertEquals(lines.length, 5);
  for (const line of lines) assertMatch(line, /^t:\d+\|ms\|@0\.1$/);
  await sink.stop();
});

Deno.test("statsd sink warns once for an absent server and then sends all", async () => {
  const port = await freePort();
  const { clock, registry, sink, log } = setUp(port);
  sink.start();
  for (let round = 1; round <= 5; round++) {
    registry.counter("hits").add(1);
    await waitUntil(() => log.debug.length + log.warn.length >= round, {
      what: `attempt ${round} to fail`,
    });
    clock.advance(30_000);
  }
  assertEquals(log.warn.length, 1);
  assertMatch(log.warn[0] ?? "", /^Cannot send statistics: .*ECONNREFUSED/);
  await using server = await StatsdServer.listen(port);
  await retried(clock, server);
  registry.counter("hits").add(1);
  await settled(() => sink.flush(), server, 1);
  assertEquals(server.take(), ["hits:6|c"]);
  assertEquals(log.info, []);
  registry.counter("hits").add(1);
  await sink.flush();
  assertEquals(log.info, ["Statistics are sent again"]);
  await sink.stop();
});

Deno.test("statsd sink connects again and may warn again after it has worked", async () => {
  const server = await StatsdServer.listen();
  const { clock, registry, sink, log } = setUp(server.port);
  sink.start();
  await server.connected(1);
  registry.counter("hits").add(1);
  await settled(() => sink.flush(), server, 1);
  await server.close();
  await waitUntil(() => log.warn.length === 1, { what: "the loss" });
  registry.counter("hits").add(2);
  await sink.flush();
  await using again = await StatsdServer.listen(server.port);
  await retried(clock, again);
  await settled(() => sink.flush(), again, 1);
  assertEquals(again.take(), ["hits:2|c"]);
  registry.counter("hits").add(1);
  await sink.flush();
  assertEquals(log.warn.length, 1);
  assertEquals(log.info.length, 1);
  again.drop();
  await waitUntil(() => log.warn.length === 2, { what: "the second loss" });
  await sink.stop();
});

Deno.test("statsd sink warns once of a server that always hangs up", async () => {
  await using server = await StatsdServer.listen();
  server.hangUp = true;
  const { clock, registry, sink, log } = setUp(server.port);
  sink.start();
  for (let round = 1; round <= 4; round++) {
    registry.counter("hits").add(1);
    await waitUntil(() => log.debug.length + log.warn.length >= round, {
      what: `loss ${round}`,
    });
    clock.advance(30_000);
  }
  assertEquals(log.warn.length, 1);
  await sink.stop();
});

Deno.test("statsd sink waits longer after each failure, up to 30 s", async () => {
  const { clock, sink, log } = setUp(await freePort(), { random: () => 1 });
  sink.start();
  const delays = () => [...log.delays];
  for (let round = 1; round <= 9; round++) {
    await waitUntil(() => log.delays.length >= round, { what: "a failure" });
    clock.advance(log.delays[round - 1] ?? NaN);
  }
  await waitUntil(() => log.delays.length === 10, { what: "a failure" });
  assertEquals(delays(), [
    ...[500, 1_000, 2_000, 4_000, 8_000, 16_000],
    ...[30_000, 30_000, 30_000, 30_000],
  ]);
  await sink.stop();
});

Deno.test("statsd sink gives up a server that takes no bytes, and queues nothing", async () => {
  await using server = await StatsdServer.listen();
  server.paused = true;
  const { clock, registry, sink, log } = setUp(server.port, {
    linkTimeoutMs: 3_000,
  });
  const names = 40_000;
  for (let n = 0; n < names; n++) {
    registry.counter(`${n}.${"n".repeat(480)}`).add();
  }
  sink.start();
  await server.connected(1);
  let flushed = false;
  // About 19 MB: more than the buffers between the two sides hold.
  await waitUntil(() => clock.pendingTimers === 1, { what: "the link" });
  const flush = sink.flush().then(() => flushed = true);
  await waitUntil(() => clock.pendingTimers === 2, { what: "a payload" });
  await turns(50);
  assertEquals(flushed, false);
  assertEquals(sink.flush(), sink.flush());
  // Payloads that still went through have restarted the time limit.
  await waitUntil(() => {
    clock.advance(3_000);
    return flushed;
  }, { what: "the end of the flush" });
  await flush;
  assertMatch(
    log.warn.join("\n"),
    /^Cannot send statistics: no bytes taken for 3000 ms; .*$/,
  );
  server.paused = false;
  await retried(clock, server, 2);
  server.take();
  await settled(() => sink.flush(), server, 1);
  await sink.stop();
  // A connection that is not read from does not notice its end.
  await waitUntil(() => server.open === 1, { what: "the end" });
  const sentAgain = server.take().length;
  assert(sentAgain > 1_000 && sentAgain < names, `${sentAgain}`);
});

Deno.test("stop() sends what is left, once", async () => {
  await using server = await StatsdServer.listen();
  const { clock, registry, sink } = setUp(server.port);
  sink.start();
  registry.counter("hits").add(5);
  const stopped = sink.stop();
  assertEquals(sink.stop(), stopped);
  await stopped;
  await server.lines(1);
  assertEquals(server.take(), ["hits:5|c"]);
  registry.counter("hits").add(5);
  sink.start();
  await sink.flush();
  await waitUntil(() => server.open === 0, { what: "the end" });
  assertEquals(server.take(), []);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("stop() does not wait for an absent server or for a start", async () => {
  const { clock, sink, log } = setUp(await freePort());
  sink.start();
  await waitUntil(() => log.warn.length === 1, { what: "the failure" });
  await sink.stop();
  assertEquals(clock.pendingTimers, 0);
  const idle = setUp(1);
  await idle.sink.stop();
  idle.sink.start();
  assertEquals(idle.clock.pendingTimers, 0);
});

Deno.test("stop() is bounded when the server takes no bytes", async () => {
  await using server = await StatsdServer.listen();
  server.paused = true;
  const { clock, registry, sink } = setUp(server.port, {
    linkTimeoutMs: 60_000,
    stopTimeoutMs: 1_500,
  });
  for (let n = 0; n < 40_000; n++) {
    registry.counter(`${n}.${"n".repeat(480)}`).add();
  }
  sink.start();
  await server.connected(1);
  let stopped = false;
  const stop = sink.stop().then(() => stopped = true);
  await turns(50);
  clock.advance(1_499);
  await turns(5);
  assertEquals(stopped, false);
  clock.advance(1);
  await stop;
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("statsd sink sends datagrams that fit a frame over UDP", async () => {
  const socket = createSocket("udp4");
  const datagrams: string[] = [];
  socket.on("message", (bytes) => datagrams.push(bytes.toString()));
  await new Promise<void>((done) => socket.bind(0, "127.0.0.1", done));
  const { clock, registry, sink } = setUp(socket.address().port, {
    protocol: "udp",
    host: "localhost",
  });
  for (let n = 0; n < 100; n++) registry.counter(`counter.number_${n}`).add(n);
  registry.counter(`long.${"é".repeat(507)}`).add(2);
  sink.start();
  const lines = () =>
    datagrams.flatMap((text) => text.split("\n")).filter((line) => line !== "");
  await waitUntil(async () => {
    await sink.flush();
    return lines().length === 100;
  }, { what: "100 lines" });
  assert(lines().includes("counter.number_99:99|c"));
  assert(datagrams.length > 1);
  for (const text of datagrams) {
    assert(new TextEncoder().encode(text).length <= 1_432);
    assert(text.endsWith("\n"));
  }
  datagrams.length = 0;
  registry.counter("counter.number_1").add(4);
  clock.advance(10_000);
  await waitUntil(() => datagrams.length > 0, { what: "a datagram" });
  assertEquals(datagrams, ["counter.number_1:4|c\n"]);
  await sink.stop();
  await new Promise<void>((done) => socket.close(done));
});

Deno.test("statsd sink sends a line longer than a frame by itself over UDP", async () => {
  const socket = createSocket("udp4");
  const datagrams: string[] = [];
  socket.on("message", (bytes) => datagrams.push(bytes.toString()));
  await new Promise<void>((done) => socket.bind(0, "127.0.0.1", done));
  const { registry, sink } = setUp(socket.address().port, { protocol: "udp" });
  const long = "\u20ac".repeat(500);
  for (const name of ["before", long, "after"]) registry.counter(name).add();
  sink.start();
  await sink.stop();
  await waitUntil(() => datagrams.length === 3, { what: "three datagrams" });
  assertEquals(datagrams, ["before:1|c\n", `${long}:1|c\n`, "after:1|c\n"]);
  await new Promise<void>((done) => socket.close(done));
});

Deno.test("statsd sink warns of a name without an address over UDP", async () => {
  const { sink, log } = setUp(8125, { protocol: "udp", host: "no.invalid" });
  sink.start();
  await waitUntil(() => log.warn.length === 1, { what: "the warning" });
  assertMatch(log.warn[0] ?? "", /^Cannot send statistics: /);
  await sink.stop();
});

Deno.test({
  name: "statsd sink warns, and does not fail, when it may not bind for UDP",
  permissions: { net: ["127.0.0.1"] },
  async fn() {
    const { registry, sink, log } = setUp(8125, { protocol: "udp" });
    registry.counter("hits").add();
    sink.start();
    await waitUntil(() => log.warn.length === 1, { what: "the warning" });
    assertMatch(log.warn[0] ?? "", /no permission to bind "0\.0\.0\.0:0"/);
    await sink.stop();
  },
});

Deno.test("statsd sink gives up a server that does not accept in time", async () => {
  await using server = await StatsdServer.listen();
  const { clock, sink, log } = setUp(server.port, { linkTimeoutMs: 4_000 });
  sink.start();
  clock.advance(4_000);
  await waitUntil(() => log.warn.length === 1, { what: "the warning" });
  assertEquals(log.warn, [
    "Cannot send statistics: no connection for 4000 ms; set STATSD_HOST and " +
    "STATSD_PORT to where a server listens, or DISABLE_STATS=true",
  ]);
  await sink.stop();
  assertEquals(clock.pendingTimers, 0);
});

function setUp(
  port: number,
  options: Partial<ConstructorParameters<typeof StatsdSink>[0]> = {},
) {
  const clock = new FakeClock();
  const registry = new StatsRegistry();
  const log = {
    debug: [] as string[],
    info: [] as string[],
    warn: [] as string[],
    delays: [] as number[],
  };
  const note = (list: string[]) => (message: string, fields?: LogFields) => {
    list.push(message);
    const delayMs = fields?.retryInMs;
    if (typeof delayMs === "number") log.delays.push(delayMs);
  };
  const logger: Logger = {
    debug: note(log.debug),
    info: note(log.info),
    warn: note(log.warn),
    error: note(log.warn),
  };
  const sink = new StatsdSink({
    host: "127.0.0.1",
    port,
    flushIntervalMs: 10_000,
    registry,
    clock,
    logger,
    ...options,
  });
  return { clock, registry, sink, log };
}

/** Flushes until the server has `count` lines: the link may not be open yet. */
async function settled(
  flush: () => Promise<void>,
  server: StatsdServer,
  count: number,
): Promise<void> {
  await waitUntil(async () => {
    if (server.size === 0) await flush();
    return server.size >= count;
  }, { what: `${count} lines` });
}

/** Moves the clock on until the sink has connected again. */
async function retried(
  clock: FakeClock,
  server: StatsdServer,
  connections = 1,
): Promise<void> {
  await waitUntil(() => {
    if (server.accepted < connections) clock.advance(1_000);
    return server.accepted >= connections;
  }, { what: "a new connection" });
}

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

async function freePort(): Promise<number> {
  const server = await StatsdServer.listen();
  await server.close();
  return server.port;
}
