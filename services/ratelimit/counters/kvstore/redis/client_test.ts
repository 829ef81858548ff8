import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { systemClock } from "../../../../shared/clock.ts";
import {
  type Script,
  type ScriptedServer,
  startScriptedServer,
} from "../../../../../tests/support/scripted_server.ts";
import { waitUntil } from "../../../../../tests/support/wait_until.ts";
import {
  openRedisClient,
  type RedisClient,
  type RedisClientOptions,
  replies,
} from "./client.ts";
import type { RedisCommand } from "./command_writer.ts";
import type { RedisReply } from "./reply.ts";

const HOST = "127.0.0.1";

Deno.test("RedisClient.destroy() ends a dial that hangs", async () => {
  // The listener accepts no connection and its queue of two is full, so the
  // third dial hangs.
  const listener = Deno.listen({ hostname: HOST, port: 0, tcpBacklog: 1 });
  const { port } = listener.addr;
  const fillers = [
    await Deno.connect({ hostname: HOST, port }),
    await Deno.connect({ hostname: HOST, port }),
  ];
  const client = openRedisClient({
    address: { kind: "tcp", host: HOST, port },
    clock: systemClock,
    onError: () => {},
  });
  const dialled = client.connect();
  let isDone = false;
  dialled.then(() => isDone = true, () => isDone = true);
  // A round of the event loop lets the dial begin, and would let it succeed.
  const round = await Deno.connect({ hostname: HOST, port: greetOnce() });
  await round.read(new Uint8Array(1));
  round.close();
  assertEquals(isDone, false);
  client.destroy();
  await assertRejects(() => dialled);
  for (const filler of fillers) filler.close();
  listener.close();
});

Deno.test("RedisClient.connect() fails when nobody listens", async () => {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const { port } = listener.addr;
  listener.close();
  const client = openRedisClient({
    address: { kind: "tcp", host: HOST, port },
    clock: systemClock,
    onError: () => {},
  });
  await assertRejects(() => client.connect(), Error, "ECONNREFUSED");
  client.destroy();
  client.destroy();
});

/** A client of a server that answers by the script, and its errors. */
interface Subject extends AsyncDisposable {
  readonly client: RedisClient;
  readonly server: ScriptedServer;
  readonly errors: string[];
}

async function makeSubject(
  script: Script,
  options: Partial<RedisClientOptions> = {},
): Promise<Subject> {
  const server = await startScriptedServer(script);
  const errors: string[] = [];
  const client = openRedisClient({
    address: { kind: "tcp", host: HOST, port: server.port },
    clock: systemClock,
    onError: ({ message }) => errors.push(message),
    ...options,
  });
  return {
    client,
    server,
    errors,
    async [Symbol.asyncDispose]() {
      client.destroy();
      await server.stop();
    },
  };
}

Deno.test("RedisClient.send() writes all commands of a turn at once and hands out replies in their order", async () => {
  const sent: string[] = [];
  await using subject = await makeSubject((peer, text) => {
    sent.push(text);
    peer.send(":1\r\n:2\r\n-NO\r\n");
  });
  const { client } = subject;
  await client.connect();
  const seen: Array<readonly [string, number, RedisReply]> = [];
  const done = Promise.withResolvers<void>();
  client.send([["A"], ["B"]], {
    reply: (index, reply) => seen.push(["first", index, reply]),
  });
  client.send([["C"]], {
    reply: (index, reply) => {
      seen.push(["second", index, reply]);
      done.resolve();
    },
  });
  await done.promise;
  const command = (name: string) => `*1\r\n$1\r\n${name}\r\n`;
  assertEquals(sent, [["A", "B", "C"].map(command).join("")]);
  assertEquals(seen, [
    ["first", 0, 1],
    ["first", 1, 2],
    ["second", 0, { refusal: "NO" }],
  ]);
  assertEquals(client.heldBytes, 0);
});

Deno.test("RedisClient.connect() signs in and takes the database before it is done", async () => {
  const cases = [
    [{ auth: { password: "p" } }, ["AUTH p"]],
    [{ auth: { username: "u", password: "p" }, database: 3 }, [
      "AUTH u p",
      "SELECT 3",
    ]],
    [{ database: 3 }, ["SELECT 3"]],
  ] as const;
  for (const [options, expected] of cases) {
    const sent: string[] = [];
    await using subject = await makeSubject((peer, text) => {
      const words = text.split("\r\n").filter((word) => !/^[$]/.test(word));
      sent.push(
        ...words.join(" ").split(/\*\d /).slice(1).map((one) => one.trim()),
      );
      peer.send("+OK\r\n".repeat(expected.length));
    }, options);
    await subject.client.connect();
    assertEquals(sent, [...expected]);
  }
});

Deno.test("RedisClient.connect() fails when the server refuses", async () => {
  await using subject = await makeSubject(
    (peer) => peer.send("-WRONGPASS no\r\n+OK\r\n"),
    { auth: { password: "p" }, database: 1 },
  );
  await assertRejects(() => subject.client.connect(), Error, "WRONGPASS no");
  assertEquals(subject.errors, []);
});

