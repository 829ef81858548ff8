import { assert, assertEquals } from "@std/assert";
import { readSettings } from "../shared/settings.ts";
import { idleSettings } from "./inert_settings.ts";
import { rateLimitSettings } from "./settings.ts";

function idle(env: Readonly<Record<string, string>>): readonly string[] {
  const read = (name: string) => env[name];
  const settings = readSettings(rateLimitSettings, read);
  assert(settings.kind === "ok");
  return idleSettings(settings.values, read);
}

Deno.test("idleSettings() names what is set for a part that is off", () => {
  assertEquals(idle({ REDIS_PERSECOND_URL: "a:1", REDIS_URL: "b:1" }), [
    "REDIS_PERSECOND_URL is set and has no effect: KVSTORE_PERSECOND is not " +
    "true",
  ]);
  assertEquals(idle({ KVSTORE_URL: "a:1", BACKEND_TYPE: "memory" }), [
    "KVSTORE_URL is set and has no effect: BACKEND_TYPE is memory",
  ]);
  assertEquals(idle({ MEMCACHE_HOST_PORT: "a:1", MEMCACHE_TLS: "true" }), [
    "MEMCACHE_HOST_PORT, MEMCACHE_TLS are set and have no effect: " +
    "BACKEND_TYPE is memory",
  ]);
  assertEquals(idle({ KVSTORE_URL: "a:1", KVSTORE_TLS_CACERT: "/ca.pem" }), [
    "KVSTORE_TLS_CACERT is set and has no effect: KVSTORE_TLS is not true",
  ]);
  assertEquals(idle({ STATSD_HOST: "stats", USE_STATSD: "false" }), [
    "STATSD_HOST is set and has no effect: USE_STATSD is false",
  ]);
  assertEquals(
    idle({ GRPC_CLIENT_TLS_CACERT: "/ca.pem", GRPC_SERVER_TLS_KEY: "/k.pem" }),
    [
      "GRPC_SERVER_TLS_KEY, GRPC_CLIENT_TLS_CACERT are set and have no " +
      "effect: GRPC_SERVER_USE_TLS is not true",
    ],
  );
  assertEquals(idle({ GRPC_UDS_MODE: "0600" }), [
    "GRPC_UDS_MODE is set and has no effect: GRPC_UDS is not set",
  ]);
  assertEquals(idle({ LIMIT_RESET_HEADER: "x-reset" }), [
    "LIMIT_RESET_HEADER is set and has no effect: " +
    "LIMIT_RESPONSE_HEADERS_ENABLED is not true",
  ]);
});

Deno.test("idleSettings() leaves out what has an effect, asks for nothing or is the default", () => {
  assertEquals(
    idle({
      KVSTORE_URL: "a:1",
      KVSTORE_PERSECOND: "true",
      KVSTORE_PERSECOND_URL: "b:1",
      KVSTORE_PERSECOND_TLS: "true",
      KVSTORE_TLS_CACERT: "/ca.pem",
      STATSD_PORT: "9000",
    }),
    [],
  );
  assertEquals(
    idle({
      KVSTORE_PERSECOND: "false",
      KVSTORE_TYPE: "single",
      ALTCACHE_HOST_PORT: "",
    }),
    [],
  );
});

Deno.test("idleSettings() tells what stands in the place of settings that something replaces", () => {
  const redis = { REDIS_URL: "a:1", REDIS_PERSECOND: "true" };
  assertEquals(
    idle({
      ...redis,
      REDIS_CLUSTER_PIPELINE_PARALLELISM: "4",
      REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM: "1",
      REDIS_POOL_ON_EMPTY_BEHAVIOR: "create",
      REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR: "WAIT",
      REDIS_STARTUP_INITIAL_INTERVAL: "1s",
      KVSTORE_STARTUP_MAX_INTERVAL: "30s",
      REDIS_STARTUP_MAX_ELAPSED_TIME: "5m",
      REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR: "false",
    }),
    [
      "REDIS_CLUSTER_PIPELINE_PARALLELISM, " +
      "REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM are set and have no " +
      "effect: commands are sent to all masters of a cluster in parallel",
      "REDIS_POOL_ON_EMPTY_BEHAVIOR, REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR " +
      "are set and have no effect: calls share connections, so the pool " +
      "cannot run empty",
      "REDIS_STARTUP_INITIAL_INTERVAL, KVSTORE_STARTUP_MAX_INTERVAL, " +
      "REDIS_STARTUP_MAX_ELAPSED_TIME are set and have no effect: the " +
      "service starts without the server, and keeps reconnecting after waits " +
      "that grow to 2 s",
      "REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR is set and has no effect: a " +
      "connection whose server refuses writes is always closed and reopened",
    ],
  );
  assertEquals(
    idle({
      ...redis,
      REDIS_CLUSTER_PIPELINE_PARALLELISM: "0",
      REDIS_STARTUP_MAX_ELAPSED_TIME: "0",
      REDIS_CLOSE_CONNECTION_ON_READONLY_ERROR: "true",
    }),
    [],
  );
});

Deno.test("idleSettings() names settings of the source of rules that is not used", () => {
  assertEquals(
    idle({
      CONFIG_GRPC_XDS_NODE_ID: "edge",
      XDS_CLIENT_BACKOFF_JITTER: "false",
      RUNTIME_ROOT: "/rules",
    }),
    [
      "CONFIG_GRPC_XDS_NODE_ID, XDS_CLIENT_BACKOFF_JITTER are set and have " +
      "no effect: CONFIG_TYPE is FILE",
    ],
  );
  assertEquals(
    idle({
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_NODE_ID: "edge",
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: "control",
      RUNTIME_ROOT: "/rules",
    }),
    [
      "CONFIG_GRPC_XDS_SERVER_TLS_SAN is set and has no effect: " +
      "CONFIG_GRPC_XDS_SERVER_USE_TLS is not true",
      "RUNTIME_ROOT is set and has no effect: CONFIG_TYPE is GRPC_XDS_SOTW",
    ],
  );
});
