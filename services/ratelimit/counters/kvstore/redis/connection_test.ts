import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { LateClock } from "../../testing/late_clock.ts";
import { RedisConnection, type RedisConnectionOptions } from "./connection.ts";
import { errorReply, FakeRedisClient, settle } from "./testing/fake_redis.ts";

interface Subject {
  readonly connection: RedisConnection;
  readonly clock: FakeClock;
  readonly clients: FakeRedisClient[];
  readonly changes: Array<string | undefined>;
}

function makeSubject(
  options: Partial<RedisConnectionOptions> = {},
): Subject {
  const clock = new FakeClock();
  const clients: FakeRedisClient[] = [];
  const changes: Array<string | undefined> = [];
  const connection = new RedisConnection({
    address: { kind: "tcp", host: "host", port: 1 },
    timeoutMs: 1_000,
    clock,
    random: () => 0,
    onChange: (reason) => changes.push(reason),
    openClient: (clientOptions) => {
      const client = new FakeRedisClient(clientOptions);
      clients.push(client);
      return client;
    },
    ...options,
  });
  return { connection, clock, clients, changes };
}

async function upSubject(
  options: Partial<RedisConnectionOptions> = {},
): Promise<Subject> {
  const subject = makeSubject(options);
  subject.connection.start();
  await subject.clients[0]!.accept();
  return subject;
}

Deno.test("RedisConnection.start() dials once and is up after the PING", async () => {
  const { connection, clients, changes } = makeSubject();
  connection.start();
  connection.start();
  assertEquals(clients.length, 1);
  assert(connection.isFreshDial);
  clients[0]!.dial.resolve();
  await settle();
  assertEquals(clients[0]!.sent.map(({ command }) => command), [["PING"]]);
  assert(!connection.isUp);
  await clients[0]!.accept();
  assert(connection.isUp);
  assertEquals(changes, [undefined]);
  connection.stop();
});

Deno.test("RedisConnection.start() leaves time to sign in when the pipeline window is long", () => {
  for (const [asked, given] of [[20, 20], [400, 250], [5_000, 250]] as const) {
    const { connection, clients } = makeSubject({ pipelineWindowMs: asked });
    connection.start();
    // Of 1,000 ms, for three writes one after the other.
    assertEquals(clients[0]!.options.pipelineWindowMs, given);
    connection.stop();
  }
});

Deno.test("RedisConnection dials ever more slowly and for ever", async () => {
  const { connection, clock, clients } = makeSubject();
  connection.start();
  for (const delayMs of [25, 50, 100, 200, 400, 800, 1_000, 1_000, 1_000]) {
    const client = clients.at(-1)!;
    client.dial.reject(new Error("refused"));
    await settle();
    assert(client.destroyed > 0);
    assert(!connection.isFreshDial);
    const dials = clients.length;
    await clock.advanceAsync(delayMs - 1);
    assertEquals(clients.length, dials);
    await clock.advanceAsync(1);
    assertEquals(clients.length, dials + 1);
  }
  await clients.at(-1)!.accept();
  assert(connection.isUp);
  connection.stop();
});

Deno.test("RedisConnection gives up a dial that hangs", async () => {
  for (const isAccepted of [false, true]) {
    const { connection, clock, clients, changes } = makeSubject();
    connection.start();
    if (isAccepted) clients[0]!.dial.resolve();
    await clock.advanceAsync(999);
    assertEquals(changes, []);
    await clock.advanceAsync(1);
    assertStringIncludes(changes[0]!, "no answer within 1000 ms");
    assert(clients[0]!.destroyed > 0);
    await clock.advanceAsync(25);
    assertEquals(clients.length, 2);
    connection.stop();
    assertEquals(clock.pendingTimers, 0);
  }
});

Deno.test("RedisConnection closes a dial that succeeds after it was given up", async () => {
  const { connection, clients } = makeSubject();
  connection.start();
  connection.stop();
  const [client] = clients;
  const before = client!.destroyed;
  await settle();
  assert(client!.destroyed > before);
  assert(!connection.isUp);
});

