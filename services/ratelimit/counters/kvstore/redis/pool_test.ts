import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import { RedisPool } from "./pool.ts";
import { FakeRedisClient, settle } from "./testing/fake_redis.ts";

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
  await second!.accept();
  await second!.lose();
  await first!.lose();
  assertEquals(lines, [
    `no connection to store {"reason":"Cannot use \\"/sock\\": refused"}`,
    `connected to store {"address":"/sock"}`,
    `no connection to store {"reason":"Cannot use \\"/sock\\": lost"}`,
  ]);
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
