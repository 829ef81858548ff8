import { assert, assertEquals } from "@std/assert";
import parsePrometheus from "npm:parse-prometheus-text-format@^1.1.1";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import { defaultMapping } from "./default_mapping.ts";
import { type MetricMapping, readMapping } from "./metric_mapping.ts";
import { PullMetrics } from "./pull_metrics.ts";
import { StatsRegistry } from "./registry.ts";
import { createRuleStatsCache, statPath } from "./stats.ts";

/**
 * Returns the metrics that the parser, which has no types, reads from a text.
 */
function parsed(text: string): readonly {
  readonly name: string;
  readonly type: string;
  readonly metrics: readonly {
    readonly value?: string;
    readonly labels?: Readonly<Record<string, string>>;
  }[];
}[] {
  return parsePrometheus(text);
}

async function readText(metrics: PullMetrics): Promise<string> {
  return new TextDecoder().decode(await metrics.text());
}

function world(
  options: {
    readonly mapping?: MetricMapping;
    readonly tags?: readonly (readonly [string, string])[];
    readonly pausing?: Pausing;
  } = {},
) {
  const registry = new StatsRegistry();
  const logger = new RecordingLogger();
  let nowMs = 0;
  const metrics = new PullMetrics({
    registry,
    mapping: options.mapping ??
      defaultMapping({ isResponseTimeMs: false, names: "reference" }),
    tags: options.tags ?? [],
    pausing: options.pausing ?? NEVER_PAUSING,
    monotonicMs: () => nowMs,
    logger,
  });
  return { registry, metrics, logger, pass: (ms: number) => nowMs += ms };
}

async function parseMapping(yaml: string): Promise<MetricMapping> {
  const read = await readMapping(yaml);
  assert(read.kind === "ok", JSON.stringify(read));
  return read.mapping;
}

Deno.test("PullMetrics writes rules as counters with a label for each level", async () => {
  const { registry, metrics } = world({ tags: [["region", "eu"]] });
  const cache = createRuleStatsCache(registry);
  cache.forPath(statPath(["a.example", "k_v.w", "b", "c"])).overLimit.add(3);
  const families = parsed(await readText(metrics));
  const over = families.find(({ name }) =>
    name === "ratelimit_service_rate_limit_over_limit"
  );
  assertEquals(over?.type, "COUNTER");
  assertEquals(
    over?.metrics.find(({ labels }) => labels?.domain === "a.example"),
    {
      value: "3",
      labels: {
        domain: "a.example",
        key1: "k_v.w",
        key2: "b",
        key3: "c",
        region: "eu",
      },
    },
  );
});

Deno.test("PullMetrics keeps the label of each part when a caller's value is long", async () => {
  const { registry, metrics } = world();
  const cache = createRuleStatsCache(registry);
  for (const length of [10, 600, 4_000]) {
    const value = `user_${"v".repeat(length)}`;
    cache.forPath(statPath(["edge", value, "plan_a"])).totalHits.add();
  }
  const hits =
    parsed(await readText(metrics)).find(({ name }) =>
      name === "ratelimit_service_rate_limit_total_hits"
    )?.metrics.map(({ labels = {} }) => labels) ?? [];
  assertEquals(
    hits.map(({ domain, key2 }) => [domain, key2]),
    [["overflow", undefined], ...Array(3).fill(["edge", "plan_a"])],
  );
  assert(hits.every(({ key1 = "" }) => key1.length <= 256));
  assertEquals(new Set(hits.map(({ key1 }) => key1)).size, 4);
});

Deno.test("PullMetrics writes response times as a histogram in seconds", async () => {
  const { registry, metrics } = world();
  const timer = registry.timer("ratelimit_server.Check.response_time");
  for (const ms of [1, 7, 7, 20_000]) timer.record(ms);
  const text = await readText(metrics);
  const name = "ratelimit_service_response_time_seconds";
  for (
    const line of [
      `# TYPE ${name} histogram`,
      `${name}_bucket{grpc_method="Check",le="0.005"} 1`,
      `${name}_bucket{grpc_method="Check",le="0.01"} 3`,
      `${name}_bucket{grpc_method="Check",le="10"} 3`,
      `${name}_bucket{grpc_method="Check",le="+Inf"} 4`,
      `${name}_sum{grpc_method="Check"} 20.015`,
      `${name}_count{grpc_method="Check"} 4`,
    ]
  ) assert(text.split("\n").includes(line), `${line}\n${text}`);
});

Deno.test("PullMetrics adds statistics up that share a series", async () => {
  const { registry, metrics } = world({
    mapping: await parseMapping(
      "mappings: [{match: 'a.*', name: a, help: As., scale: 2}]",
    ),
  });
  registry.counter("a.x").add(2);
  registry.counter("a.y").add(3);
  assertEquals(
    await readText(metrics),
    "# HELP a As.\n# TYPE a counter\na 10\n",
  );
});

Deno.test("PullMetrics leaves out what is dropped, and what would change the kind of a metric, with one warning", async () => {
  const { registry, metrics, logger } = world({
    mapping: await parseMapping(
      "mappings: [{match: 'no.*', name: no, action: drop}, {match: '*.*', name: m, help: Ms.}]",
    ),
  });
  registry.counter("no.x").add(1);
  registry.counter("c.x").add(1);
  registry.gauge("g.x").set(5);
  registry.gauge("g.y").set(5);
  assertEquals(
    await readText(metrics),
    "# HELP m Ms.\n# TYPE m counter\nm 1\n",
  );
  assertEquals(logger.listMessages("warning").length, 1);
});

