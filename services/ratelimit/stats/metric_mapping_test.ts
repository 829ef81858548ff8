import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  defaultMapping,
  type MappedStat,
  type MetricTarget,
  readMapping,
} from "./metric_mapping.ts";

const mapping = defaultMapping({ isResponseTimeMs: false });

function seriesOf(target: MetricTarget | undefined): string | undefined {
  if (target === undefined) return undefined;
  const labels = target.labels.map(([name, value]) => `${name}="${value}"`);
  return `${target.name}{${labels.join(",")}}`;
}

function mapped(name: string, kind: MappedStat["kind"] = "counter") {
  return seriesOf(mapping({ name, kind }));
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
    seriesOf(mapping({
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
  const old = defaultMapping({ isResponseTimeMs: true })(stat);
  assertEquals([old?.name, old?.timerScale], [
    "ratelimit_service_response_time",
    1,
  ]);
});

async function read(yaml: string) {
  const outcome = await readMapping(yaml);
  assert(outcome.kind === "ok", JSON.stringify(outcome));
  return (name: string, kind: MappedStat["kind"] = "counter") =>
    outcome.mapping({ name, kind });
}

Deno.test("readMapping() takes globs and regular expressions in the order of the file", async () => {
  const map = await read(`
mappings:
  - match: "ratelimit.service.rate_limit.*.*.over_limit"
    name: over
    labels: {domain: "$1", key: "\${2}", other: "$7"}
  - match: 'rate_limit\\.(?P<domain>[^.]+)\\.(.+)\\.(total)_hits'
    match_type: regex
    name: "hits_$3"
    help: All hits.
    labels: {domain: "$1", path: "$2"}
  - match: "*.secret.*"
    name: none
    action: drop
  - match: "timed.*"
    match_metric_type: timer
    name: timed
`);
  assertEquals(
    seriesOf(map("ratelimit.service.rate_limit.d.k.over_limit")),
    'over{domain="d",key="k",other="$7"}',
  );
  const hits = map("ratelimit.service.rate_limit.d.a.b.total_hits");
  assertEquals(seriesOf(hits), 'hits_total{domain="d",path="a.b"}');
  assertEquals(hits?.help, "All hits.");
  // A star stands for one part: it does not match a dot.
  assertEquals(map("a.secret.b"), undefined);
  assertEquals(seriesOf(map("a.b.secret.c")), "a_b_secret_c{}");
  assertEquals(seriesOf(map("timed.x")), "timed_x{}");
  assertEquals(seriesOf(map("timed.x", "timer")), "timed{}");
});

Deno.test("readMapping() takes histograms and summaries, from a mapping before the defaults", async () => {
  const map = await read(`
defaults:
  observer_type: histogram
  histogram_options: {buckets: [1, 0.5]}
mappings:
  - match: "a"
    name: a
    observer_type: summary
    summary_options:
      quantiles: [{quantile: 0.9, error: 0.01}, {quantile: 0.5}]
      max_age: 30s
  - {match: "b", name: b, buckets: [7], scale: 2}
`);
  assertEquals(map("a", "timer")?.timer, {
    kind: "summary",
    quantiles: [0.5, 0.9],
    maxAgeSeconds: 30,
  });
  assertEquals(map("b", "timer")?.timer, { kind: "histogram", bounds: [7] });
  assertEquals([map("b")?.scale, map("b")?.timerScale], [2, 0.002]);
  assertEquals(map("c", "timer")?.timer, {
    kind: "histogram",
    bounds: [0.5, 1],
  });
  assertEquals((await read("mappings: []"))("c", "timer")?.timer, {
    kind: "summary",
    quantiles: [0.5, 0.9, 0.99],
    maxAgeSeconds: 600,
  });
});

Deno.test("readMapping() names every fault with its place", async () => {
  const faults: readonly (readonly [string, string])[] = [
    ["mappings: [{match: a}]", "/mappings/0: a mapping that is not dropped"],
    ["mappings: [{match: '(', match_type: regex, name: a}]", "Cannot read pat"],
    ["mappings: [{match: a, name: b, ttl: 5s}]", "ttl"],
    ["mappings: [{match: a, name: b, observer_type: histogramm}]", "histogram"],
    ["defaults: {glob_disable_ordering: true}", "glob_disable_ordering"],
    ["mappings: [{match: 'a*.b', name: b}]", 'the part "a*"'],
    ["mappings: [{match: '', name: b}]", "/mappings/0/match"],
    ["mapings: []", "mappings"],
    ["mappings: [", "it is not YAML"],
  ];
  for (const [yaml, part] of faults) {
    const outcome = await readMapping(yaml);
    assert(outcome.kind === "invalid", yaml);
    assertStringIncludes(outcome.problems.join("\n"), part);
  }
});
