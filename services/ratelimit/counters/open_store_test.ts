import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import {
  type ScriptedClient,
  startScriptedServer,
} from "../../../tests/support/scripted_server.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { readSettings } from "../../shared/settings.ts";
import { rateLimitSettings } from "../settings.ts";
import { StatsRegistry } from "../stats/registry.ts";
import type { CounterStore } from "./counter_store.ts";
import { openStore } from "./open_store.ts";
import { planStore } from "./store_plan.ts";

/** Makes the store that the settings ask for. */
async function make(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly store: CounterStore; readonly logger: RecordingLogger }> {
  const read = readSettings(rateLimitSettings, (name) => env[name]);
  if (read.kind === "invalid") throw new Error(read.problems.join("\n"));
  const planned = await planStore(read.values, () => Promise.resolve("PEM"));
  if (planned.kind === "invalid") throw new Error(planned.problems.join("\n"));
  const logger = new RecordingLogger();
  const store = openStore(planned.plan, {
    settings: read.values,
    clock: new FakeClock(),
    logger,
    stats: new StatsRegistry(),
  });
  return { store, logger };
}

async function open(
  env: Readonly<Record<string, string>>,
): Promise<{ warnings: string[] }> {
  const { store, logger } = await make(env);
  await store.stop();
  return { warnings: logger.listMessages("warning") };
}

Deno.test("openStore() takes memory when nothing is set, and says what that means", async () => {
  const { warnings } = await open({});
  assertStringIncludes(warnings[0]!, "limits apply only to this process");
});

Deno.test("openStore() follows the address, the type and its older names", async () => {
  const rows: readonly Record<string, string>[] = [
    { KVSTORE_URL: "127.0.0.1:1" },
    { REDIS_URL: "127.0.0.1:1", REDIS_SOCKET_TYPE: "TCP" },
    { KVSTORE_URL: "/run/store.sock" },
    { BACKEND_TYPE: "redis", REDIS_URL: "/run/store.sock" },
    { REDIS_TYPE: "SENTINEL", REDIS_URL: "mymaster,127.0.0.1:1" },
    { KVSTORE_TYPE: "cluster", KVSTORE_URL: "127.0.0.1:1,127.0.0.1:2" },
    {
      KVSTORE_URL: "127.0.0.1:1",
      KVSTORE_PERSECOND: "true",
      KVSTORE_PERSECOND_URL: "/run/second.sock",
    },
    {
      KVSTORE_URL: "127.0.0.1:1",
      KVSTORE_TLS: "true",
      KVSTORE_TLS_CACERT: "/there.pem",
    },
    { BACKEND_TYPE: "memcache", MEMCACHE_HOST_PORT: "127.0.0.1:1" },
    { BACKEND_TYPE: "altcache", ALTCACHE_SRV: "_memcache._tcp.store.test" },
    {
      BACKEND_TYPE: "altcache",
      ALTCACHE_HOST_PORT: "127.0.0.1:1",
      ALTCACHE_TLS: "true",
      ALTCACHE_TLS_CACERT: "/there.pem",
    },
  ];
  for (const env of rows) {
    const { warnings } = await open(env);
    assertEquals(warnings, [], JSON.stringify(env));
  }
});

/** Commands without an answer at which a connection to memcached is busy. */
const BUSY = 2_048;

for (const maxIdle of [1, 2]) {
  Deno.test(`openStore() keeps the ${maxIdle} connections of ALTCACHE_MAX_IDLE_CONNS after a burst`, async () => {
    const held: ScriptedClient[] = [];
    const server = await startScriptedServer((client, sent) => {
      for (const line of sent.split("\r\n")) {
        if (line === "version") client.send("VERSION 1\r\n");
        else if (line.startsWith("get ")) held.push(client);
      }
    });
    // By the clock of the store no time passes.
    const { store } = await make({
      BACKEND_TYPE: "altcache",
      ALTCACHE_HOST_PORT: `127.0.0.1:${server.port}`,
      ALTCACHE_MAX_IDLE_CONNS: String(maxIdle),
    });
    await store.start();
    const look = {
      keys: new TextEncoder().encode("a_"),
      nowSeconds: 1_795_219_200,
      operations: [{
        algorithm: "fixed_window",
        keyStart: 0,
        keyEnd: 2,
        hits: 0,
        limit: 9,
        windowSeconds: 60,
      }],
    } as const;
    const calls = [store.apply(look)];
    await waitUntil(() => held.length === 1, { what: "a first call" });
    for (const connections of [2, 3]) {
      await waitUntil(() => {
        if (server.open === connections) return true;
        for (let i = 0; i < BUSY / 8; i++) calls.push(store.apply(look));
        return false;
      }, { what: `${connections} connections` });
    }
    await waitUntil(() => held.length === calls.length, { what: "all calls" });
    for (const client of held) client.send("END\r\n");
    for (const answer of await Promise.all(calls)) {
      assertEquals(answer, { kind: "counted", results: [0] });
    }
    await waitUntil(() => server.open === maxIdle, {
      what: "connections to be closed",
    });
    await store.stop();
    await server.stop();
  });
}
