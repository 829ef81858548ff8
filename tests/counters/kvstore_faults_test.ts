import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  freePort,
  RedisServer,
  startRedisServer,
} from "../support/redis_server.ts";
import { askRedis } from "../../services/ratelimit/counters/kvstore/redis/ask.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, batchOf } from "./batches.ts";
import { startStore } from "./kvstore_subject.ts";
import {
  type FaultSubject,
  type Outage,
  storeFaults,
  storeOutages,
} from "./store_faults.ts";

function faultTest(name: string, fn: () => Promise<void>): void {
  serviceTest(["redis-server"], { name, fn });
}

const SUBJECT: FaultSubject<RedisServer> = {
  name: "KvstoreStore",
  backend: "kvstore",
  program: "redis-server",
  server: () =>
    new RedisServer({
      port: freePort(),
      args: [
        ...["--enable-debug-command", "yes", "--busy-reply-threshold", "20"],
        ...["--user", "alice", "on", ">pass", "~*", "+@all"],
        ...["--user", "default", "on", "nopass", "~*", "+@all"],
      ],
    }),
  open: ({ host, port }, options) =>
    startStore({
      address: { kind: "tcp", host, port },
      healthNeedsConnection: true,
      poolSize: 2,
      ...options,
    }),
};

storeFaults(SUBJECT);

/** A change of a setting that makes the server refuse. */
function setting(
  name: string,
  [bad, good]: readonly [string, string],
): Pick<Outage<RedisServer>, "begin" | "end"> {
  return {
    begin: (server) => server.command("CONFIG", "SET", name, bad),
    end: (server) => server.command("CONFIG", "SET", name, good),
  };
}

/** Something that makes the server refuse until it is ended. */
function lasting(
  { run, end }: {
    readonly run: (server: RedisServer) => Promise<unknown>;
    readonly end: (server: RedisServer) => Promise<unknown>;
  },
): Pick<Outage<RedisServer>, "begin" | "end"> {
  let running: Promise<unknown> | undefined;
  return {
    begin: (server) => void (running = run(server)),
    end: async (server) => {
      await end(server);
      await running;
    },
  };
}

/** Runs commands over one connection, even while the server wants a password. */
async function sendAll(
  { socketPath: path }: RedisServer,
  commands: readonly string[],
  password?: string,
): Promise<void> {
  const outcome = await askRedis(
    {
      address: { kind: "unix", path },
      ...password === undefined ? {} : { auth: { password } },
      timeoutMs: 5_000,
      clock: systemClock,
    },
    commands.map((command) => command.split(" ")),
  );
  assertEquals(outcome.kind, "replied");
}

const REPLICA = ["REPLICAOF 127.0.0.1 1"];
const MASTER = [
  "REPLICAOF NO ONE",
  "CONFIG SET replica-serve-stale-data yes replica-read-only yes",
];

storeOutages(SUBJECT, [
  { name: "OOM", reason: /OOM/, ...setting("maxmemory", ["1", "0"]) },
  {
    name: "NOREPLICAS",
    reason: /NOREPLICAS/,
    ...setting("min-replicas-to-write", ["1", "0"]),
  },
  {
    name: "READONLY",
    reason: /READONLY|it is a replica/,
    begin: (server) => sendAll(server, REPLICA),
    end: (server) => sendAll(server, MASTER),
  },
  {
    name: "MASTERDOWN",
    reason: /MASTERDOWN/,
    begin: (server) =>
      sendAll(server, [
        "CONFIG SET replica-serve-stale-data no replica-read-only no",
        ...REPLICA,
      ]),
    end: (server) => sendAll(server, MASTER),
  },
  {
    name: "MISCONF",
    reason: /MISCONF/,
    begin: failSaving,
    end: (server) => sendAll(server, ["CONFIG SET save "]),
  },
  {
    name: "LOADING",
    reason: /LOADING|no answer/,
    ...lasting({
      // A key takes a millisecond to load until the end is asked for.
      run: (server) =>
        sendAll(server, [
          "DEBUG POPULATE 5000",
          "CONFIG SET loading-process-events-interval-bytes 1024",
          "CONFIG SET key-load-delay 1000",
          "DEBUG RELOAD",
        ]),
      end: (server) => sendAll(server, ["CONFIG SET key-load-delay 0"]),
    }),
  },
  {
    name: "BUSY",
    reason: /BUSY/,
    ...lasting({
      run: (server) => server.ask("EVAL", "while true do end", "0"),
      end: (server) => server.command("SCRIPT", "KILL"),
    }),
  },
  {
    name: "NOPERM",
    reason: /NOPERM/,
    begin: (server) => server.command("ACL", "SETUSER", "default", "-incrby"),
    end: (server) => server.command("ACL", "SETUSER", "default", "+@all"),
  },
  {
    name: "NOAUTH",
    reason: /NOAUTH/,
    begin: (server) =>
      sendAll(server, [
        "CONFIG SET requirepass x",
        "CLIENT KILL TYPE normal SKIPME yes",
      ]),
    end: (server) => sendAll(server, ["CONFIG SET requirepass "], "x"),
  },
  {
    name: "WRONGPASS",
    reason: /WRONGPASS/,
    auth: { username: "alice", password: "pass" },
    begin: (server) =>
      sendAll(server, [
        "ACL SETUSER alice resetpass >other",
        "CLIENT KILL USER alice",
      ]),
    end: (server) => server.command("ACL", "SETUSER", "alice", ">pass"),
  },
  {
    name: "a server that hangs",
    reason: /no answer within 1000 ms/,
    begin: (server) => server.pause(),
    end: (server) => server.resume(),
  },
  {
    name: "a server that is killed",
    reason: /closed|ECONNREFUSED/,
    begin: (server) => server.kill(),
    end: (server) => server.restart(),
  },
]);