Deno.test("RedisConnection dials at once when it is lost after a while, later when lost at once", async () => {
  const { connection, clock, clients, changes } = await upSubject();
  await clock.advanceAsync(1_000);
  await clients[0]!.lose();
  assertEquals(clients.length, 2);
  assert(connection.isFreshDial);
  assertEquals(changes.at(-1), `Cannot use "host:1": lost`);
  await clients[1]!.accept();
  await clients[1]!.lose();
  assertEquals(clients.length, 2);
  await clock.advanceAsync(25);
  assertEquals(clients.length, 3);
  connection.stop();
});

Deno.test("RedisConnection.send() gives replies and refusals in order", async () => {
  const { connection, clients } = await upSubject();
  const outcome = connection.send([["A"], ["B"], ["C"]], Infinity);
  const { sent } = clients[0]!;
  assertEquals(sent.map(({ command }) => command), [["A"], ["B"], ["C"]]);
  sent[2]!.resolve("third");
  sent[0]!.resolve(1);
  sent[1]!.resolve(null);
  assertEquals(await outcome, {
    kind: "replied",
    replies: [1, null, "third"],
  });
  connection.stop();
});

Deno.test("RedisConnection.send() is unavailable at once when not up", async () => {
  const { connection } = makeSubject();
  const outcome = await connection.send([["A"]], Infinity);
  assertEquals(outcome.kind, "unavailable");
});

Deno.test("RedisConnection takes a server that misses a deadline for lost", async () => {
  const { connection, clock, clients } = await upSubject();
  const first = connection.send([["A"]], clock.nowMs() + 1_000);
  const second = connection.send([["B"], ["C"]], clock.nowMs() + 1_000);
  clients[0]!.sent[0]!.resolve(1);
  assertEquals((await first).kind, "replied");
  await clock.advanceAsync(500);
  const third = connection.send([["D"]], clock.nowMs() + 1_000);
  await clock.advanceAsync(499);
  assert(connection.isUp);
  await clock.advanceAsync(1);
  assert(!connection.isUp);
  for (const outcome of [await second, await third]) {
    assert(outcome.kind === "unavailable");
    assertStringIncludes(outcome.reason, "no answer within 1000 ms");
  }
  assert(clients[0]!.destroyed > 0);
  assertEquals(clients.length, 2);
  connection.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisConnection.send() says whether commands may have been carried out", async () => {
  const { connection, clock } = await upSubject();
  const sent = connection.send([["A"]], clock.nowMs() + 10);
  await clock.advanceAsync(10);
  const [first, later] = [await sent, await connection.send([["B"]], Infinity)];
  assert(first.kind === "unavailable" && later.kind === "unavailable");
  assertEquals(first.mayHaveCounted, true);
  assertEquals(later.mayHaveCounted, undefined);
  connection.stop();
});

Deno.test("RedisConnection.send() gives a server that takes nothing nothing more", async () => {
  const { connection, clients } = await upSubject();
  Object.assign(clients[0]!, { heldBytes: 65 * 1_024 * 1_024 });
  const outcome = await connection.send([["A"]], Infinity);
  assert(outcome.kind === "unavailable");
  assertStringIncludes(outcome.reason, "bytes wait");
  assertEquals(clients[0]!.sent.length, 0);
  connection.stop();
});

Deno.test("RedisConnection keeps a server that answers in time", async () => {
  const { connection, clock, clients } = await upSubject();
  for (let i = 0; i < 50; i++) {
    const outcome = connection.send([["A"]], clock.nowMs() + 1_000);
    await clock.advanceAsync(900);
    clients[0]!.sent.shift()!.resolve(i);
    assertEquals((await outcome).kind, "replied");
  }
  assert(connection.isUp);
  assertEquals(clients.length, 1);
  connection.stop();
});

Deno.test("RedisConnection.send() minds a deadline earlier than those before", async () => {
  const { connection, clock } = await upSubject();
  const late = connection.send([["A"]], clock.nowMs() + 1_000);
  const early = connection.send([["B"]], clock.nowMs() + 100);
  await clock.advanceAsync(100);
  assertEquals((await early).kind, "unavailable");
  assertEquals((await late).kind, "unavailable");
  connection.stop();
});

Deno.test("RedisConnection.send() refuses when too many calls wait", async () => {
  const { connection, clients } = await upSubject({ maxPending: 2 });
  const waiting = [
    connection.send([["A"]], Infinity),
    connection.send([["B"]], Infinity),
  ];
  const outcome = await connection.send([["C"]], Infinity);
  assert(outcome.kind === "unavailable");
  clients[0]!.sent[0]!.resolve(1);
  await waiting[0];
  const further = connection.send([["D"]], Infinity);
  clients[0]!.sent[2]!.resolve(2);
  assertEquals((await further).kind, "replied");
  connection.stop();
  assertEquals((await waiting[1]!).kind, "unavailable");
});

