import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import { RedisPool } from "./pool.ts";
import {
  errorReply,
  FakeRedisClient,
  FakeServers,
  settle,
} from "./testing/fake_redis.ts";

interface Subject {
  readonly pool: RedisPool;
  readonly clock: FakeClock;
  readonly clients: FakeRedisClient[];
  readonly lines: string[];
}

function makeSubject(size: number): Subject {
  const clock = new FakeClock();
  const clients: FakeRedisClient[] = [];
  const lines: string[] = [];
  function log(message: string, fields: LogFields = {}): void {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  }
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const pool = new RedisPool({
    name: "store",
    size,
    address: { kind: "unix", path: "/sock" },
    auth: { password: "s3cret" },
    timeoutMs: 1_000,
    clock,
    random: () => 0,
    logger,
    openClient: (options) => {
      const client = new FakeRedisClient(options);
      clients.push(client);
      return client;
    },
  });
  return { pool, clock, clients, lines };
}

Deno.test("RedisPool.send() takes the connections in turn, those that are up", async () => {
  const { pool, clients } = makeSubject(3);
  pool.start();
  await clients[0]!.accept();
  await clients[2]!.accept();
  for (let i = 0; i < 6; i++) pool.send([["A"]]);
  assertEquals(clients.map(({ sent }) => sent.length), [3, 0, 3]);
  await clients[1]!.accept();
  for (let i = 0; i < 6; i++) pool.send([["A"]]);
  assertEquals(clients.map(({ sent }) => sent.length), [5, 2, 5]);
  pool.stop();
});

Deno.test("RedisPool.send() stays with a connection while that gathers", async () => {
  const { pool, clients } = makeSubject(2);
  pool.start();
  for (const client of clients) await client.accept();
  pool.send([["A"]]);
  clients[0]!.isGathering = true;
  for (let i = 0; i < 3; i++) pool.send([["A"]]);
  assertEquals(clients.map(({ sent }) => sent.length), [4, 0]);
  clients[0]!.isGathering = false;
  for (let i = 0; i < 3; i++) pool.send([["A"]]);
  assertEquals(clients.map(({ sent }) => sent.length), [5, 2]);
  pool.stop();
});

Deno.test("RedisPool.send() takes another connection when the one that it gathers on is dialled again", async () => {
  const { pool, clock, clients } = makeSubject(2);
  pool.start();
  for (const client of clients) await client.accept();
  await clock.advanceAsync(1_000);
  pool.send([["A"]]);
  await clients[0]!.lose();
  // The greeting of the new dial waits to be sent.
  clients[2]!.isGathering = true;
  clients[2]!.dial.resolve();
  await settle();
  pool.send([["B"]]);
  assertEquals(clients[1]!.sent.map(({ command }) => command), [["B"]]);
  pool.stop();
});

Deno.test("RedisPool.send() waits for a new dial when the one connection greets its server again", async () => {
  const { pool, clock, clients } = makeSubject(1);
  pool.start();
  await clients[0]!.accept();
  await clock.advanceAsync(1_000);
  pool.send([["A"]]);
  await clients[0]!.lose();
  clients[1]!.isGathering = true;
  clients[1]!.dial.resolve();
  await settle();
  const outcome = pool.send([["B"]]);
  await clients[1]!.accept();
  assertEquals(clients[1]!.sent.map(({ command }) => command), [["B"]]);
  clients[1]!.sent[0]!.resolve(7);
  assertEquals(await outcome, { kind: "replied", replies: [7] });
  pool.stop();
});

Deno.test("RedisPool.send() waits for the first dial", async () => {
  const { pool, clients } = makeSubject(2);
  pool.start();
  const first = pool.send([["A"]]);
  const second = pool.send([["B"]]);
  await clients[1]!.accept();
  const commands = clients[1]!.sent.map(({ command }) => command);
  assertEquals(commands, [["A"], ["B"]]);
  for (const { resolve } of clients[1]!.sent) resolve(7);
  const seven = { kind: "replied", replies: [7] } as const;
  assertEquals([await first, await second], [seven, seven]);
  pool.stop();
});

