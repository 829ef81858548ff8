import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createSocket } from "node:dgram";
import parsePrometheus from "npm:parse-prometheus-text-format@^1.1.1";
import { sinkFaults } from "../../services/ratelimit/stats/open_sinks.ts";
import { NO_HELP } from "../../services/ratelimit/stats/stat_help.ts";
import { metricsFaults } from "../support/metrics_lint.ts";
import {
  type RatelimitProcess,
  runRatelimit,
  startRatelimit,
} from "../support/ratelimit_process.ts";
import { startMemcachedServer } from "../support/memcached_server.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";
import { ConfigFolder } from "./config_folder.ts";
import { postJson } from "./http_caller.ts";
import { readRefusal } from "./refused_settings.ts";
import { createRequest, dailyRule } from "./requests.ts";
import { serveHere, type ServiceHere } from "./service_here.ts";
import { StatsdServer } from "./statsd_server.ts";

const CALL = createRequest("shop", { host: "a.example" });

type Env = Readonly<Record<string, string>>;

/** Uses a service that was called three times, in a process of its own. */
function withProcess(
  env: Env,
  use: (service: RatelimitProcess) => Promise<void>,
): Promise<void> {
  return withRules(env, use, (env) => startRatelimit({ env }));
}

/** Uses a service that was called three times, in this process. */
function withService(
  env: Env,
  use: (service: ServiceHere) => Promise<void>,
): Promise<void> {
  return withRules(env, use, serveHere);
}

async function withRules<Service extends RatelimitProcess | ServiceHere>(
  env: Env,
  use: (service: Service) => Promise<void>,
  start: (env: Env) => Promise<Service>,
): Promise<void> {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("shop", { key: "host", limit: 1 }),
  });
  await using service = await start({
    RUNTIME_ROOT: folder.root,
    DISABLE_STATS: "",
    STATS_FLUSH_INTERVAL: "100ms",
    STATSD_HOST: "127.0.0.1",
    ...env,
  });
  for (let call = 0; call < 3; call++) await postJson(service.httpUrl, CALL);
  await use(service);
  assertEquals(await service.stop(), 0);
}

/** Returns the address of the port for metrics. */
async function metricsUrl(
  service: Pick<ServiceHere, "waitForLine">,
): Promise<string> {
  const line = await service.waitForLine("Metrics on ");
  return /http:[^\s"]+/.exec(line)?.[0] ?? "";
}

/** A UDP server that stores the lines it receives. */
class UdpServer implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly #socket = createSocket("udp4");
  #port = 0;

  static async start(): Promise<UdpServer> {
    const server = new UdpServer();
    const socket = server.#socket;
    socket.on("message", (bytes) => {
      server.lines.push(...bytes.toString().split("\n"));
    });
    await new Promise<void>((done) => socket.bind(0, "127.0.0.1", done));
    server.#port = socket.address().port;
    return server;
  }

  get port(): number {
    return this.#port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((done) => void this.#socket.close(() => done()));
  }
}

const OVER = "ratelimit.service.rate_limit.shop.host.over_limit";

Deno.test("ratelimit sends statistics to statsd over TCP, with EXTRA_TAGS in the name", async () => {
  await using server = new StatsdServer();
  const env = { STATSD_PORT: String(server.port), EXTRA_TAGS: "az:b,env:x" };
  await withProcess(env, async () => {
    await waitUntil(
      () => server.sum(`${OVER}.__az=b.__env=x`) === 2,
      { what: "the hits" },
    );
  });
});

/**
 * Adds up what lines count for a name; a flush between two calls makes a line
 * for each.
 */
function sumCounts(
  lines: readonly string[],
  name: string,
  ending = "",
): number {
  return lines.reduce((sum, line) => {
    if (!line.startsWith(`${name}:`) || !line.endsWith(`|c${ending}`)) {
      return sum;
    }
    return sum + Number.parseInt(line.slice(name.length + 1));
  }, 0);
}

Deno.test("ratelimit sends statistics to statsd over UDP when STATSD_PROTOCOL says so", async () => {
  await using server = await UdpServer.start();
  const env = { STATSD_PORT: String(server.port), STATSD_PROTOCOL: "udp" };
  await withService(env, async () => {
    await waitUntil(() => sumCounts(server.lines, OVER) === 2, {
      what: "the hits",
    });
  });
});

Deno.test("ratelimit sends tags over UDP when USE_TAGGED_STATSD is true, made by mogrifiers", async () => {
  await using server = await UdpServer.start();
  const env = {
    USE_TAGGED_STATSD: "true",
    STATSD_PORT: String(server.port),
    EXTRA_TAGS: "az:b",
    USE_TAGGED_STATSD_MOGRIFIERS: "RULE",
    TAGGED_STATSD_MOGRIFIERS_RULE_PATTERN: "rate_limit\\.(.*)\\.(.*)\\.(.*)$",
    TAGGED_STATSD_MOGRIFIER_RULE_NAME: "ratelimit.$3",
    TAGGED_STATSD_MOGRIFIERS_RULE_TAGS: "domain:$1,key:$2",
  };
  await withProcess(env, async () => {
    const tags = "|#az:b,domain:shop,key:host";
    await waitUntil(
      () => sumCounts(server.lines, "ratelimit.over_limit", tags) === 2,
      { what: "the hits with their tags" },
    );
  });
});

