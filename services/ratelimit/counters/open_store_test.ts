import { assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { readSettings } from "../../shared/settings.ts";
import { rateLimitSettings } from "../settings.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { openStore } from "./open_store.ts";

async function open(
  env: Readonly<Record<string, string>>,
): Promise<
  { outcome: Awaited<ReturnType<typeof openStore>>; warnings: string[] }
> {
  const read = readSettings(rateLimitSettings, (name) => env[name]);
  if (read.kind === "invalid") throw new Error(read.problems.join("\n"));
  const logger = new RecordingLogger();
  const outcome = await openStore(read.values, {
    clock: new FakeClock(),
    logger,
    stats: new StatsRegistry(),
    readText: (path) =>
      path === "/there.pem"
        ? Promise.resolve("PEM")
        : Promise.reject(new Error("No such file")),
  });
  if (outcome.kind === "store") await outcome.store.stop();
  return { outcome, warnings: logger.messagesOf("warning") };
}

Deno.test("openStore() takes memory when nothing is set, and says what that means", async () => {
  const { outcome, warnings } = await open({});
  assertEquals(outcome.kind, "store");
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
    const { outcome, warnings } = await open(env);
    assertEquals(outcome.kind, "store", JSON.stringify(env));
    assertEquals(warnings, []);
  }
});

Deno.test("openStore() names what is wrong with the settings", async () => {
  const rows: readonly [Record<string, string>, string][] = [
    [{ BACKEND_TYPE: "kvstore" }, "KVSTORE_URL (REDIS_URL): it is not set"],
    [{ KVSTORE_TYPE: "sentinel", KVSTORE_URL: "mymaster" }, "KVSTORE_URL"],
    [
      { KVSTORE_URL: "127.0.0.1:1", KVSTORE_PERSECOND: "true" },
      "KVSTORE_PERSECOND_URL (REDIS_PERSECOND_URL): it is not set",
    ],
    [
      {
        KVSTORE_URL: "127.0.0.1:1",
        KVSTORE_TLS: "true",
        KVSTORE_TLS_CACERT: "/gone.pem",
      },
      'Cannot read "/gone.pem"',
    ],
    [{ KVSTORE_URL: "/run/x", KVSTORE_SOCKET_TYPE: "tcp" }, "KVSTORE_URL"],
    [{ BACKEND_TYPE: "altcache" }, "ALTCACHE_HOST_PORT"],
    [
      {
        BACKEND_TYPE: "altcache",
        ALTCACHE_HOST_PORT: "127.0.0.1:1",
        ALTCACHE_SRV: "x",
      },
      "ALTCACHE_SRV",
    ],
    [
      {
        BACKEND_TYPE: "altcache",
        ALTCACHE_HOST_PORT: "127.0.0.1:1",
        ALTCACHE_TLS: "true",
        ALTCACHE_TLS_CACERT: "/gone.pem",
      },
      'Cannot read "/gone.pem": No such file',
    ],
    [
      {
        BACKEND_TYPE: "altcache",
        ALTCACHE_HOST_PORT: "127.0.0.1:1",
        ALTCACHE_TLS: "true",
        ALTCACHE_TLS_CLIENT_CERT: "/there.pem",
      },
      "go together",
    ],
    [{ STORE_FAILURE_MODE_BY_DOMAIN: "edge:open" }, 'has "open" for "edge"'],
  ];
  for (const [env, expected] of rows) {
    const { outcome } = await open(env);
    if (outcome.kind !== "invalid") throw new Error(JSON.stringify(env));
    assertStringIncludes(outcome.problem, expected);
  }
});

Deno.test("openStore() shows no password when the address is wrong", async () => {
  const { outcome } = await open({
    KVSTORE_URL: "redis://user:hunter2@host:port:1/x",
  });
  if (outcome.kind !== "invalid") throw new Error("Cannot be: opened");
  assertEquals(outcome.problem.includes("hunter2"), false, outcome.problem);
});