Deno.test("RedisPool.send() waits no longer than until all first dials failed", async () => {
  const { pool, clients } = makeSubject(2);
  pool.start();
  let outcome: unknown;
  pool.send([["A"]]).then((value) => outcome = value);
  clients[0]!.dial.reject(new Error("refused"));
  await settle();
  assertEquals(outcome, undefined);
  clients[1]!.dial.reject(new Error("refused s3cret"));
  await settle();
  const reason = `Cannot use "/sock": refused ***`;
  assertEquals(outcome, { kind: "unavailable", reason });
  assertEquals(await pool.send([["A"]]), { kind: "unavailable", reason });
  pool.stop();
});

Deno.test("RedisPool.send() does not wait for later dials", async () => {
  const { pool, clock, clients } = makeSubject(1);
  pool.start();
  clients[0]!.dial.reject(new Error("refused"));
  await settle();
  await clock.advanceAsync(25);
  assertEquals(clients.length, 2);
  assertEquals((await pool.send([["A"]])).kind, "unavailable");
  pool.stop();
});

Deno.test("RedisPool.send() keeps to its time limit over waiting and asking", async () => {
  const { pool, clock, clients } = makeSubject(1);
  pool.start();
  await clock.advanceAsync(100);
  let outcome: { readonly kind: string } | undefined;
  pool.send([["A"]]).then((value) => outcome = value);
  await clock.advanceAsync(800);
  await clients[0]!.accept();
  assertEquals(clients[0]!.sent.length, 1);
  await clock.advanceAsync(199);
  assertEquals(outcome, undefined);
  await clock.advanceAsync(1);
  assertEquals(outcome?.kind, "unavailable");
  pool.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisPool.send() gives up waiting at its deadline while another dial begins", async () => {
  const { pool, clock, clients } = makeSubject(1);
  pool.start();
  let outcome: { readonly kind: string; readonly reason?: string } | undefined;
  pool.send([["A"]], clock.nowMs() + 300).then((value) => outcome = value);
  await clock.advanceAsync(299);
  assertEquals(outcome, undefined);
  await clock.advanceAsync(1);
  assert(outcome?.kind === "unavailable");
  assertStringIncludes(outcome.reason!, "no connection");
  await clients[0]!.accept();
  assertEquals(clients[0]!.sent.length, 0);
  pool.stop();
});

Deno.test("RedisPool logs when the server comes and goes, not every dial", async () => {
  const { pool, clock, clients, lines } = makeSubject(2);
  pool.start();
  for (let i = 0; i < 20; i++) {
    for (const client of clients.splice(0)) {
      client.dial.reject(new Error("refused"));
    }
    await settle();
    await clock.advanceAsync(999);
  }
  await clock.advanceAsync(1);
  const [first, second] = clients;
  await first!.accept();
  // The server is available when it has executed a probe.
  assertEquals(lines.length, 1);
  for (const { resolve } of first!.sent.splice(0)) resolve(1);
  await second!.accept();
  await second!.lose();
  await first!.lose();
  assertEquals(lines, [
    `store is unavailable {"reason":"Cannot use \\"/sock\\": refused"}`,
    `store is available {"outageMs":19981}`,
    `store is unavailable {"reason":"Cannot use \\"/sock\\": lost"}`,
  ]);
  pool.stop();
});

interface Served {
  readonly pool: RedisPool;
  readonly clock: FakeClock;
  readonly servers: FakeServers;
  readonly lines: string[];
  /** Sends a write; returns the outcome's kind, and how long it took. */
  readonly call: (key?: string) => Promise<readonly [string, number]>;
}

/** Starts a pool whose server executes every command. */
async function startServed(timeoutMs = 1_000): Promise<Served> {
  const clock = new FakeClock();
  const servers = new FakeServers();
  const lines: string[] = [];
  const log = (message: string): void => void lines.push(message);
  servers.answer = () => 1;
  const pool = new RedisPool({
    name: "store",
    size: 3,
    address: { kind: "unix", path: "/sock" },
    timeoutMs,
    clock,
    random: () => 0.5,
    logger: { debug: log, info: log, warn: log, error: log },
    openClient: servers.open,
  });
  pool.start();
  await settle();
  const call: Served["call"] = async (key = "a") => {
    const beganMs = clock.nowMs();
    let kind: string | undefined;
    pool.send([["INCRBY", key, "1"], ["EXPIRE", key, "60"]])
      .then((outcome) => kind = outcome.kind);
    await settle();
    while (kind === undefined) await clock.advanceAsync(10);
    return [kind, clock.nowMs() - beganMs];
  };
  return { pool, clock, servers, lines, call };
}