const READONLY = "READONLY You can't write against a read only replica.";

Deno.test("RedisConnection leaves a server that turns out to be a replica until it is a master", async () => {
  const { connection, clock, clients, changes } = await upSubject();
  await clock.advanceAsync(1_000);
  const outcome = connection.send([["INCRBY"], ["EXPIRE"]], Infinity);
  clients[0]!.sent[0]!.reject(errorReply(READONLY));
  const answer = await outcome;
  assert(answer.kind === "unavailable");
  assertStringIncludes(answer.reason, READONLY);
  assert(!connection.isUp && clients[0]!.destroyed > 0);

  for (const [i, role] of ["slave", "master"].entries()) {
    await clients[i + 1]!.accept();
    assert(!connection.isUp);
    const { command, resolve } = clients[i + 1]!.sent.shift()!;
    assertEquals(command, ["ROLE"]);
    resolve([role]);
    await settle();
    assertEquals(connection.isUp, role === "master");
    await clock.advanceAsync(1_000);
  }
  assertStringIncludes(changes.at(-2)!, "it is a replica");
  connection.stop();
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("RedisConnection takes no replica when it is to be a master", async () => {
  const { connection, clients } = makeSubject({ mustBeMaster: true });
  connection.start();
  await clients[0]!.accept();
  clients[0]!.sent.shift()!.resolve(["slave"]);
  await settle();
  assert(!connection.isUp);
  connection.stop();

  const proxied = makeSubject({ mustBeMaster: true });
  proxied.connection.start();
  await proxied.clients[0]!.accept();
  const unknown = errorReply("ERR unknown command 'ROLE'");
  proxied.clients[0]!.sent.shift()!.reject(unknown);
  await settle();
  assert(proxied.connection.isUp);
  proxied.connection.stop();
});

Deno.test("RedisConnection counts each time it is up once, however it ends", async () => {
  const seen: string[] = [];
  const { connection, clock, clients } = makeSubject({
    tally: {
      opened: () => seen.push("opened"),
      closed: () => seen.push("closed"),
    },
  });
  connection.start();
  clients[0]!.dial.reject(new Error("refused"));
  await settle();
  assertEquals(seen, []);
  await clock.advanceAsync(1_000);
  await clients[1]!.accept();
  assertEquals(seen.splice(0), ["opened"]);
  const outcome = connection.send([["A"]], clock.nowMs() + 10);
  await clock.advanceAsync(10);
  assertEquals((await outcome).kind, "unavailable");
  assertEquals(seen.splice(0), ["closed"]);
  await clock.advanceAsync(1_000);
  await clients[2]!.accept();
  connection.stop();
  connection.stop();
  assertEquals(seen, ["opened", "closed"]);
});

Deno.test("RedisConnection reads the replies that came while its own process stood still", async () => {
  for (const hasReplied of [true, false]) {
    const clock = new LateClock();
    const { connection, clients } = await upSubject({ clock });
    const call = connection.send([["A"]], clock.nowMs() + 100);
    clock.standStill(300);
    // Timers fire before the socket is read.
    clock.turn();
    assertEquals([connection.isUp, clients.length], [true, 1]);
    if (hasReplied) clients[0]!.sent[0]!.resolve(7);
    for (let turn = 0; turn < 5; turn++) {
      clock.standStill(5);
      clock.turn();
    }
    assertEquals((await call).kind, hasReplied ? "replied" : "unavailable");
    assertEquals(connection.isUp, hasReplied);
    connection.stop();
  }
});

Deno.test("RedisConnection goes on with a dial that succeeded while its own process stood still", async () => {
  const clock = new LateClock();
  const { connection, clients } = makeSubject({ clock });
  connection.start();
  clock.standStill(5_000);
  clock.turn();
  await clients[0]!.accept();
  for (let turn = 0; turn < 5; turn++) {
    clock.standStill(5);
    clock.turn();
  }
  assertEquals([connection.isUp, clients.length], [true, 1]);
  connection.stop();
});