Deno.test("ratelimit sends tags over TCP when STATSD_PROTOCOL says so, to a server that comes back", async () => {
  await using server = new StatsdServer();
  const env = {
    USE_DOG_STATSD: "true",
    STATSD_PROTOCOL: "tcp",
    STATSD_PORT: String(server.port),
    DOG_STATSD_MOGRIFIER_RULE_PATTERN: String
      .raw`^ratelimit\.service\.rate_limit\.(?P<domain>[^.]+)\.(.*)\.(.*)$`,
    DOG_STATSD_MOGRIFIER_RULE_NAME: "hits.$3",
    DOG_STATSD_MOGRIFIER_RULE_TAGS: "domain:$1,key:$2",
    USE_DOG_STATSD_MOGRIFIERS: "RULE",
  };
  const ending = "|#domain:shop,key:host";
  await withService(env, async (service) => {
    await waitUntil(() => server.sum("hits.total_hits", ending) === 3, {
      what: "the hits",
    });
    server.restart();
    for (let call = 0; call < 5; call++) await postJson(service.httpUrl, CALL);
    // Only what was on its way when the server restarted is lost.
    await waitUntil(() => server.sum("hits.total_hits", ending) > 0, {
      what: "hits at the server that came back",
    });
    assert(server.connected > 1);
  });
});

Deno.test("ratelimit sends statistics nowhere when DISABLE_STATS is true, and still shows them", async () => {
  await using server = new StatsdServer();
  const env = {
    DISABLE_STATS: "true",
    USE_STATSD: "true",
    STATSD_PORT: String(server.port),
  };
  await withService(env, async (service) => {
    const { stats } = await (await fetch(
      `${service.debugUrl}/stats?format=json&filter=${OVER}`,
    )).json();
    assertEquals(stats[0]?.value, 2);
  });
  // The last flush would have arrived before the process ended.
  assertEquals(server.connected, 0);
});

Deno.test("ratelimit writes statistics to standard output when USE_STATSD is false", async () => {
  await withProcess({ USE_STATSD: "false" }, async (service) => {
    await waitUntil(() => service.stdout.includes(OVER), { what: "the hits" });
    const lines = service.stdout.split("\n").filter((line) => line !== "");
    for (const line of lines) JSON.parse(line);
  });
});

Deno.test("ratelimit lets metrics be pulled when USE_PULLMETRICS is true", async () => {
  const env = {
    USE_PULLMETRICS: "true",
    PULLMETRICS_ADDR: "127.0.0.1:0",
    PULLMETRICS_PATH: "/pulled",
    EXTRA_TAGS: "az:b",
  };
  await withProcess({ ...env, LOG_LEVEL: "info" }, async (service) => {
    const url = await metricsUrl(service);
    assertStringIncludes(url, "/pulled");
    const answer = await fetch(url);
    assertStringIncludes(answer.headers.get("content-type") ?? "", "0.0.4");
    const text = await answer.text();
    // The names are those of the service that this one replaces.
    assertEquals(
      metricsFaults(text).filter((fault) => !fault.includes("no _total")),
      [],
    );
    assert(!text.includes(NO_HELP), text);
    const families: readonly {
      readonly name: string;
      readonly type: string;
      readonly metrics: readonly Readonly<Record<string, unknown>>[];
    }[] = parsePrometheus(text);
    const family = (name: string) => families.find((one) => one.name === name);
    const rule = { domain: "shop", key1: "host", az: "b" };
    const series = (name: string) =>
      family(`ratelimit_service_rate_limit_${name}`)?.metrics
        .find(({ labels }) => JSON.stringify(labels) === JSON.stringify(rule));
    assertEquals(series("total_hits")?.value, "3");
    assertEquals(series("over_limit")?.value, "2");
    assertEquals(series("within_limit")?.value, "1");
    assertEquals(
      family("ratelimit_service_config_load_success")?.type,
      "COUNTER",
    );
    const other = await fetch(url.replace("/pulled", "/metrics"));
    await other.body?.cancel();
    assertEquals(other.status, 404);
  });
});

Deno.test("ratelimit has names by the conventions of Prometheus when PULLMETRICS_NAMES is clean", async () => {
  const env = {
    USE_PULLMETRICS: "true",
    PULLMETRICS_ADDR: "127.0.0.1:0",
    PULLMETRICS_NAMES: "clean",
    LOCAL_CACHE_SIZE_IN_BYTES: "1000000",
    LOG_LEVEL: "info",
  };
  await withService(env, async (service) => {
    const text = await (await fetch(await metricsUrl(service))).text();
    assertEquals(metricsFaults(text), []);
    assertStringIncludes(
      text,
      '\nratelimit_service_rate_limit_hits_total{domain="shop",key1="host"} 3\n',
    );
  });
});

