import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  freePort,
  RedisServer,
  startRedisServer,
} from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { applyUntil, batchOf } from "./batches.ts";
import { startStore } from "./kvstore_subject.ts";
import { storeFaults } from "./store_faults.ts";

function faultTest(name: string, fn: () => Promise<void>): void {
  serviceTest(["redis-server"], { name, fn });
}

storeFaults({
  name: "KvstoreStore",
  backend: "kvstore",
  program: "redis-server",
  server: () => new RedisServer({ port: freePort() }),
  open: ({ host, port }, options) =>
    startStore({
      address: { kind: "tcp", host, port },
      healthNeedsConnection: true,
      poolSize: 2,
      ...options,
    }),
});

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
      () =>
        logger.lines.some(({ fields }) =>
          String(fields.reason).includes("it is a replica")
        ),
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
