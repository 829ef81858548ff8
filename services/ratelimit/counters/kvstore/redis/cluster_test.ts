import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { Buffer } from "node:buffer";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import type { RedisCommand } from "./command_writer.ts";
import type { RedisAuth } from "./address.ts";
import { RedisCluster } from "./cluster.ts";
import type { RedisOutcome } from "./reply.ts";
import { keyInSlot, keySlot } from "./slot_map.ts";
import { errorReply, FakeServers, settle } from "./testing/fake_redis.ts";

interface Subject {
  readonly cluster: RedisCluster;
  readonly clock: FakeClock;
  readonly servers: FakeServers;
  readonly lines: string[];
  /** Reply of the nodes to CLUSTER SLOTS. */
  slots: unknown;
}

const TWO_HALVES = [[0, 8_191, ["a", 1]], [8_192, 16_383, ["b", 2]]];
/** A key of the first half of the slots, and one of the second. */
const LOW = Buffer.from("bar1");
const HIGH = Buffer.from("foo");

async function startSubject(
  answer: (place: string, command: readonly string[]) => unknown,
  auth?: RedisAuth,
): Promise<Subject> {
  const clock = new FakeClock();
  const servers = new FakeServers();
  const lines: string[] = [];
  function log(message: string, fields: LogFields = {}): void {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  }
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const cluster = new RedisCluster({
    name: "store",
    size: 1,
    auth,
    seeds: {
      kind: "cluster",
      nodes: [{ kind: "tcp", host: "seed", port: 9 }],
    },
    timeoutMs: 1_000,
    clock,
    random: () => 0,
    logger,
    openClient: servers.open,
  });
  const subject: Subject = {
    cluster,
    clock,
    servers,
    lines,
    slots: TWO_HALVES,
  };
  servers.answer = (place, command) =>
    command[0] === "CLUSTER" ? subject.slots : answer(place, command);
  cluster.start();
  await settle();
  return subject;
}

function send(
  { cluster, clock }: Subject,
  ...commands: readonly RedisCommand[]
): Promise<RedisOutcome> {
  return cluster.send(commands, clock.nowMs() + 1_000);
}

/** Returns the ends of the lines that tell of outages. */
function outagesIn(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => /^store (is \w+) /.exec(line)?.[1] ?? []);
}

function readLog({ servers }: Subject): readonly string[] {
  return servers.log.filter((line) => !line.includes("CLUSTER"));
}

Deno.test("the keys of these tests are in both halves", () => {
  assert(keySlot(LOW) < 8_192 && keySlot(HIGH) >= 8_192);
});

Deno.test("RedisCluster.send() groups commands by node and keeps the order of replies", async () => {
  const subject = await startSubject((place, [verb]) => `${place} ${verb}`);
  const outcome = await send(
    subject,
    ["GET", LOW],
    ["INCRBY", HIGH, "1"],
    ["EXPIRE", HIGH, "60"],
    ["EVAL", "script", "1", LOW],
  );
  assertEquals(outcome, {
    kind: "replied",
    replies: ["a:1 GET", "b:2 INCRBY", "b:2 EXPIRE", "a:1 EVAL"],
  });
  assertEquals(readLog(subject), [
    "a:1 GET bar1",
    "a:1 EVAL script 1 bar1",
    "b:2 INCRBY foo 1",
    "b:2 EXPIRE foo 60",
  ]);
  subject.cluster.stop();
  assertEquals(subject.clock.pendingTimers, 0);
});

Deno.test("RedisCluster.send() follows a slot to a node whose name has the password in it", async () => {
  const slot = keySlot(LOW);
  for (const verb of ["MOVED", "ASK"]) {
    const subject = await startSubject(
      (place, [command]) =>
        place === "a:1"
          ? errorReply(`${verb} ${slot} redis-2.redis.svc:6379`)
          : `${place} ${command}`,
      { password: "redis" },
    );
    assertEquals(await send(subject, ["GET", LOW]), {
      kind: "replied",
      replies: ["redis-2.redis.svc:6379 GET"],
    });
    subject.cluster.stop();
  }
});