const FAULTS: ReadonlyArray<
  readonly [what: string, script: Script, reason: string]
> = [
  ["closes", (peer) => peer.close(), ""],
  ["answers what was not asked", (peer) => peer.send(":1\r\n:2\r\n"), "asked"],
  ["breaks the protocol", (peer) => peer.send("?\r\n"), "no reply"],
];

for (const [what, script, reason] of FAULTS) {
  Deno.test(`RedisClient reports once that a server ${what}, and hears no more of it`, async () => {
    await using subject = await makeSubject(script);
    const { client, errors } = subject;
    await client.connect();
    const received: RedisReply[] = [];
    client.send([["A"]], { reply: (_, reply) => received.push(reply) });
    await waitUntil(() => errors.length > 0, { what: "the error" });
    client.send([["B"]], { reply: (_, reply) => received.push(reply) });
    client.destroy();
    assertStringIncludes(errors[0]!, reason);
    assertEquals(errors.length, 1);
    assert(received.length <= 1, String(received));
    assertEquals(client.heldBytes <= 32, true);
  });
}

Deno.test("RedisClient keeps what a server does not take, until it does", async () => {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const client = openRedisClient({
    address: { kind: "tcp", host: HOST, port: listener.addr.port },
    clock: systemClock,
    onError: () => {},
  });
  const accepted = listener.accept();
  await client.connect();
  using peer = await accepted;
  listener.close();
  const value = "x".repeat(8 * 1_024 * 1_024);
  const done = replies(client, [["SET", "a", value], ["SET", "b", value]]);
  const first = client.heldBytes;
  assert(first > 2 * value.length);
  const later = replies(client, [["PING"]]);
  assert(client.heldBytes > first);
  let taken = 0;
  const buffer = new Uint8Array(1 << 20);
  const wanted = client.heldBytes;
  while (taken < wanted) taken += await peer.read(buffer) ?? wanted;
  await peer.write(new TextEncoder().encode("+OK\r\n+OK\r\n+PONG\r\n"));
  assertEquals(await done, ["OK", "OK"]);
  assertEquals(await later, ["PONG"]);
  assertEquals(client.heldBytes, 0);
  client.destroy();
});

/** A port that greets one connection with one byte. */
function greetOnce(): number {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  listener.accept().then(async (connection) => {
    await connection.write(new Uint8Array(1));
    connection.close();
    listener.close();
  });
  return listener.addr.port;
}

/** An `INCRBY` and an `EXPIRE` of one counter. */
function pair(key: string, hits: number): readonly RedisCommand[] {
  const name = Buffer.from(key);
  return [["INCRBY", name, String(hits)], ["EXPIRE", name, "60"]];
}

Deno.test("RedisClient.send() merges pairs that are written together, but not across other commands", async () => {
  const sent: string[] = [];
  await using subject = await makeSubject((peer, text) => {
    const words = text.split(/\r\n(?:[*$]\d+\r\n)*/).slice(1, -1).join(" ");
    sent.push(words);
    peer.send(":1\r\n".repeat(words.match(/[A-Z]+/g)?.length ?? 0));
  });
  const { client } = subject;
  await client.connect();
  const all = (...lists: ReadonlyArray<readonly RedisCommand[]>) =>
    Promise.all(lists.map((commands) => replies(client, commands)));
  assertEquals(
    await all(pair("a", 2), [["GET", "a"]], pair("b", 3), pair("a", 4)),
    [[1, 1], [1], [1, 1], [1, 1]],
  );
  assertEquals(await all(pair("a", 2), pair("b", 3), pair("a", 4)), [
    [-3, 1],
    [1, 1],
    [1, 1],
  ]);
  const asking: readonly RedisCommand[] = [["ASKING"], ...pair("a", 5)];
  assertEquals(await all(asking, pair("a", 6)), [[1, 1, 1], [1, 1]]);
  assertEquals(sent, [
    "INCRBY a 2 EXPIRE a 60 GET a INCRBY b 3 EXPIRE b 60 INCRBY a 4 EXPIRE a 60",
    "INCRBY a 6 INCRBY b 3",
    "ASKING INCRBY a 5 EXPIRE a 60 INCRBY a 6",
  ]);
});

Deno.test("RedisClient.heldBytes has the names of counters until their replies", async () => {
  const peers: Array<Parameters<Script>[0]> = [];
  await using subject = await makeSubject((peer) => void peers.push(peer));
  const { client } = subject;
  await client.connect();
  const answer = replies(client, pair("k".repeat(100), 1));
  await waitUntil(() => peers.length > 0, { what: "the commands" });
  assert(client.heldBytes >= 100, `${client.heldBytes} bytes`);
  peers[0]!.send(":1\r\n:1\r\n");
  assertEquals(await answer, [1, 1]);
  assertEquals(client.heldBytes, 0);
});
