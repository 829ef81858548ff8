import { assert, assertEquals } from "@std/assert";
import { metricsFaults } from "../../../tests/support/metrics_lint.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import { defaultMapping, type MetricNames } from "./default_mapping.ts";
import type { MappedStat, MetricTarget } from "./metric_mapping.ts";
import { PullMetrics } from "./pull_metrics.ts";
import { StatsRegistry } from "./registry.ts";
import { NO_HELP } from "./stat_help.ts";
import { createRuleStatsCache, statPath } from "./stats.ts";

const mapping = defaultMapping({ isResponseTimeMs: false, names: "reference" });

function formatSeries(target: MetricTarget | undefined): string | undefined {
  if (target === undefined) return undefined;
  const labels = target.labels.map(([name, value]) => `${name}="${value}"`);
  return `${target.name}{${labels.join(",")}}`;
}

function mapped(name: string, kind: MappedStat["kind"] = "counter") {
  return formatSeries(mapping({ name, kind }));
}

Deno.test("defaultMapping() maps the names of the spec", () => {
  const rule = "ratelimit.service.rate_limit";
  const series: readonly (readonly [string, string])[] = [
    [
      `${rule}.d.k.near_limit`,
      'ratelimit_service_rate_limit_near_limit{domain="d",key1="k"}',
    ],
    [
      `${rule}.d.k_v.k2.over_limit`,
      'ratelimit_service_rate_limit_over_limit{domain="d",key1="k_v",key2="k2"}',
    ],
    [
      `${rule}.d.a.b.c.over_limit_with_local_cache`,
      "ratelimit_service_rate_limit_over_limit_with_local_cache" +
      '{domain="d",key1="a",key2="b",key3="c"}',
    ],
    [
      `${rule}.d.domain_not_found`,
      'ratelimit_service_rate_limit_domain_not_found{domain="d"}',
    ],
    [
      "ratelimit.service.call.should_rate_limit.service_error",
      'ratelimit_service_should_rate_limit_error{err_type="service_error"}',
    ],
    [
      "ratelimit_server.ShouldRateLimit.total_requests",
      'ratelimit_service_total_requests{grpc_method="ShouldRateLimit"}',
    ],
    [
      "ratelimit.service.config_load_success",
      "ratelimit_service_config_load_success{}",
    ],
    [
      "ratelimit.service.config_load_error",
      "ratelimit_service_config_load_error{}",
    ],
    ["ratelimit.a-b.c", "ratelimit_a_b_c{}"],
    [
      "ratelimit.memcache.add.__code=not_stored",
      'ratelimit_memcache_add{code="not_stored"}',
    ],
    ["ratelimit.process.cpu_seconds_total", "process_cpu_seconds_total{}"],
  ];
  for (const [name, expected] of series) assertEquals(mapped(name), expected);
});

Deno.test("defaultMapping() names the figures of the process as other programs do", () => {
  const lag = mapping({
    name: "ratelimit.process.event_loop_lag",
    kind: "timer",
  });
  assertEquals(lag?.name, "process_event_loop_lag_seconds");
  assertEquals(lag?.timerScale, 0.001);
  assert(lag?.help !== "");
});

Deno.test("defaultMapping() keeps dots within a domain or a value when it is told the parts", () => {
  const name =
    "ratelimit.service.rate_limit.a.example.host_b.example.total_hits";
  assertEquals(
    formatSeries(mapping({
      name,
      kind: "counter",
      segments: ["a.example", "host_b.example", "total_hits"],
    })),
    "ratelimit_service_rate_limit_total_hits" +
      '{domain="a.example",key1="host_b.example"}',
  );
});

Deno.test("defaultMapping() has response times in seconds, or in milliseconds when asked", () => {
  const stat = {
    name: "ratelimit_server.Check.response_time",
    kind: "timer",
  } as const;
  const seconds = mapping(stat);
  assertEquals(seconds?.name, "ratelimit_service_response_time_seconds");
  assertEquals(seconds?.timerScale, 0.001);
  assert(seconds?.timer.kind === "histogram");
  assertEquals(seconds.timer.bounds[0], 0.005);
  const old = defaultMapping({ isResponseTimeMs: true, names: "reference" })(
    stat,
  );
  assertEquals([old?.name, old?.timerScale], [
    "ratelimit_service_response_time",
    1,
  ]);
});

