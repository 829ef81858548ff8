import { assert, assertEquals } from "@std/assert";
import { planStore } from "../../services/ratelimit/counters/store_plan.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import {
  RatelimitProcess,
  runRatelimit,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { CODES, grpcCaller, STATUS } from "./grpc_caller.ts";
import { postJson, readStat, request } from "./http_caller.ts";
import { quietPort } from "./quiet_port.ts";
import { readRefusal } from "./refused_settings.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { runHere, ServiceHere } from "./service_here.ts";

const RULE = dailyRule("start", { key: "user", limit: 10 });
const REQUEST = createRequest("start", { user: "anybody" });

Deno.test("ratelimit opens its ports without configuration when told to", async () => {
  await using folder = await ConfigFolder.make();
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: `${folder.base}/later`,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
    },
  });
  await using caller = await grpcCaller(service.grpcTarget);
  const overHttp = await postJson(service.httpUrl, REQUEST);
  assertEquals(overHttp.status, 503);
  assertEquals(
    overHttp.headers.get("content-type"),
    "application/problem+json",
  );
  const overGrpc = await caller.decide(REQUEST);
  assertEquals(overGrpc.status, STATUS.UNAVAILABLE);
  assertEquals(overGrpc.details, "no rate limit configuration loaded");
  await folder.makeRoot("later", { "rules.yaml": RULE });
  await waitUntil(
    async () => (await postJson(service.httpUrl, REQUEST)).status === 200,
    { what: "the first rules" },
  );
  assertEquals((await caller.decide(REQUEST)).overallCode, CODES.OK);
});

Deno.test("ratelimit keeps gRPC and HTTP closed until the first valid configuration", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": RULE.replace("key: user", "kee: user"),
  });
  const port = quietPort();
  const socket = `${folder.base}/grpc.sock`;
  await using service = new RatelimitProcess({
    env: {
      RUNTIME_ROOT: folder.root,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "false",
      RUNTIME_WATCH_ROOT: "false",
      PORT: String(port),
      GRPC_UDS: socket,
    },
  });
  await service.waitForListener("debug");
  const line = await service.waitForLine("Cannot load configuration");
  assert(line.includes("rules.yaml:3: "), line);
  await service.waitForLine("open with the first valid configuration");
  assertEquals(
    await readStat(service.debugUrl, "ratelimit.service.config_load_error"),
    1,
  );
  assertEquals(await isRefused(port), true);
  assertEquals(await exists(socket), false);

  await folder.write("rules.yaml", RULE);
  await service.waitForListener("HTTP");
  assertEquals(service.grpcTarget, socket);
  assertEquals(service.httpUrl, `http://127.0.0.1:${port}`);
  assertEquals((await postJson(service.httpUrl, REQUEST)).status, 200);
  {
    await using caller = await grpcCaller(`unix:${socket}`);
    const { overallCode, statuses, details } = await caller.decide(REQUEST);
    assertEquals([overallCode, details], [CODES.OK, ""]);
    assertEquals(statuses[0]?.limitRemaining, 8);
  }
  assertEquals(await service.stop(), 0);
  assertEquals(await exists(socket), false);
});

Deno.test("ratelimit takes a mended first file also where it watches its root alone", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": "domain: [" });
  await using service = new RatelimitProcess({
    env: { RUNTIME_ROOT: folder.root, RUNTIME_WATCH_ROOT: "true" },
  });
  await service.waitForLine("open with the first valid configuration");
  await folder.write("rules.yaml", RULE);
  await service.waitForLine("Listening for HTTP on ");
  assertEquals((await postJson(service.httpUrl, REQUEST)).status, 200);
});

Deno.test("ratelimit stops on SIGTERM while it waits for its configuration", async () => {
  await using folder = await ConfigFolder.make();
  await using service = new RatelimitProcess({
    env: { RUNTIME_ROOT: `${folder.base}/nothing` },
  });
  await service.waitForLine("open with the first valid configuration");
  const page = await request(`${service.debugUrl}/rlconfig`);
  assertEquals(page.text, "no rate limit configuration loaded\n");
  assertEquals(await service.stop(), 0);
});

