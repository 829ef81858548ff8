import { assertEquals } from "@std/assert";
import { DeciderBench } from "../support/decider_bench.ts";

const LIMIT = "rate_limit: {unit: hour, requests_per_unit: 9}";

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

type Entries = readonly (readonly [string, string])[];

/**
 * Returns the paths, below the domain, of the statistics that the descriptors
 * counted in.
 */
function paths(yaml: string, ...descriptors: readonly Entries[]): string[] {
  const bench = new DeciderBench(rules(yaml));
  bench.ask(...descriptors);
  return Object.keys(bench.stats()).filter((name) =>
    name.endsWith(".total_hits")
  ).map((name) => name.slice("rate_limit.d.".length, -".total_hits".length));
}

Deno.test("the path of a rule is its keys and configured values, level by level", () => {
  const yaml = `
  - key: a
    value: x
    descriptors:
      - key: b
        descriptors: [{key: c, value: y*, ${LIMIT}}]
`;
  const entries: Entries = [["a", "x"], ["b", "1"], ["c", "y2"]];
  assertEquals(paths(yaml, entries), ["a_x.b.c_y*"]);
});

Deno.test("detailed_metric shows the values of the request at every level", () => {
  const yaml = `
  - key: a
    descriptors:
      - key: b
        value: x*
        descriptors: [{key: c, detailed_metric: true, ${LIMIT}}]
`;
  const entries: Entries = [["a", "1"], ["b", "x2"], ["c", ""]];
  assertEquals(paths(yaml, entries), ["a_1.b_x2.c"]);
});

Deno.test("detailed_metric above the last level has no effect on deeper rules", () => {
  const yaml = `
  - key: a
    detailed_metric: true
    descriptors: [{key: b, ${LIMIT}}]
`;
  assertEquals(paths(yaml, [["a", "1"], ["b", "2"]]), ["a.b"]);
});

Deno.test("value_to_metric shows the value of the request at its level alone", () => {
  const yaml = `
  - key: a
    value_to_metric: true
    descriptors:
      - key: b
        descriptors: [{key: c, value: x*, ${LIMIT}}]
`;
  const entries: Entries = [["a", "1"], ["b", "2"], ["c", "x3"]];
  assertEquals(paths(yaml, entries), ["a_1.b.c_x*"]);
});

Deno.test("value_to_metric shows the value in place of the pattern", () => {
  const yaml = `
  - {key: a, value: x*, ${LIMIT}}
  - {key: b, value: x*, value_to_metric: true, ${LIMIT}}
`;
  assertEquals(paths(yaml, [["a", "x1"]], [["b", "x2"]]), ["a_x*", "b_x2"]);
});

Deno.test("share_threshold shows the pattern whatever the other flags say", () => {
  const yaml = `
  - key: a
    value: x*
    share_threshold: true
    value_to_metric: true
    descriptors: [{key: b, detailed_metric: true, ${LIMIT}}]
`;
  assertEquals(paths(yaml, [["a", "x1"], ["b", "2"]]), ["a_x*.b_2"]);
});

Deno.test("share_threshold makes one counter of all values its pattern matches", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, value: x*, share_threshold: true, ${LIMIT}}
  - {key: a, value: x1, ${LIMIT}}
`));
  bench.ask([["a", "x1"]], [["a", "x2"]], [["a", "x3"]]);
  assertEquals(Object.fromEntries(bench.store.counts), {
    "d_a_x1_hour_": 1,
    "d_a_x*_hour_": 2,
  });
});

Deno.test("share_threshold above the last level shares the counters of deeper rules", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    value: x*
    share_threshold: true
    descriptors: [{key: b, ${LIMIT}}]
`));
  bench.ask([["a", "x1"], ["b", "1"]], [["a", "x2"], ["b", "1"]]);
  bench.ask([["a", "x2"], ["b", "2"]]);
  assertEquals(Object.fromEntries(bench.store.counts), {
    "d_a_x*_b_1_hour_": 2,
    "d_a_x*_b_2_hour_": 1,
  });
});

Deno.test("names lose colons, bars and the dots of IPv4 addresses, and keep other dots", () => {
  const yaml = `  - {key: a, detailed_metric: true, ${LIMIT}}`;
  const descriptors = ["10.0.0.1", "x:y|z", "v1.2"].map((value): Entries => [
    ["a", value],
  ]);
  assertEquals(paths(yaml, ...descriptors).sort(), [
    "a_10_0_0_1",
    "a_v1.2",
    "a_x_y_z",
  ]);
});

Deno.test("a rule has seven statistics, an unknown domain one, and these and shadow mode one for all", () => {
  const bench = new DeciderBench(
    rules(
      "  - {key: a, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 5}}",
    ),
    { shadowMode: true },
  );
  const hits = (hitsAddend: number, isNegativeHits = false) => ({
    entries: [["a", "x"]] as const,
    hitsAddend,
    isNegativeHits,
  });
  bench.ask(hits(5));
  bench.ask(hits(2));
  bench.ask(hits(1, true));
  bench.ask({ ...hits(9), limit: { requestsPerUnit: 0, unit: 3 } });
  bench.answer({ domain: "e", descriptors: [[["a", "x"]]] });
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 7,
    "rate_limit.d.a.within_limit": 5,
    "rate_limit.d.a.near_limit": 1,
    "rate_limit.d.a.over_limit": 2,
    "rate_limit.d.a.shadow_mode": 2,
    "rate_limit.d.a.total_negative_hits": 1,
    "rate_limit.d.a_x.total_hits": 9,
    "rate_limit.d.a_x.over_limit": 9,
    "rate_limit.e.domain_not_found": 1,
    "domain_not_found": 1,
    "global_shadow_mode": 1,
  });
});