Deno.test("ratelimit maps names to metrics as PULLMETRICS_MAPPER_YAML says, and names its faults at the start", async () => {
  const path = await Deno.makeTempFile({ suffix: ".yaml" });
  const env = {
    USE_PULLMETRICS: "true",
    PULLMETRICS_ADDR: "127.0.0.1:0",
    PULLMETRICS_MAPPER_YAML: path,
  };
  try {
    await Deno.writeTextFile(
      path,
      'mappings:\n  - {match: "*.*.*.*.*.over_limit", name: over, labels: {domain: "$4"}}\n',
    );
    await withService({ ...env, LOG_LEVEL: "info" }, async (service) => {
      const text = await (await fetch(await metricsUrl(service))).text();
      assertStringIncludes(text, '\nover{domain="shop"} 2\n');
    });
    await Deno.writeTextFile(path, "mappings: [{match: a, nam: b}]\n");
    const told = await readRefusal(env, {
      findFaults: (settings) =>
        sinkFaults(settings, {
          readVariable: () => undefined,
          readText: Deno.readTextFile,
        }),
    });
    assertStringIncludes(told, "Cannot use PULLMETRICS_MAPPER_YAML");
    assertStringIncludes(told, '"name"');
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("ratelimit shows response times in milliseconds when PULLMETRICS_RESPONSE_TIME_AS_MILLISECONDS is true", async () => {
  const env = {
    USE_PULLMETRICS: "true",
    PULLMETRICS_ADDR: "127.0.0.1:0",
    PULLMETRICS_RESPONSE_TIME_AS_MILLISECONDS: "true",
    LOG_LEVEL: "info",
  };
  await withService(env, async (service) => {
    const text = await (await fetch(await metricsUrl(service))).text();
    assertStringIncludes(text, "ratelimit_service_response_time histogram");
    assertEquals(text.includes("response_time_seconds"), false);
  });
});

Deno.test("ratelimit sends statistics to one place, and says so when several are asked for", async () => {
  const { code, stderr } = await runRatelimit({
    env: { DISABLE_STATS: "", USE_STATSD: "true", USE_PULLMETRICS: "true" },
  });
  assertEquals(code, 1);
  assertStringIncludes(
    stderr,
    "USE_STATSD and USE_PULLMETRICS are true, and only one may be",
  );
});

Deno.test("ratelimit refuses an address of metrics that is none", async () => {
  const env = { DISABLE_STATS: "", USE_PULLMETRICS: "true" };
  for (const address of ["localhost", ":65536", "a b:1", "::1:9090"]) {
    assertStringIncludes(
      await readRefusal({ ...env, PULLMETRICS_ADDR: address }),
      `PULLMETRICS_ADDR is "${address}", expected [host]:port`,
    );
  }
});

Deno.test("ratelimit counts what has no room in STATS_MAX_NAMES under one name", async () => {
  await using folder = await ConfigFolder.make({
    "rules.yaml": dailyRule("shop", { key: "k", limit: 1 }),
  });
  await using service = await serveHere({
    RUNTIME_ROOT: folder.root,
    STATS_MAX_NAMES: "1000",
  });
  for (let call = 0; call < 1_100; call++) {
    const request = createRequest(`none${call}`, { k: "v" });
    await postJson(service.httpUrl, request);
  }
  const { stats } = await (await fetch(
    `${service.debugUrl}/stats?format=json`,
  )).json();
  assert(stats.length < 1_100, String(stats.length));
  assertEquals(await service.stop(), 0);
});

serviceTest(["memcached"], {
  name:
    "ratelimit tells what came of its commands to memcached, and of the process",
  async fn() {
    const server = await startMemcachedServer();
    const env = {
      BACKEND_TYPE: "altcache",
      ALTCACHE_HOST_PORT: `${server.host}:${server.port}`,
      LOCAL_CACHE_SIZE_IN_BYTES: "1000000",
      USE_PULLMETRICS: "true",
      PULLMETRICS_ADDR: "127.0.0.1:0",
      LOG_LEVEL: "info",
    };
    try {
      await withProcess(env, async (service) => {
        const url = await metricsUrl(service);
        let text = "";
        // Increments arrive after their calls have been answered, so the
        // metrics are read until they show them.
        const shows = async (sample: string) => {
          text = await (await fetch(url)).text();
          return text.split("\n").includes(sample);
        };
        for (
          const sample of [
            'ratelimit_memcache_multiget{code="success"} 2',
            'ratelimit_memcache_add{code="success"} 1',
            'ratelimit_memcache_increment{code="success"} 1',
            "ratelimit_memcache_keys_requested 2",
            "ratelimit_memcache_keys_found 1",
            "ratelimit_localcache_hitCount 1",
            "ratelimit_localcache_entryCount 1",
            "runtime_num_values 1",
          ]
        ) await waitUntil(() => shows(sample), { what: sample });
        for (
          const name of [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_start_time_seconds",
          ]
        ) {
          const value = new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1];
          assert(Number(value) > 0, `${name} ${value}`);
        }
      });
    } finally {
      await server.stop();
    }
  },
});