Deno.test("ratelimit tells all faults of its settings and exits with 1", async () => {
  const faults = {
    NEAR_LIMIT_RATIO: "7",
    REDIS_TIMEOUT: "soon",
    GRPC_SERVER_USE_TLS: "maybe",
    SHADOW_MODE: "perhaps",
  };
  const { code, stdout, stderr } = await runRatelimit({ env: faults });
  assertEquals(code, 1);
  assertEquals(stdout, "");
  const lines = stderr.trimEnd().split("\n");
  assertEquals(lines.length, 4, stderr);
  for (const [name, value] of Object.entries(faults)) {
    const line = lines.find((one) => one.includes(`${name} is "${value}"`));
    assert(line?.startsWith("Cannot read settings: "), stderr);
  }
});

Deno.test("ratelimit tells faults of all its parts in one pass, with their settings, and opens nothing", async () => {
  const { code, stdout, stderr } = await runRatelimit({
    env: {
      NEAR_LIMIT_RATIO: "7",
      WORKERS: "2",
      GRPC_UDS: "/run/a.sock",
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: "/none/cert.pem",
      GRPC_SERVER_TLS_KEY: "/none/key.pem",
      KVSTORE_URL: "localhost:somewhere",
      KVSTORE_TLS: "true",
      KVSTORE_TLS_CACERT: "/none/ca.pem",
      STORE_FAILURE_MODE_BY_DOMAIN: "edge:open",
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "/none/xds.pem",
      DISABLE_STATS: "false",
      USE_PULLMETRICS: "true",
      PULLMETRICS_MAPPER_YAML: "/none/mapping.yaml",
      TRACING_ENABLED: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://collector",
      OTEL_EXPORTER_OTLP_CERTIFICATE: "/none/otlp.pem",
    },
  });
  assertEquals([code, stdout], [1, ""]);
  const lines = stderr.trimEnd().split("\n");
  const settings = [
    "NEAR_LIMIT_RATIO",
    "WORKERS",
    "GRPC_SERVER_TLS_CERT",
    "GRPC_SERVER_TLS_KEY",
    "KVSTORE_TLS_CACERT",
    "KVSTORE_URL",
    "STORE_FAILURE_MODE_BY_DOMAIN",
    "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
    "PULLMETRICS_MAPPER_YAML",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
  ];
  assertEquals(lines.length, settings.length, stderr);
  for (const [index, name] of settings.entries()) {
    assert(lines[index]?.includes(name), `${name}: ${lines[index]}`);
    assert(lines[index]?.startsWith("Cannot "), lines[index]);
  }
});

Deno.test("ratelimit names no flag of the runtime for files that it may not open", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  const { code, stderr } = await runRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: "/proc/self/environ",
      GRPC_SERVER_TLS_KEY: "/dev/fd/0",
      TRACING_ENABLED: "true",
      OTEL_EXPORTER_OTLP_CERTIFICATE: "/proc/self/environ",
    },
  });
  assertEquals(code, 1);
  assertEquals(stderr.match(/is a special file/g)?.length, 3, stderr);
  await using service = new RatelimitProcess({
    env: { RUNTIME_ROOT: "/proc/self", RUNTIME_APPDIRECTORY: "" },
  });
  await service.waitForLine("is a special file");
  assertEquals((stderr + service.stderr).includes("--allow"), false);
});

Deno.test("ratelimit refuses an address of the store that it cannot read", async () => {
  for (
    const [env, text] of [
      [{ BACKEND_TYPE: "redis" }, "KVSTORE_URL (REDIS_URL): it is not set"],
      [{ REDIS_URL: "localhost:somewhere" }, "KVSTORE_URL"],
    ] as const
  ) {
    const told = await readRefusal(env, {
      async findFaults(settings) {
        const plan = await planStore(settings, Deno.readTextFile);
        return plan.kind === "invalid" ? plan.problems : [];
      },
    });
    assert(told.startsWith("Cannot read settings: "), told);
    assert(told.includes(text), told);
  }
});

