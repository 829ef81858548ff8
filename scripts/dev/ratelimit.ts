/**
 * Configures the rate limit service for development, and the text that
 * announces it.
 *
 * @module
 */

import { type DevService, withDefaults } from "./dev_service.ts";
import type { Listener } from "./taken_ports.ts";

const LISTENERS: readonly Listener[] = [
  { what: "HTTP", hostVariable: "HOST", portVariable: "PORT" },
  { what: "gRPC", hostVariable: "GRPC_HOST", portVariable: "GRPC_PORT" },
  { what: "debug", hostVariable: "DEBUG_HOST", portVariable: "DEBUG_PORT" },
];

const DEFAULTS: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "8080",
  GRPC_HOST: "127.0.0.1",
  GRPC_PORT: "8081",
  DEBUG_HOST: "127.0.0.1",
  DEBUG_PORT: "6070",
  LOG_LEVEL: "info",
  RUNTIME_ROOT: "services/ratelimit/example",
  RUNTIME_WATCH_ROOT: "false",
};

/** The rate limit service as `deno task dev` runs it. */
export const RATELIMIT: DevService = {
  name: "ratelimit",
  listeners: LISTENERS,
  environment: devEnvironment,
  readyUrl: (env) => `http://127.0.0.1:${env.PORT}/healthcheck`,
  announcement,
};

function devEnvironment(
  read: (name: string) => string | undefined,
): Record<string, string> {
  const env: Record<string, string> = { ...withDefaults(DEFAULTS, read) };
  // Statsd is off by default: on most machines nothing listens for it, and
  // /stats shows the statistics.
  if (!read("USE_STATSD") && !read("STATSD_HOST")) {
    env.DISABLE_STATS = read("DISABLE_STATS") || "true";
  }
  return env;
}

function announcement(env: Readonly<Record<string, string>>): string {
  const http = `http://127.0.0.1:${env.PORT}`;
  const body = JSON.stringify({
    domain: "edge",
    descriptors: [{ entries: [{ key: "login", value: "ada" }] }],
  });
  return `
ratelimit is ready

  HTTP    ${http}/json
  gRPC    127.0.0.1:${env.GRPC_PORT}
  debug   http://127.0.0.1:${env.DEBUG_PORT}/  (rules in force, statistics)
  rules   ${env.RUNTIME_ROOT}/config/*.yaml, read again when you change them

Four logins of one account; the limit is three a minute, so 200 turns into 429:

  for i in 1 2 3 4; do curl -s -w ' %{http_code}\\n' ${http}/json -d '${body}'; done
`;
}