Deno.test("RedisCluster.send() follows a slot that moved, and remembers", async () => {
  const slot = keySlot(LOW);
  const subject = await startSubject((place, [verb]) =>
    place === "a:1" ? errorReply(`MOVED ${slot} c:3`) : `${place} ${verb}`
  );
  const outcome = await send(
    subject,
    ["INCRBY", LOW, "1"],
    ["EXPIRE", LOW, "60"],
    ["GET", HIGH],
  );
  assertEquals(outcome, {
    kind: "replied",
    replies: ["c:3 INCRBY", "c:3 EXPIRE", "b:2 GET"],
  });
  assertEquals(await send(subject, ["GET", LOW]), {
    kind: "replied",
    replies: ["c:3 GET"],
  });
  assertEquals(readLog(subject), [
    "a:1 INCRBY bar1 1",
    "a:1 EXPIRE bar1 60",
    "b:2 GET foo",
    "c:3 INCRBY bar1 1",
    "c:3 EXPIRE bar1 60",
    "c:3 GET bar1",
  ]);
  subject.cluster.stop();
});

Deno.test("RedisCluster.send() sends nothing again that was carried out", async () => {
  const slot = keySlot(LOW);
  let isMoved = false;
  const subject = await startSubject((place, [verb]) => {
    if (place === "a:1" && isMoved) return errorReply(`MOVED ${slot} b:2`);
    isMoved = true;
    return `${place} ${verb}`;
  });
  const outcome = await send(
    subject,
    ["INCRBY", LOW, "1"],
    ["EXPIRE", LOW, "60"],
  );
  assertEquals(outcome, {
    kind: "replied",
    replies: ["a:1 INCRBY", "b:2 EXPIRE"],
  });
  subject.cluster.stop();
});

Deno.test("RedisCluster.send() sends a command again with the one it is behind", async () => {
  // The slot moves to the node between the two commands.
  let asked = 0;
  const subject = await startSubject((place, [verb]) =>
    place === "a:1" && asked++ === 0
      ? errorReply(`MOVED ${keySlot(LOW)} b:2`)
      : `${place} ${verb}`
  );
  const outcome = await send(
    subject,
    ["INCRBY", LOW, "1"],
    ["EXPIRE", LOW, "60"],
  );
  assertEquals(outcome, {
    kind: "replied",
    replies: ["b:2 INCRBY", "b:2 EXPIRE"],
  });
  subject.cluster.stop();
});

Deno.test("RedisCluster.send() asks another node this time only", async () => {
  const subject = await startSubject((place, [verb]) => {
    if (verb === "ASKING") return "OK";
    return place === "a:1"
      ? errorReply(`ASK ${keySlot(LOW)} b:2`)
      : `${place} ${verb}`;
  });
  for (let i = 0; i < 2; i++) {
    assertEquals(
      await send(subject, ["INCRBY", LOW, "1"], ["EXPIRE", LOW, "60"]),
      { kind: "replied", replies: ["b:2 INCRBY", "b:2 EXPIRE"] },
    );
    assertEquals(subject.servers.log.splice(0).slice(-6), [
      "a:1 INCRBY bar1 1",
      "a:1 EXPIRE bar1 60",
      "b:2 ASKING",
      "b:2 INCRBY bar1 1",
      "b:2 ASKING",
      "b:2 EXPIRE bar1 60",
    ]);
  }
  subject.cluster.stop();
});

Deno.test("RedisCluster.send() tries later when told so, a few times", async () => {
  let left = 2;
  const subject = await startSubject(() =>
    left-- > 0 ? errorReply("TRYAGAIN") : 5
  );
  let outcome: unknown;
  send(subject, ["GET", LOW]).then((value) => outcome = value);
  await settle();
  await subject.clock.advanceAsync(19);
  assertEquals(readLog(subject).length, 1);
  await subject.clock.advanceAsync(1);
  assertEquals(readLog(subject).length, 2);
  await subject.clock.advanceAsync(39);
  assertEquals(outcome, undefined);
  await subject.clock.advanceAsync(1);
  assertEquals(outcome, { kind: "replied", replies: [5] });
  subject.cluster.stop();
});

