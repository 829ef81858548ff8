import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import { systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { CounterBatch } from "../counter_store.ts";
import { KvstoreStore } from "./kvstore_store.ts";
import type { RedisAddress } from "./redis/address.ts";

/** A server whose answers the test gives. */
interface ScriptedServer extends AsyncDisposable {
  readonly address: RedisAddress;
  /** Texts that arrived after the PING, one for each read. */
  readonly reads: string[];
}

const silent: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};

/**
 * Starts a server that answers PING, and answers everything else with what
 * `reply` returns for all bytes so far; "" waits for more.
 */
function scriptedServer(
  reply: (received: string) => string,
  socketPath?: string,
): ScriptedServer {
  const listener: Deno.Listener = socketPath === undefined
    ? Deno.listen({ hostname: "127.0.0.1", port: 0 })
    : Deno.listen({ transport: "unix", path: socketPath });
  const { addr } = listener;
  const reads: string[] = [];
  const connections: Array<Promise<void>> = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      connections.push(serve(connection));
    }
  })();
  async function serve(connection: Deno.Conn): Promise<void> {
    const buffer = new Uint8Array(1 << 20);
    let received = "";
    try {
      for (;;) {
        const count = await connection.read(buffer);
        if (count === null) break;
        const text = String.fromCharCode(...buffer.subarray(0, count));
        let answer = "+PONG\r\n";
        if (text !== "*1\r\n$4\r\nPING\r\n") {
          reads.push(text);
          received += text;
          answer = reply(received);
          if (answer !== "") received = "";
        }
        await connection.write(new TextEncoder().encode(answer));
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
    } finally {
      connection.close();
    }
  }
  return {
    address: addr.transport === "tcp"
      ? { kind: "tcp", host: addr.hostname, port: addr.port }
      : { kind: "unix", path: socketPath! },
    reads,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(connections);
    },
  };
}

function storeFor(
  server: ScriptedServer,
  options: Partial<ConstructorParameters<typeof KvstoreStore>[0]> = {},
): KvstoreStore {
  return new KvstoreStore({
    address: server.address,
    poolSize: 1,
    timeoutMs: 5_000,
    expirationJitterMaxSeconds: 0,
    clock: systemClock,
    logger: silent,
    ...options,
  });
}

function createBatch(count: number): CounterBatch {
  const keys = new TextEncoder().encode("k_".repeat(count));
  return {
    keys,
    nowSeconds: 120,
    operations: Array.from({ length: count }, (_, i) => ({
      algorithm: "fixed_window",
      keyStart: i * 2,
      keyEnd: i * 2 + 2,
      hits: 1,
      limit: 10,
      windowSeconds: 60,
    })),
  };
}

for (const kind of ["tcp", "unix"] as const) {
  Deno.test(`KvstoreStore.apply() sends the hits of a batch on one key as one command over ${kind}`, async () => {
    const folder = await Deno.makeTempDir();
    const first = "*3\r\n$6\r\nINCRBY\r\n$5\r\nk_120\r\n$1\r\n3\r\n" +
      "*3\r\n$6\r\nEXPIRE\r\n$5\r\nk_120\r\n$2\r\n60\r\n";
    const later = "*3\r\n$6\r\nINCRBY\r\n$5\r\nk_120\r\n$1\r\n3\r\n";
    {
      await using server = scriptedServer(
        (received) =>
          received === first
            ? ":6\r\n:1\r\n"
            : received === later
            ? ":6\r\n"
            : "",
        kind === "unix" ? `${folder}/sock` : undefined,
      );
      const store = storeFor(server);
      await store.start();
      for (let i = 0; i < 20; i++) {
        assertEquals(await store.apply(createBatch(3)), {
          kind: "counted",
          results: [4, 5, 6],
        });
      }
      assertEquals(server.reads, [first, ...new Array(19).fill(later)]);
      await store.stop();
    }
    await Deno.remove(folder, { recursive: true });
  });
}

