import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { freePort, RedisServer } from "../support/redis_server.ts";
import { askRedis } from "../../services/ratelimit/counters/kvstore/redis/ask.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, createBatch } from "./batches.ts";
import { type KvstoreSubject, startStore } from "./kvstore_subject.ts";
import {
  type FaultSubject,
  faultTest,
  type Outage,
  storeFaults,
  storeOutages,
} from "./store_faults.ts";

const OUTAGE_ARGS = [
  ...["--enable-debug-command", "yes", "--busy-reply-threshold", "20"],
  ...["--user", "alice", "on", ">pass", "~*", "+@all"],
  ...["--user", "default", "on", "nopass", "~*", "+@all"],
];

const SUBJECT: FaultSubject<RedisServer, KvstoreSubject> = {
  name: "KvstoreStore",
  backend: "kvstore",
  program: "redis-server",
  stopsWithinMs: 3_600_000,
  server: (args = []) => new RedisServer({ port: freePort(), args }),
  open: ({ host, port, socketPath }, { isUnix = false, ...options }) =>
    startStore({
      address: isUnix
        ? { kind: "unix", path: socketPath }
        : { kind: "tcp", host, port },
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

storeOutages({
  ...SUBJECT,
  server: () => SUBJECT.server(OUTAGE_ARGS),
}, [
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

faultTest(SUBJECT, "takes up connections again that the server closed", {
  isUnix: true,
}, async (server, { store }) => {
  await server.ask("CLIENT", "KILL", "TYPE", "normal");
  await applyUntil(store, "counted");
});

const SECRET = "s3cret!";
const ALICE = ["--user", "alice", "on", `>${SECRET}`, "~*", "+@all"];

/** Ways to sign in: the server's arguments, the credentials, what comes of it. */
const SIGN_INS: Readonly<
  Record<
    string,
    readonly [
      args: readonly string[],
      auth: { readonly username?: string; readonly password: string } | "none",
      refusal: string | undefined,
    ]
  >
> = {
  "a password": [["--requirepass", SECRET], { password: SECRET }, undefined],
  "a wrong password": [
    ["--requirepass", SECRET],
    { password: "wr0ng" },
    "WRONGPASS",
  ],
  "no password": [["--requirepass", SECRET], "none", "NOAUTH"],
  "a user of the access list": [
    ALICE,
    { username: "alice", password: SECRET },
    undefined,
  ],
  "an unknown user": [
    ALICE,
    { username: "bob", password: SECRET },
    "WRONGPASS",
  ],
  "a server that knows no signing in": [
    ["--rename-command", "AUTH", ""],
    { password: SECRET },
    "unknown command",
  ],
  "a user who may not set a counter's life": [
    [...ALICE, "-expire"],
    { username: "alice", password: SECRET },
    "NOPERM",
  ],
};

for (const [name, [args, auth, refusal]] of Object.entries(SIGN_INS)) {
  faultTest(SUBJECT, `signs in, or says why not, with ${name}`, {
    ...{ args, fault: "refuses", isUnix: name.includes("user") },
    ...auth === "none" ? {} : { auth },
  }, async (_server, { store, logger }) => {
    const answer = await store.apply(createBatch("a_"));
    if (refusal === undefined) return assertEquals(answer.kind, "counted");
    assert(answer.kind === "unavailable");
    assertStringIncludes(answer.reason, refusal);
    const told = JSON.stringify([answer, logger.lines]);
    if (auth !== "none") assert(!told.includes(auth.password), told);
  });
}

faultTest(
  SUBJECT,
  "takes no server that turned into a replica until it is a master again",
  {},
  async (server, { store, logger }) => {
    const before = await countConnections(server);
    await server.ask("REPLICAOF", "127.0.0.1", String(freePort()));
    for (let i = 0; i < 20; i++) {
      assertEquals((await store.apply(createBatch("a_"))).kind, "unavailable");
    }
    await waitUntil(
      async () => {
        const answer = await store.apply(createBatch("a_"));
        return answer.kind === "unavailable" &&
          answer.reason.includes("it is a replica");
      },
      { what: "the next dial" },
    );
    await server.ask("REPLICAOF", "NO", "ONE");
    await applyUntil(store, "counted");
    assertEquals((await store.apply(createBatch("a_"))).kind, "counted");
    assert(
      await countConnections(server) > before,
      "the connections were kept",
    );
    assert(logger.lines.length < 10, `${logger.lines.length} lines`);
  },
);

/** Returns the number of connections that a server has accepted so far. */
async function countConnections(server: RedisServer): Promise<number> {
  const stats = await server.ask("INFO", "stats");
  return Number(/total_connections_received:(\d+)/.exec(stats)?.[1]);
}