/** Statistics of each part of the service, as counters, gauges and timers. */
const NAMES = {
  counter: [
    "ratelimit.service.call.should_rate_limit.redis_error",
    "ratelimit.service.config_load_error",
    "ratelimit.service.config_load_success",
    "ratelimit.service.global_shadow_mode",
    "ratelimit.service.candidate.compared",
    "ratelimit.service.candidate.config_load_error",
    "ratelimit.service.rate_limit.d.domain_not_found",
    "ratelimit.service.store_failure.maybe_counted",
    "ratelimit.altcache.increments_lost",
    "ratelimit.candidate.altcache.increments_lost",
    "ratelimit.memcache.keys_found",
    "ratelimit.memcache.multiget.__code=success",
    "ratelimit.process.cpu_seconds_total",
    "ratelimit.redis_pool.cx_total",
    "ratelimit.redis_per_second_pool.cx_local_close",
    "ratelimit.stats.overflow",
    "ratelimit.threads.restarts",
    "ratelimit.threads.12.calls",
    "ratelimit_server.ShouldRateLimit.total_requests",
    "runtime.load_attempts",
  ],
  gauge: [
    "ratelimit.localcache.entryCount",
    "ratelimit.localcache.hitCount",
    "ratelimit.localcache.missCount",
    "ratelimit.localcache.lookupCount",
    "ratelimit.localcache.overwriteCount",
    "ratelimit.localcache.expiredCount",
    "ratelimit.localcache.evacuateCount",
    "ratelimit.memory.operations_when_full",
    "ratelimit.process.resident_memory_bytes",
    "ratelimit.redis_pool.cx_active",
    "ratelimit.stats.overflow_gauge",
    "ratelimit.threads.1.connections",
    "runtime.num_values",
  ],
  timer: [
    "ratelimit.process.event_loop_lag",
    "ratelimit.stats.overflow_timer",
    "ratelimit_server.ShouldRateLimit.response_time",
  ],
} as const;

/** Returns the metrics of all statistics, in the text format. */
async function readText(names: MetricNames): Promise<string> {
  const registry = new StatsRegistry();
  const metrics = new PullMetrics({
    registry,
    mapping: defaultMapping({ isResponseTimeMs: false, names }),
    tags: [],
    pausing: NEVER_PAUSING,
    monotonicMs: () => 0,
    logger: new RecordingLogger(),
  });
  createRuleStatsCache(registry).forPath(statPath(["d", "user_x"]));
  for (const name of NAMES.counter) registry.counter(name);
  for (const name of NAMES.gauge) registry.gauge(name);
  for (const name of NAMES.timer) registry.timer(name);
  return new TextDecoder().decode(await metrics.text());
}

Deno.test("defaultMapping() has names without a fault when clean ones are asked for", async () => {
  const text = await readText("clean");
  assertEquals(metricsFaults(text), []);
  for (
    const name of [
      "process_cpu_seconds_total",
      "ratelimit_localcache_evictions",
      "ratelimit_memcache_multiget_total",
      "ratelimit_redis_pool_cx_total",
      "ratelimit_service_rate_limit_hits_total",
      "ratelimit_service_rate_limit_over_limit_total",
      "ratelimit_service_requests_total",
      "ratelimit_service_response_time_seconds",
    ]
  ) assert(text.includes(`\n# TYPE ${name} `), `${name}\n${text}`);
});

Deno.test("defaultMapping() tells what each statistic is, whatever the names are", async () => {
  for (const names of ["reference", "clean"] as const) {
    const text = await readText(names);
    assert(!text.includes(NO_HELP), text);
    const [helps, types] = [/^# HELP \S+ \S/gm, /^# TYPE /gm].map((line) =>
      text.match(line)?.length ?? 0
    );
    assert(types! > 40, `${types}`);
    assertEquals(helps, types);
  }
  // Nothing but names is other than what promtool asks for.
  const faults = metricsFaults(await readText("reference"));
  assertEquals(faults.filter((fault) => !fault.includes("its name")), []);
});