Deno.test("RedisPool asks a server that refuses all calls no more, but for one probe at a time, until it takes them", async () => {
  const { pool, clock, servers, lines, call } = await startServed();
  assertEquals(await call(), ["replied", 0]);
  servers.answer = () => errorReply("OOM command not allowed");
  await call();
  await clock.advanceAsync(200);
  servers.log.length = 0;
  for (let i = 0; i < 100; i++) {
    assertEquals(await call(), ["unavailable", 0]);
    await clock.advanceAsync(100);
  }
  const probes = servers.log.length / 2;
  assert(probes >= 5 && probes < 12, `${probes} probes`);
  assertEquals([pool.isUp, pool.outage !== undefined], [false, true]);
  assertStringIncludes(pool.outage!, 'Cannot use "/sock": OOM');
  servers.answer = () => 1;
  await clock.advanceAsync(2_000);
  assertEquals(await call(), ["replied", 0]);
  assertEquals(pool.isUp, true);
  assertEquals(lines, [
    "connected to store",
    "store is unavailable",
    "store is available",
  ]);
  pool.stop();
  assertEquals(clock.pendingTimers, 0);
});

for (
  const refusal of [
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "NOPERM this user has no permissions to run the 'evalsha' command",
    "ERR a bad argument",
    "MOVED 5 other:1",
  ]
) {
  Deno.test(`RedisPool goes on with other calls when the server refuses some with "${refusal}"`, async () => {
    const { pool, clock, servers, lines, call } = await startServed();
    servers.answer = (_, [, key]) => key === "bad" ? errorReply(refusal) : 1;
    for (let i = 0; i < 100; i++) {
      await call("bad");
      assertEquals(await call(), ["replied", 0]);
      await clock.advanceAsync(50);
    }
    const probes = servers.log.filter((line) => line.includes("probe")).length;
    assert(probes <= 2 * 21, `${probes} commands of probes`);
    assert(lines.length <= 2, lines.join());
    pool.stop();
  });
}

for (const timeoutMs of [100, 1_000, 60_000]) {
  Deno.test(`RedisPool holds one caller of a silent server up for less than two seconds, of ${timeoutMs} ms a call`, async () => {
    const { pool, clock, servers, lines, call } = await startServed(timeoutMs);
    servers.answer = () => undefined;
    let slowMs = 0;
    for (let i = 0; i < 60; i++) {
      const [kind, tookMs] = await call();
      assertEquals(kind, "unavailable");
      slowMs += tookMs;
      await clock.advanceAsync(50);
    }
    assert(slowMs <= 1_750, `${slowMs} ms`);
    servers.answer = () => 1;
    await clock.advanceAsync(3_500);
    assertEquals(await call(), ["replied", 0]);
    assertEquals(lines.slice(1), [
      "store is unavailable",
      "store is available",
    ]);
    pool.stop();
  });
}

Deno.test("RedisPool goes on when one of its connections is stuck", async () => {
  const { pool, clock, clients } = makeSubject(2);
  pool.start();
  for (const client of clients) await client.accept();
  const stuck = pool.send([["A"]]);
  await clock.advanceAsync(250);
  for (const { resolve } of clients[1]!.sent.splice(0)) resolve(1);
  await clock.advanceAsync(750);
  assertEquals((await stuck).kind, "unavailable");
  assertEquals(pool.isUp, true);
  pool.stop();
});

Deno.test("RedisPool.stop() answers those that wait and can be called twice", async () => {
  const { pool, clock } = makeSubject(2);
  pool.start();
  const waiting = pool.send([["A"]]);
  pool.stop();
  pool.stop();
  assertEquals(await waiting, { kind: "unavailable", reason: "stopped" });
  assertEquals((await pool.send([["A"]])).kind, "unavailable");
  assertEquals(clock.pendingTimers, 0);
});