Deno.test("RedisCluster.send() gives up when told so too often", async () => {
  // All the same, probes are served: not the node is at fault.
  const subject = await startSubject((_, [, key]) =>
    key?.startsWith("breaker") ? 1 : errorReply("CLUSTERDOWN")
  );
  let outcome: unknown;
  send(subject, ["GET", LOW]).then((value) => outcome = value);
  await subject.clock.advanceAsync(1_000);
  assertEquals(outcome, { kind: "unavailable", reason: "CLUSTERDOWN" });
  const tries = readLog(subject).filter((line) => line.includes("GET")).length;
  assert(tries > 1 && tries <= 6, `${tries} tries`);
  subject.cluster.stop();
});

Deno.test("RedisCluster.send() stops waiting for a cluster that is down, and is up with it again", async () => {
  let isDown = true;
  const subject = await startSubject((place) =>
    isDown ? errorReply("CLUSTERDOWN The cluster is down") : place
  );
  const { cluster, clock, lines } = subject;
  let outcome: RedisOutcome | undefined;
  send(subject, ["GET", LOW]).then((value) => outcome = value);
  await clock.advanceAsync(200);
  assert(outcome?.kind === "unavailable");
  // The other node is asked by itself.
  assertEquals(cluster.isUp, false);
  const sent = readLog(subject).length;
  for (const key of [LOW, HIGH]) {
    const later = await send(subject, ["GET", key]);
    assert(later.kind === "unavailable");
    assertStringIncludes(later.reason, "CLUSTERDOWN");
  }
  assertEquals(readLog(subject).length, sent);
  isDown = false;
  await clock.advanceAsync(2_000);
  assertEquals(cluster.isUp, true);
  assertEquals((await send(subject, ["GET", LOW])).kind, "replied");
  assertEquals(outagesIn(lines), ["is unavailable", "is available"]);
  cluster.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisCluster.send() goes on at the other nodes when one refuses all calls", async () => {
  const subject = await startSubject((place) =>
    place === "a:1" ? errorReply("OOM command not allowed") : place
  );
  const { cluster, clock, servers } = subject;
  await send(subject, ["INCRBY", LOW, "1"]);
  await clock.advanceAsync(200);
  assertEquals((await send(subject, ["GET", HIGH])).kind, "replied");
  // Nothing of a call is counted that can't be decided.
  servers.log.length = 0;
  const both = await send(
    subject,
    ["INCRBY", HIGH, "1"],
    ["INCRBY", LOW, "1"],
  );
  assert(both.kind === "unavailable");
  assertEquals(both.mayHaveCounted, undefined);
  assertEquals(servers.log, []);
  cluster.stop();
});

Deno.test("RedisCluster.send() does not go in circles, and goes on with slots that don't", async () => {
  const slot = keySlot(LOW);
  const probe = keyInSlot("breaker_probe", slot).toString();
  let isCircle = true;
  const subject = await startSubject((place, [verb, key]) =>
    isCircle && (key === String(LOW) || key === probe)
      ? errorReply(`MOVED ${slot} ${place === "a:1" ? "b:2" : "a:1"}`)
      : `${place} ${verb}`
  );
  const { cluster, clock, servers, lines } = subject;
  let outcome: RedisOutcome | undefined;
  send(subject, ["GET", LOW]).then((value) => outcome = value);
  await clock.advanceAsync(1_000);
  assertEquals(outcome?.kind, "unavailable");
  const asked = readLog(subject).filter((line) => line.endsWith(`GET ${LOW}`));
  assertEquals(asked.length, 6);
  servers.log.length = 0;
  const later = await send(subject, ["GET", LOW], ["GET", HIGH]);
  assert(later.kind === "unavailable");
  assertStringIncludes(later.reason, "no node serves a slot: MOVED");
  assertEquals(servers.log, []);
  assertEquals((await send(subject, ["GET", HIGH])).kind, "replied");
  isCircle = false;
  await clock.advanceAsync(2_500);
  assertEquals((await send(subject, ["GET", LOW])).kind, "replied");
  assertEquals(outagesIn(lines), ["is unavailable", "is available"]);
  cluster.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisCluster.send() goes on with other slots while one has no node, and finds the node that gets it", async () => {
  const subject = await startSubject((place) => place);
  const { cluster, clock, lines } = subject;
  const slot = keySlot(LOW);
  subject.slots = [
    [0, slot - 1, ["a", 1]],
    [slot + 1, 8_191, ["a", 1]],
    [8_192, 16_383, ["b", 2]],
  ];
  await clock.advanceAsync(15_000);
  for (let i = 0; i < 10; i++) {
    const outcome = await send(subject, ["GET", LOW]);
    assert(outcome.kind === "unavailable");
    assertEquals(outcome.reason, `no node serves slot ${slot}`);
    assertEquals((await send(subject, ["GET", HIGH])).kind, "replied");
    await clock.advanceAsync(20);
  }
  await clock.advanceAsync(10_000);
  subject.slots = TWO_HALVES;
  await clock.advanceAsync(1_300);
  assertEquals((await send(subject, ["GET", LOW])).kind, "replied");
  assertEquals(outagesIn(lines), ["is unavailable", "is available"]);
  cluster.stop();
});

