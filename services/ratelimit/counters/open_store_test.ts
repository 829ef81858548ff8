import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { readSettings } from "../../shared/settings.ts";
import { rateLimitSettings } from "../settings.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { openStore } from "./open_store.ts";
import { planStore } from "./store_plan.ts";

async function open(
  env: Readonly<Record<string, string>>,
): Promise<{ warnings: string[] }> {
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
  await store.stop();
  return { warnings: logger.messagesOf("warning") };
}

Deno.test("openStore() takes memory when nothing is set, and says what that means", async () => {
  const { warnings } = await open({});
  assertStringIncludes(warnings[0]!, "limits hold for this process alone");
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
