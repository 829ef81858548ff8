import { assertEquals, assertStringIncludes } from "@std/assert";
import { readSettings } from "../../shared/settings.ts";
import { rateLimitSettings } from "../settings.ts";
import { planStore, type StorePlanOutcome } from "./store_plan.ts";

function planned(
  env: Readonly<Record<string, string>>,
): Promise<StorePlanOutcome> {
  const read = readSettings(rateLimitSettings, (name) => env[name]);
  if (read.kind === "invalid") throw new Error(read.problems.join("\n"));
  return planStore(
    read.values,
    (path) =>
      path === "/there.pem"
        ? Promise.resolve("PEM")
        : Promise.reject(new Error("No such file")),
  );
}

Deno.test("planStore() names what is wrong with the settings", async () => {
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
      'Cannot read "/gone.pem" (KVSTORE_TLS_CACERT or REDIS_TLS_CACERT): No such',
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
      'Cannot read "/gone.pem" (ALTCACHE_TLS_CACERT or MEMCACHE_TLS_CACERT): ',
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
    [
      { REDIS_PERSECOND_URL: "127.0.0.1:1" },
      "KVSTORE_PERSECOND_URL or REDIS_PERSECOND_URL: it is set without " +
      "KVSTORE_URL or REDIS_URL, the Redis of all other limits; set that as " +
      "well, or counters would be kept in memory",
    ],
    [
      { KVSTORE_PERSECOND: "true" },
      "KVSTORE_PERSECOND or REDIS_PERSECOND: it is set without KVSTORE_URL",
    ],
    [
      { MEMCACHE_HOST_PORT: "127.0.0.1:1" },
      "ALTCACHE_HOST_PORT or MEMCACHE_HOST_PORT: it is set without " +
      "BACKEND_TYPE=altcache",
    ],
    [{ STORE_FAILURE_MODE_BY_DOMAIN: "edge:open" }, 'has "open" for "edge"'],
  ];
  for (const [env, expected] of rows) {
    const outcome = await planned(env);
    if (outcome.kind !== "invalid") throw new Error(JSON.stringify(env));
    assertStringIncludes(outcome.problems.join("\n"), expected);
  }
});

Deno.test("planStore() takes servers that are set beside a store that was chosen", async () => {
  for (
    const env of [
      { BACKEND_TYPE: "memory", KVSTORE_PERSECOND_URL: "127.0.0.1:1" },
      { BACKEND_TYPE: "memory", ALTCACHE_HOST_PORT: "127.0.0.1:1" },
      { KVSTORE_URL: "127.0.0.1:2", KVSTORE_PERSECOND_URL: "127.0.0.1:1" },
      {},
    ] as const
  ) assertEquals((await planned(env)).kind, "planned", JSON.stringify(env));
});

Deno.test("planStore() shows no password when the address is wrong", async () => {
  const outcome = await planned({
    KVSTORE_URL: "redis://user:hunter2@host:port:1/x",
  });
  if (outcome.kind !== "invalid") throw new Error("Cannot be: planned");
  const told = outcome.problems.join("\n");
  assertEquals(told.includes("hunter2"), false, told);
});

Deno.test("planStore() tells all that is wrong at once", async () => {
  const outcome = await planned({
    KVSTORE_URL: "localhost:somewhere",
    KVSTORE_TLS: "true",
    KVSTORE_TLS_CACERT: "/gone.pem",
    KVSTORE_TLS_CLIENT_CERT: "/gone_too.pem",
    KVSTORE_PERSECOND: "true",
    STORE_FAILURE_MODE_BY_DOMAIN: "edge:open,shop:shut",
  });
  if (outcome.kind !== "invalid") throw new Error("Cannot be: planned");
  assertEquals(outcome.problems.length, 7, outcome.problems.join("\n"));
  for (
    const text of [
      "/gone.pem",
      "/gone_too.pem",
      "KVSTORE_TLS_CLIENT_KEY",
      "KVSTORE_URL",
      "KVSTORE_PERSECOND_URL",
      '"edge"',
      '"shop"',
    ]
  ) assertStringIncludes(outcome.problems.join("\n"), text);
});