/** Lets a snapshot fail: its file can't take the place of a folder. */
async function failSaving(server: RedisServer): Promise<void> {
  const folder = (await server.ask("CONFIG", "GET", "dir")).split("\n")[1]!;
  await Deno.mkdir(`${folder}/dump.rdb/full`, { recursive: true });
  await server.command("CONFIG", "SET", "save", "3600 1000000");
  await server.command("BGSAVE");
  await waitUntil(
    async () =>
      (await server.ask("INFO", "persistence")).includes(
        "rdb_last_bgsave_status:err",
      ),
    { what: "a snapshot to fail" },
  );
  await Deno.remove(`${folder}/dump.rdb`, { recursive: true });
}

faultTest(
  "KvstoreStore takes up connections again that the server closed",
  async () => {
    const server = await startRedisServer();
    const { store } = await startStore({
      address: { kind: "unix", path: server.socketPath },
      poolSize: 2,
    });
    await applyUntil(store, "counted");
    await server.ask("CLIENT", "KILL", "TYPE", "normal");
    await applyUntil(store, "counted");
    await store.stop();
    await server.stop();
  },
);

faultTest("KvstoreStore stops at once while the server hangs", async () => {
  const server = await startRedisServer();
  const { store } = await startStore({
    address: { kind: "tcp", host: server.host, port: server.port },
    timeoutMs: 3_600_000,
  });
  await applyUntil(store, "counted");
  server.pause();
  const flying = store.apply(batchOf("a_"));
  await store.stop();
  assertEquals((await flying).kind, "unavailable");
  await server.stop();
});

faultTest("KvstoreStore signs in with a password", async () => {
  const server = await startRedisServer({ args: ["--requirepass", "s3cret!"] });
  const address = {
    kind: "tcp",
    host: server.host,
    port: server.port,
  } as const;
  const { store } = await startStore({
    address,
    auth: { password: "s3cret!" },
  });
  assertEquals((await store.apply(batchOf("a_"))).kind, "counted");
  await store.stop();

  const wrong = await startStore({ address, auth: { password: "wr0ng" } });
  const answer = await wrong.store.apply(batchOf("a_"));
  assert(answer.kind === "unavailable");
  assertStringIncludes(answer.reason, "WRONGPASS");
  assert(!JSON.stringify(wrong.logger.lines).includes("wr0ng"));
  await wrong.store.stop();

  const none = await startStore({ address });
  const refused = await none.store.apply(batchOf("a_"));
  assert(refused.kind === "unavailable");
  assertStringIncludes(refused.reason, "NOAUTH");
  await none.store.stop();
  await server.stop();
});

faultTest("KvstoreStore signs in as a user of the access list", async () => {
  const server = await startRedisServer({
    args: ["--user", "alice", "on", ">s3cret!", "~*", "+@all"],
  });
  const address = { kind: "unix", path: server.socketPath } as const;
  const { store } = await startStore({
    address,
    auth: { username: "alice", password: "s3cret!" },
  });
  assertEquals((await store.apply(batchOf("a_"))).kind, "counted");
  await store.stop();
  const wrong = await startStore({
    address,
    auth: { username: "bob", password: "s3cret!" },
  });
  const answer = await wrong.store.apply(batchOf("a_"));
  assert(answer.kind === "unavailable");
  assertStringIncludes(answer.reason, "WRONGPASS");
  await wrong.store.stop();
  await server.stop();
});

faultTest(
  "KvstoreStore keeps the password out of a server's complaint about signing in",
  async () => {
    const server = await startRedisServer({
      args: ["--rename-command", "AUTH", ""],
    });
    const { store, logger } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
      auth: { password: "s3cret!" },
    });
    const answer = await store.apply(batchOf("a_"));
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, "unknown command");
    assert(!answer.reason.includes("s3cret!"));
    assert(!JSON.stringify(logger.lines).includes("s3cret!"));
    await store.stop();
    await server.stop();
  },
);

faultTest(
  "KvstoreStore takes no server that turned into a replica until it is a master again",
  async () => {
    const server = await startRedisServer();
    const { store, logger } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
      poolSize: 2,
    });
    await applyUntil(store, "counted");
    const before = await connectionsOf(server);
    await server.ask("REPLICAOF", "127.0.0.1", String(freePort()));
    for (let i = 0; i < 20; i++) {
      assertEquals((await store.apply(batchOf("a_"))).kind, "unavailable");
    }
    await waitUntil(
      async () => {
        const answer = await store.apply(batchOf("a_"));
        return answer.kind === "unavailable" &&
          answer.reason.includes("it is a replica");
      },
      { what: "the next dial" },
    );
    await server.ask("REPLICAOF", "NO", "ONE");
    await applyUntil(store, "counted");
    assertEquals((await store.apply(batchOf("a_"))).kind, "counted");
    assert(await connectionsOf(server) > before, "the connections were kept");
    assert(logger.lines.length < 10, `${logger.lines.length} lines`);
    await store.stop();
    await server.stop();
  },
);

faultTest(
  "KvstoreStore is unavailable when it may not set a counter's life",
  async () => {
    const server = await startRedisServer({
      args: ["--user", "alice", "on", ">pass", "~*", "+@all", "-expire"],
    });
    const { store } = await startStore({
      address: { kind: "tcp", host: server.host, port: server.port },
      auth: { username: "alice", password: "pass" },
    });
    const answer = await store.apply(batchOf("a_"));
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, "NOPERM");
    await store.stop();
    await server.stop();
  },
);

/** Returns the number of connections that a server has accepted so far. */
async function connectionsOf(server: RedisServer): Promise<number> {
  const stats = await server.ask("INFO", "stats");
  return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
}