Deno.test("PullMetrics gathers durations in buckets and quantiles of a mapping", async () => {
  const { registry, metrics, pass } = world({
    mapping: await parseMapping(`
mappings:
  - {match: h, name: h, observer_type: histogram, histogram_options: {buckets: [0.002]}}
  - match: s
    name: s
    observer_type: summary
    summary_options: {quantiles: [{quantile: 0.5}], max_age: 50s}
`),
  });
  const histogram = registry.timer("h");
  const summary = registry.timer("s");
  for (const ms of [1, 2, 3]) {
    histogram.record(ms);
    summary.record(ms);
  }
  const text = await readText(metrics);
  for (
    const line of [
      'h_bucket{le="0.002"} 2',
      'h_bucket{le="+Inf"} 3',
      "h_sum 0.006",
      's{quantile="0.5"} 0.002',
      "s_count 3",
    ]
  ) assert(text.split("\n").includes(line), `${line}\n${text}`);
  pass(20_000);
  summary.record(8);
  pass(40_000);
  const later = await readText(metrics);
  assert(later.includes('s{quantile="0.5"} 0.008\n'), later);
  pass(60_000);
  const late = await readText(metrics);
  assert(late.includes('s{quantile="0.5"} NaN\n'));
  assert(late.includes("s_count 4\n"));
});

Deno.test("PullMetrics counts all durations of another thread, though only samples of them come", async () => {
  const { registry, metrics } = world({
    mapping: await parseMapping(`
mappings:
  - {match: h, name: h, observer_type: histogram, histogram_options: {buckets: [0.002]}}
  - {match: s, name: s, observer_type: summary}
`),
  });
  const thread = new StatsRegistry();
  const reader = thread.openReader({ maxTimerSamples: 10 });
  for (const name of ["h", "s"]) {
    registry.timer(name).record(4);
    const timer = thread.timer(name);
    for (let call = 0; call < 1_234; call++) timer.record(1);
  }
  registry.absorb(1, [...reader.changes()]);
  const text = await readText(metrics);
  for (
    const line of [
      'h_bucket{le="0.002"} 1234',
      'h_bucket{le="+Inf"} 1235',
      "h_sum 1.238",
      "h_count 1235",
      's{quantile="0.5"} 0.001',
      "s_sum 1.238",
      "s_count 1235",
    ]
  ) assert(text.split("\n").includes(line), `${line}\n${text}`);
});

Deno.test("PullMetrics writes what an independent parser reads, whatever callers send", async () => {
  await eachRound({ rounds: 200 }, async ({ random }) => {
    const { registry, metrics } = world();
    const cache = createRuleStatsCache(registry);
    const odd = ["a", ".", '"', "\\", "\n", "{", "}", ",", "=", "é", "😀", " "];
    const text = (): string =>
      random.list(8, () => random.pick(odd)).join("") || "x";
    const levels = random.list(4, text);
    cache.forPath(statPath([text(), ...levels])).totalHits.add(1);
    const written = await readText(metrics);
    const family = parsed(written).find(({ name }) =>
      name === "ratelimit_service_rate_limit_total_hits"
    );
    // The path's own series, and that of the paths without room.
    assertEquals(family?.metrics.length, 2);
    const own = family?.metrics.find(({ value }) => value === "1");
    assertEquals(Object.keys(own?.labels ?? {}).length, levels.length + 1);
  });
});

Deno.test("PullMetrics gives two that ask at once the same text", async () => {
  const { metrics } = world();
  const first = metrics.text();
  assertEquals(metrics.text() === first, true);
  await first;
  assertEquals(metrics.text() === first, false);
});

Deno.test("PullMetrics lets decisions go on between some series, and writes those that come meanwhile", async () => {
  let pauses = 0;
  const { registry, metrics } = world({
    pausing: {
      async pause() {
        pauses++;
        await Promise.resolve();
        registry.counter(`late.__of=${pauses}`).add();
      },
    },
  });
  for (let series = 0; series < 1_000; series++) {
    registry.counter(`first.__number=${series}`).add();
  }
  const families = parsed(await readText(metrics));
  const countMetrics = (name: string) =>
    families.find((family) => family.name === name)?.metrics.length;
  assertEquals(countMetrics("first"), 1_000);
  assert(pauses >= 10 && pauses < 100, String(pauses));
  // The family "late" did not exist when this text was begun.
  assertEquals(countMetrics("late"), undefined);
  const next = parsed(await readText(metrics));
  assert(next.find(({ name }) => name === "late")!.metrics.length > pauses / 3);
});

Deno.test("a million descriptors take the room of STATS_MAX_NAMES, and every hit is in some series", async () => {
  const { metrics, registry } = world();
  const cache = createRuleStatsCache(registry, { maxPaths: 1_000 });
  const callers = 1_000_000;
  for (let caller = 0; caller < callers; caller++) {
    cache.forPath(statPath(["d", `user_${caller}`])).totalHits.add();
  }
  assertEquals(registry.size, 7 * 1_001);
  const hits =
    parsed(await readText(metrics)).find(({ name }) =>
      name === "ratelimit_service_rate_limit_total_hits"
    )!.metrics;
  assertEquals(hits.length, 1_001);
  const rest = hits.find(({ labels }) => labels?.domain === "overflow");
  assertEquals(Number(rest?.value), callers - 1_000);
});
