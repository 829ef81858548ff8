import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type MappedStat, readMapping } from "./metric_mapping.ts";

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
  const over = map("ratelimit.service.rate_limit.d.k.over_limit");
  assertEquals([over?.name, over?.labels], [
    "over",
    [["domain", "d"], ["key", "k"], ["other", "$7"]],
  ]);
  assert(over?.help !== "");
  const hits = map("ratelimit.service.rate_limit.d.a.b.total_hits");
  assertEquals([hits?.name, hits?.labels, hits?.help], [
    "hits_total",
    [["domain", "d"], ["path", "a.b"]],
    "All hits.",
  ]);
  // A star stands for one part: it does not match a dot.
  assertEquals(map("a.secret.b"), undefined);
  assertEquals(map("a.b.secret.c")?.name, "a_b_secret_c");
  assertEquals(map("timed.x")?.name, "timed_x");
  assertEquals(map("timed.x", "timer")?.name, "timed");
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
