import { assertEquals } from "@std/assert";
import { settingPrefixes, unknownSettings } from "./unknown_settings.ts";

const KNOWN = [
  "GRPC_HOST",
  "GRPC_MAX_AGE",
  "GRPC_PORT",
  "LOG_LEVEL",
  "PORT",
  "REDIS_TYPE",
  "REDIS_URL",
  "REDIS_AUTH",
];

function told(...seen: readonly string[]): readonly string[] {
  return unknownSettings({
    seen,
    known: KNOWN,
    absent: [{ prefixes: ["TRACING_", "GRPC_TLS_"], why: "no such part" }],
  });
}

Deno.test("unknownSettings() tells near misses and what is meant", () => {
  const cases: Readonly<Record<string, string>> = {
    GRPC_PROT: "GRPC_PORT",
    GPRC_PORT: "GRPC_PORT",
    LOG_LEVL: "LOG_LEVEL",
    REDIS_URI: "REDIS_URL",
    PROT: "PORT",
  };
  for (const [name, meant] of Object.entries(cases)) {
    assertEquals(told(name), [
      `${name} is set and has no effect: there is no such setting; did you ` +
      `mean ${meant}?`,
    ]);
  }
});

Deno.test("unknownSettings() tells whatever begins as many settings do", () => {
  assertEquals(told("GRPC_REFLECTION", "REDIS_CLUSTER_MODE"), [
    "GRPC_REFLECTION, REDIS_CLUSTER_MODE are set and have no effect: there " +
    "is no such setting",
  ]);
});

Deno.test("unknownSettings() tells the settings of parts that are absent in one line", () => {
  assertEquals(told("TRACING_RATE", "GRPC_TLS_CERT", "TRACING_NAME"), [
    "GRPC_TLS_CERT, TRACING_NAME, TRACING_RATE are set and have no effect: " +
    "no such part",
  ]);
});

Deno.test("unknownSettings() leaves out settings, other programs' variables and those of Kubernetes", () => {
  assertEquals(
    told(
      ...KNOWN,
      "LOG_TOKENS",
      "HOME",
      "PATH",
      "TERM",
      "REDIS_SERVICE_HOST",
      "REDIS_SERVICE_PORT_TLS",
      "REDIS_PORT_6379_TCP",
      "REDIS_PORT_6379_TCP_ADDR",
    ),
    [],
  );
});

Deno.test("settingPrefixes() gives the beginnings of settings of several words", () => {
  assertEquals(settingPrefixes(KNOWN), ["GRPC_", "LOG_", "REDIS_"]);
});