Deno.test("RedisCluster.send() begins no round near its deadline", async () => {
  const subject = await startSubject(() => errorReply("TRYAGAIN"));
  const { cluster, clock } = subject;
  let outcome: RedisOutcome | undefined;
  cluster.send([["GET", LOW]], clock.nowMs() + 265)
    .then((value) => outcome = value);
  await settle();
  assertEquals(outcome?.kind, "unavailable");
  cluster.stop();
});

Deno.test("RedisCluster.send() is unavailable when one node is away", async () => {
  const subject = await startSubject((place) => place);
  subject.servers.kill("b:2");
  const outcome = await send(subject, ["GET", LOW], ["GET", HIGH]);
  assert(outcome.kind === "unavailable");
  assertStringIncludes(outcome.reason, "b:2");
  assertEquals((await send(subject, ["GET", LOW])).kind, "replied");
  assert(subject.cluster.isUp);
  subject.cluster.stop();
});

Deno.test("RedisCluster asks the nodes again while one is away, and goes on at its successor", async () => {
  const subject = await startSubject((place) => place);
  const { clock, servers } = subject;
  servers.kill("b:2");
  subject.slots = [[0, 8_191, ["a", 1]], [8_192, 16_383, ["c", 3]]];
  await clock.advanceAsync(600);
  assertEquals(await send(subject, ["GET", HIGH]), {
    kind: "replied",
    replies: ["c:3"],
  });
  assertEquals(subject.lines.filter((line) => line.startsWith("nodes of")), [
    'nodes of store {"masters":"a:1, b:2"}',
    'nodes of store {"masters":"a:1, c:3"}',
  ]);
  // A removed node is not dialled once no call can be waiting for it.
  await clock.advanceAsync(40_000);
  servers.down.clear();
  await clock.advanceAsync(5_000);
  assertEquals(servers.connections("b:2"), 0);
  assertEquals(servers.connections("a:1"), 1);
  subject.cluster.stop();
  assertEquals(servers.connections("a:1"), 0);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisCluster waits for its first map, and says why there is none", async () => {
  const subject = await startSubject((place) => place);
  subject.cluster.stop();
  const { servers, clock } = subject;
  servers.down.add("seed:9");
  const cluster = new RedisCluster({
    name: "store",
    seeds: {
      kind: "cluster",
      nodes: [{ kind: "tcp", host: "seed", port: 9 }],
    },
    timeoutMs: 1_000,
    clock,
    random: () => 0,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    openClient: servers.open,
  });
  cluster.start();
  const first = await cluster.send([["GET", LOW]], clock.nowMs() + 1_000);
  assertEquals(first, {
    kind: "unavailable",
    reason: 'no map of slots: "seed:9": refused',
  });
  assertEquals(cluster.isUp, false);
  servers.down.clear();
  await clock.advanceAsync(500);
  const later = await cluster.send([["GET", LOW]], clock.nowMs() + 1_000);
  assertEquals(later, { kind: "replied", replies: ["a:1"] });
  cluster.stop();
});

Deno.test("RedisCluster.stop() ends calls that pause and dials nobody later", async () => {
  const subject = await startSubject(() => errorReply("TRYAGAIN"));
  const pending = send(subject, ["GET", LOW]);
  await settle();
  subject.cluster.stop();
  assertEquals(await pending, { kind: "unavailable", reason: "stopped" });
  assertEquals((await send(subject, ["GET", LOW])).kind, "unavailable");
  subject.cluster.start();
  assertEquals(subject.servers.connections("a:1"), 0);
  assertEquals(subject.clock.pendingTimers, 0);
});
