import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { loadRules } from "../../services/ratelimit/rules/load.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, formatLimits, listRemaining } from "./answers.ts";

function limit(requests: number): string {
  return `rate_limit: {unit: hour, requests_per_unit: ${requests}}`;
}

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

Deno.test("rule 8: an unlimited rule is OK with the largest 32-bit number remaining and asks no store", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(0)}}
  - {key: a, value: vip, rate_limit: {unlimited: true}}
`));
  const response = bench.ask([["a", "vip"]]);
  assertEquals(formatCodes(response), "OK: OK");
  assertEquals(response.statuses, [{ code: 1, limitRemaining: 4_294_967_295 }]);
  assertEquals(bench.store.calls, 0);
});

const REPLACED = rules(`
  - key: base
    rate_limit: {unit: hour, requests_per_unit: 1, name: base}
  - key: more
    rate_limit: {unit: hour, requests_per_unit: 9, replaces: [{name: base}]}
`);

Deno.test("rule 9: a replacing rule takes the place of the named one and leaves its counter alone", () => {
  const bench = new DeciderBench(REPLACED);
  for (let call = 0; call < 3; call++) {
    const response = bench.ask([["base", "x"]], [["more", "x"]]);
    assertEquals(formatCodes(response), "OK: OK OK");
    assertEquals(formatLimits(response), "- 9");
  }
  assertEquals(Object.fromEntries(bench.store.counts), { "d_more_x_hour_": 3 });
});

Deno.test("rule 9: the replacing rule may stand before the one it replaces in the request", () => {
  const bench = new DeciderBench(REPLACED);
  assertEquals(
    formatLimits(bench.ask([["more", "x"]], [["base", "x"]])),
    "9 -",
  );
});

Deno.test("rule 9: a replaced rule that matches on its own applies", () => {
  const bench = new DeciderBench(REPLACED);
  assertEquals(formatCodes(bench.ask([["base", "x"]])), "OK: OK");
  assertEquals(formatCodes(bench.ask([["base", "x"]])), "OVER: OVER");
});

Deno.test("rule 10: a rule in shadow mode is worked out in full and then answers OK", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, shadow_mode: true, ${limit(1)}}
`));
  bench.ask([["a", "x"]]);
  const response = bench.ask([["a", "x"]]);
  assertEquals(formatCodes(response), "OK: OK");
  assertEquals(formatLimits(response), "1");
  assertEquals(listRemaining(response), [0]);
  assertEquals(Object.fromEntries(bench.store.counts), { "d_a_x_hour_": 2 });
});

Deno.test("rule 10: a statistic tells how often shadow mode turned the result", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, shadow_mode: true, ${limit(1)}}
`));
  for (let call = 0; call < 3; call++) bench.ask([["a", "x"]]);
  assertEquals(bench.stats()["rate_limit.d.a.total_hits"], 3);
  assertEquals(bench.stats()["rate_limit.d.a.over_limit"], 2);
  assertEquals(bench.stats()["rate_limit.d.a.shadow_mode"], 2);
});

Deno.test("rule 10: a rule in shadow mode hides no other rule of the call", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, shadow_mode: true, ${limit(0)}}
  - {key: b, ${limit(0)}}
`));
  assertEquals(
    formatCodes(bench.ask([["a", ""]], [["b", ""]])),
    "OVER: OK OVER",
  );
});

Deno.test("rule 11: global shadow mode lets every call pass and counts those it turned", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${limit(1)}}`), {
    shadowMode: true,
  });
  for (let call = 0; call < 3; call++) {
    const response = bench.ask([["a", "x"]], [["none", "x"]]);
    assertEquals(formatCodes(response).split(":")[0], "OK");
  }
  assertEquals(bench.stats()["global_shadow_mode"], 2);
  assertEquals(bench.stats()["rate_limit.d.a.over_limit"], 2);
  assertEquals(Object.fromEntries(bench.store.counts), { "d_a_x_hour_": 3 });
});

Deno.test("rule 12: detailed_metric puts the matched value into the name of the statistic", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(9)}}
  - {key: b, detailed_metric: true, ${limit(9)}}
`));
  bench.ask([["a", "x"]], [["b", "x"]], [["b", "y"]]);
  const stats = bench.stats();
  assertEquals(stats["rate_limit.d.a.total_hits"], 1);
  assertEquals(stats["rate_limit.d.b_x.total_hits"], 1);
  assertEquals(stats["rate_limit.d.b_y.total_hits"], 1);
  assertEquals(stats["rate_limit.d.b.total_hits"], undefined);
});

const TWO_FILES = [
  `domain: d\ndescriptors: [{key: a, ${limit(1)}}]`,
  `domain: d\ndescriptors: [{key: b, ${limit(2)}}]`,
] as const;

Deno.test("rule 13: two files of one domain are refused", () => {
  const files = TWO_FILES.map((text, index) => ({ name: `${index}`, text }));
  const { snapshot, faults } = loadRules(files);
  assertEquals(snapshot, undefined);
  assertEquals(faults.length, 1);
  assertStringIncludes(faults[0]!.reason, "duplicate domain 'd'");
});

Deno.test("rule 13: two files of one domain are merged when that is asked for", () => {
  const bench = new DeciderBench(TWO_FILES, { mergeDomains: true });
  assertEquals(formatLimits(bench.ask([["a", ""]], [["b", ""]])), "1 2");
  assert(bench.decider.snapshot!.domainNames.length === 1);
});