for (
  const refusal of [
    "LOADING Redis is loading the dataset in memory",
    "NOAUTH Authentication required.",
    "OOM command not allowed when used memory > 'maxmemory'.",
  ]
) {
  Deno.test(`KvstoreStore.apply() is unavailable when the server says "${refusal}"`, async () => {
    await using server = scriptedServer(() => `-${refusal}\r\n:1\r\n`);
    const store = storeFor(server);
    await store.start();
    assertEquals(await store.apply(createBatch(1)), {
      kind: "unavailable",
      reason: refusal,
    });
    await store.stop();
  });
}

for (const refusal of ["MOVED 6257 10.0.0.2:6379", "ASK 6257 10.0.0.2:6379"]) {
  Deno.test(`KvstoreStore.apply() names the setting that is wrong when the server says "${refusal}"`, async () => {
    await using server = scriptedServer(() => `-${refusal}\r\n`.repeat(2));
    const logger = new RecordingLogger();
    const store = storeFor(server, { logger, typeSetting: "SOME_TYPE" });
    await store.start();
    for (let i = 0; i < 3; i++) {
      const answer = await store.apply(createBatch(1));
      assert(answer.kind === "unavailable");
      assertStringIncludes(answer.reason, refusal);
      assertStringIncludes(answer.reason, "set SOME_TYPE=cluster");
    }
    assertEquals(logger.messages, [
      "connected to kvstore",
      "kvstore refuses some commands",
    ]);
    assertStringIncludes(
      String(logger.lines[1]?.fields.reason),
      "SOME_TYPE=cluster",
    );
    await store.stop();
  });
}

Deno.test("KvstoreStore.apply() closes the connection when the server is read-only", async () => {
  const roles: string[] = [];
  await using server = scriptedServer((received) => {
    if (!received.includes("ROLE")) {
      return "-READONLY You can't write against a read only replica.\r\n:1\r\n";
    }
    roles.push(received);
    return "*1\r\n$5\r\nslave\r\n";
  });
  const store = storeFor(server);
  await store.start();
  const answer = await store.apply(createBatch(1));
  assert(answer.kind === "unavailable");
  assertStringIncludes(answer.reason, "READONLY");
  await waitUntil(() => roles.length > 0, { what: "the next dial" });
  const later = await store.apply(createBatch(1));
  assert(later.kind === "unavailable");
  await store.stop();
});

Deno.test("KvstoreStore.apply() is unavailable when the server breaks the protocol", async () => {
  await using server = scriptedServer(() => "what is this\r\n");
  const store = storeFor(server, { timeoutMs: 300 });
  await store.start();
  assertEquals((await store.apply(createBatch(1))).kind, "unavailable");
  await store.stop();
});

Deno.test("KvstoreStore.apply() is unavailable when some replies are missing", async () => {
  let calls = 0;
  await using server = scriptedServer(() => calls++ === 0 ? ":2\r\n" : "");
  const store = storeFor(server, { timeoutMs: 200 });
  await store.start();
  const begun = performance.now();
  assertEquals((await store.apply(createBatch(2))).kind, "unavailable");
  const tookMs = performance.now() - begun;
  assert(tookMs > 195, `${tookMs} ms`);
  await store.stop();
});

Deno.test("KvstoreStore.apply() is unavailable when a count is no number", async () => {
  await using server = scriptedServer(() => "$3\r\none\r\n:1\r\n");
  const store = storeFor(server);
  await store.start();
  assertEquals((await store.apply(createBatch(1))).kind, "unavailable");
  await store.stop();
});

Deno.test("KvstoreStore.isHealthy() does not need a connection unless told so", async () => {
  await using server = scriptedServer(() => "");
  const store = storeFor(server);
  assertEquals(store.isHealthy(), true);
  assertEquals((await store.apply(createBatch(1))).kind, "unavailable");
  assertEquals(store.isHealthy(), true);
  await store.stop();
});
