import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import type { RedisOutcome } from "./reply.ts";
import { RedisSentinelPool } from "./sentinel_pool.ts";
import { errorReply, FakeServers, settle } from "./testing/fake_redis.ts";

interface Subject {
  readonly pool: RedisSentinelPool;
  readonly clock: FakeClock;
  readonly servers: FakeServers;
  readonly lines: string[];
  /** The master that each sentinel names. */
  readonly masters: Record<string, readonly string[] | null>;
  /** Servers that are replicas. */
  readonly replicas: Set<string>;
}

function makeSubject(): Subject {
  const clock = new FakeClock();
  const servers = new FakeServers();
  const lines: string[] = [];
  const masters: Subject["masters"] = {
    "s1:1": ["m1", "6379"],
    "s2:2": ["m1", "6379"],
  };
  const replicas = new Set(["m2:6379"]);
  function log(message: string, fields: LogFields = {}): void {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  }
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  servers.answer = (place, [verb]) => {
    switch (verb) {
      case "SENTINEL":
        return masters[place];
      case "ROLE":
        return replicas.has(place) ? ["slave", "m1", 6379] : ["master", 0, []];
      case "SET":
        return replicas.has(place) ? errorReply("READONLY no") : place;
      default:
        return place;
    }
  };
  const pool = new RedisSentinelPool({
    name: "store",
    size: 2,
    group: {
      kind: "sentinel",
      masterName: "mine",
      sentinels: [
        { kind: "tcp", host: "s1", port: 1 },
        { kind: "tcp", host: "s2", port: 2 },
      ],
    },
    timeoutMs: 1_000,
    clock,
    random: () => 0,
    logger,
    openClient: servers.open,
  });
  return { pool, clock, servers, lines, masters, replicas };
}

function send(
  { pool, clock }: Subject,
  verb = "GET",
): Promise<RedisOutcome> {
  return pool.send([[verb, "key"]], clock.nowMs() + 1_000);
}

function failOver(subject: Subject): void {
  const { masters, replicas } = subject;
  masters["s1:1"] = ["m2", "6379"];
  masters["s2:2"] = ["m2", "6379"];
  replicas.delete("m2:6379");
  replicas.add("m1:6379");
}

const FIRST = { kind: "replied", replies: ["m1:6379"] } as const;
const SECOND = { kind: "replied", replies: ["m2:6379"] } as const;

Deno.test("RedisSentinelPool.send() waits until the master is found", async () => {
  const subject = makeSubject();
  assertEquals((await send(subject)).kind, "unavailable");
  subject.pool.start();
  assertEquals(await send(subject), FIRST);
  assertEquals(subject.servers.connections("m1:6379"), 2);
  assertEquals(subject.servers.log.slice(0, 2), [
    "s1:1 SENTINEL GET-MASTER-ADDR-BY-NAME mine",
    "m1:6379 GET key",
  ]);
  subject.pool.stop();
  assertEquals(subject.servers.connections("m1:6379"), 0);
  assertEquals(subject.clock.pendingTimers, 0);
});

Deno.test("RedisSentinelPool asks the next sentinel, and at first the one that knew", async () => {
  const subject = makeSubject();
  subject.servers.down.add("s1:1");
  subject.pool.start();
  assertEquals(await send(subject), FIRST);
  subject.servers.log.splice(0);
  await subject.clock.advanceAsync(2_100);
  const [first] = subject.servers.log;
  assert(first?.startsWith("s2:2"), first);
  subject.pool.stop();
});

Deno.test("RedisSentinelPool takes no replica for the master", async () => {
  const subject = makeSubject();
  subject.masters["s1:1"] = ["m2", "6379"];
  subject.pool.start();
  assertEquals(await send(subject), FIRST);
  subject.pool.stop();
});

Deno.test("RedisSentinelPool goes on at the new master when the old one is lost", async () => {
  const subject = makeSubject();
  const { pool, clock, servers, lines } = subject;
  pool.start();
  assertEquals(await send(subject), FIRST);
  await clock.advanceAsync(5_000);
  servers.kill("m1:6379");
  await settle();
  const outcome = await send(subject);
  assert(outcome.kind === "unavailable");
  assert(!pool.isUp);
  await clock.advanceAsync(3_000);
  failOver(subject);
  await clock.advanceAsync(500);
  assertEquals(await send(subject), SECOND);
  assertEquals(servers.connections("m1:6379"), 0);
  assertEquals(
    lines.filter((line) => line.startsWith("store has")),
    ['store has another master {"address":"m2:6379"}'],
  );
  assert(lines.length < 15, `${lines.length} lines`);
  pool.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisSentinelPool goes on at the new master when a write is refused", async () => {
  const subject = makeSubject();
  subject.pool.start();
  assertEquals(await send(subject, "SET"), FIRST);
  await subject.clock.advanceAsync(1_500);
  failOver(subject);
  assertEquals((await send(subject, "SET")).kind, "unavailable");
  await settle();
  assertEquals(await send(subject, "SET"), SECOND);
  subject.pool.stop();
});

Deno.test("RedisSentinelPool goes on at the new master though the old one takes writes", async () => {
  const subject = makeSubject();
  subject.pool.start();
  assertEquals(await send(subject), FIRST);
  failOver(subject);
  subject.replicas.clear();
  await subject.clock.advanceAsync(2_000);
  assertEquals(await send(subject), SECOND);
  subject.pool.stop();
});

Deno.test("RedisSentinelPool keeps its master while no sentinel answers", async () => {
  const subject = makeSubject();
  subject.pool.start();
  assertEquals(await send(subject), FIRST);
  subject.servers.down.add("s1:1").add("s2:2");
  await subject.clock.advanceAsync(10_000);
  assertEquals(await send(subject), FIRST);
  assertEquals(subject.lines.length, 2);
  subject.pool.stop();
});

Deno.test("RedisSentinelPool is unavailable while no sentinel knows the master", async () => {
  const subject = makeSubject();
  const { masters, pool, clock } = subject;
  masters["s1:1"] = null;
  masters["s2:2"] = null;
  pool.start();
  assertEquals(await send(subject), {
    kind: "unavailable",
    reason: 'no master: sentinel "s1:1": it knows no master "mine"; ' +
      'sentinel "s2:2": it knows no master "mine"',
  });
  await clock.advanceAsync(10_000);
  assertEquals(subject.lines.length, 1);
  masters["s2:2"] = ["m1", "6379"];
  await clock.advanceAsync(500);
  assertEquals(await send(subject), FIRST);
  pool.stop();
  pool.stop();
  pool.start();
  assertEquals((await send(subject)).kind, "unavailable");
});