Deno.test("ratelimit names the setting that moves a taken port and exits with 1", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(taken.addr.port);
  for (
    const [name, what, also] of [
      ["DEBUG_PORT", "debug", {}],
      ["GRPC_PORT", "gRPC", {}],
      ["PORT", "HTTP", {}],
      ["PULLMETRICS_ADDR", "metrics", {
        DISABLE_STATS: "false",
        USE_PULLMETRICS: "true",
      }],
    ] as const
  ) {
    const value = name === "PULLMETRICS_ADDR" ? `127.0.0.1:${port}` : port;
    const env = { RUNTIME_ROOT: folder.root, ...also, [name]: value };
    const told = [
      `Cannot open the ${what} port of ratelimit, 127.0.0.1:${port}: it is ` +
      `taken; free it, or set ${name} to another one`,
    ];
    const toldIn = (lines: readonly string[]): readonly string[] =>
      lines.filter((line) => line.includes("taken"));
    const service = await ServiceHere.begin(env);
    assertEquals(await service.ended, 1, name);
    assertEquals(toldIn(service.lines), told, service.lines.join("\n"));
    if (name !== "PORT") continue;
    const { code, stderr } = await runRatelimit({ env });
    assertEquals(code, 1, name);
    assertEquals(toldIn(stderr.split("\n")), told, stderr);
  }
});

Deno.test("ratelimit --help=settings lists all settings", async () => {
  const { code, stdout } = await runRatelimit({ args: ["--help=settings"] });
  assertEquals(code, 0);
  for (const { name } of Object.values(rateLimitSettings)) {
    assert(stdout.includes(`\n  ${name}`), name);
  }
  const unknown = await runHere(["serve"]);
  assertEquals(unknown.code, 2);
  assert(unknown.stderr.includes('Cannot run "serve"'), unknown.stderr);
});

Deno.test("ratelimit warns once when the statistics server is missing", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      DISABLE_STATS: "false",
      STATSD_HOST: "127.0.0.1",
      STATSD_PORT: String(quietPort()),
      STATS_FLUSH_INTERVAL: "100ms",
      LOG_LEVEL: "debug",
    },
  });
  const attempts = (): readonly string[] =>
    service.lines.filter((line) => line.includes("Cannot send statistics"));
  await waitUntil(() => attempts().length >= 3, { what: "three attempts" });
  assertEquals((await postJson(service.httpUrl, REQUEST)).status, 200);
  assertEquals(await service.stop(), 0);
  const warnings = attempts().filter((line) => !line.includes("level=debug"));
  assertEquals(warnings.length, 1, warnings.join("\n"));
  assert(warnings[0]?.includes("level=warning"), warnings[0]);
});

async function isRefused(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return true;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

Deno.test("ratelimit names settings at the start that have no effect", async () => {
  await using folder = await ConfigFolder.make({ "rules.yaml": RULE });
  await using service = await startRatelimit({
    env: {
      RUNTIME_ROOT: folder.root,
      GRPC_PROT: "8081",
      TRACING_SAMPLING_RATE: "0.5",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "9s",
      TAGGED_STATSD_MOGRIFIERS: "A",
      BACKEND_TYPE: "memory",
      KVSTORE_PERSECOND_URL: "localhost:6380",
      LocalCacheSizeInBytes: "1",
      LOG_TOKENS: "secret",
    },
  });
  for (
    const line of [
      "GRPC_PROT is set and has no effect: there is no such setting; did you mean GRPC_PORT?",
      "TRACING_SAMPLING_RATE is set and has no effect: TRACING_ENABLED is not true",
      "XDS_CLIENT_BACKOFF_MAX_INTERVAL is set and has no effect: CONFIG_TYPE is FILE",
      "TAGGED_STATSD_MOGRIFIERS is set and has no effect: DISABLE_STATS is true",
      "KVSTORE_PERSECOND_URL is set and has no effect: BACKEND_TYPE is memory",
    ]
  ) assert(service.lines.some((logged) => logged.includes(line)), line);
  assertEquals(service.stderr.includes("LOG_TOKENS"), false);
  assertEquals(service.stderr.includes("LocalCache"), false);
  assertEquals(await service.stop(), 0);
});
