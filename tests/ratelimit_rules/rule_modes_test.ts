import { assertEquals } from "@std/assert";
import { DeciderBench } from "../support/decider_bench.ts";
import {
  formatCodes,
  formatHeaders,
  formatLimits,
  listRemaining,
} from "./answers.ts";

function limit(requests: number, more = ""): string {
  return `rate_limit: {unit: hour, requests_per_unit: ${requests}${more}}`;
}

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

Deno.test("replaced names are collected from rules that are themselves replaced", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(1, ", name: a")}}
  - {key: b, ${limit(2, ", name: b, replaces: [{name: a}]")}}
  - {key: c, ${limit(3, ", replaces: [{name: b}]")}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]], [["c", ""]]);
  assertEquals(formatLimits(response), "- - 3");
});

Deno.test("replaced names are collected from unlimited rules", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(0, ", name: a")}}
  - {key: vip, rate_limit: {unlimited: true, replaces: [{name: a}]}}
`));
  assertEquals(formatCodes(bench.ask([["a", ""]], [["vip", ""]])), "OK: OK OK");
  assertEquals(bench.store.calls, 0);
});

Deno.test("two rules that replace each other are both dropped and counted nowhere", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(0, ", name: a, replaces: [{name: b}]")}}
  - {key: b, ${limit(0, ", name: b, replaces: [{name: a}]")}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]]);
  assertEquals(formatCodes(response), "OK: OK OK");
  assertEquals(formatLimits(response), "- -");
  assertEquals(listRemaining(response), [0, 0]);
  assertEquals(bench.stats(), {});
  assertEquals(bench.store.calls, 0);
});

Deno.test("a replaced rule that is unlimited still answers unlimited", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, rate_limit: {unlimited: true, name: a}}
  - {key: b, ${limit(5, ", replaces: [{name: a}]")}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]]);
  assertEquals(listRemaining(response), [4_294_967_295, 4]);
});

Deno.test("one name drops every matched rule that carries it", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(0, ", name: n")}}
  - {key: b, ${limit(0, ", name: n")}}
  - {key: c, ${limit(5, ", replaces: [{name: n}, {name: gone}]")}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]], [["c", ""]]);
  assertEquals(formatCodes(response), "OK: OK OK OK");
});

Deno.test("the status carries the name of its rule", () => {
  const bench = new DeciderBench(rules(`
  - {key: a, ${limit(3, ", name: tier")}}
  - {key: b, ${limit(4)}}
`));
  const response = bench.ask([["a", ""]], [["b", ""]]);
  assertEquals(response.statuses.map(({ currentLimit }) => currentLimit), [
    { requestsPerUnit: 3, unit: 3, name: "tier" },
    { requestsPerUnit: 4, unit: 3 },
  ]);
});

Deno.test("shadow mode of a rule is not inherited by deeper ones", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    shadow_mode: true
    ${limit(0)}
    descriptors: [{key: b, ${limit(0)}}]
`));
  const response = bench.ask([["a", ""]], [["a", ""], ["b", ""]]);
  assertEquals(formatCodes(response), "OVER: OK OVER");
});

Deno.test("global shadow mode turns the overall code and leaves statuses and headers", () => {
  const headers = { limit: "L", remaining: "R", reset: "S" };
  const rule = rules(`  - {key: a, ${limit(0)}}`);
  const plain = new DeciderBench(rule, { headers }).ask([["a", ""]]);
  const shadow = new DeciderBench(rule, { headers, shadowMode: true })
    .ask([["a", ""]]);
  assertEquals(formatCodes(plain), "OVER: OVER");
  assertEquals(formatCodes(shadow), "OK: OVER");
  assertEquals(shadow.statuses, plain.statuses);
  assertEquals(formatHeaders(shadow), formatHeaders(plain));
});

Deno.test("global shadow mode applies to limits that come with the request", () => {
  const bench = new DeciderBench(rules("  - {key: a}"), { shadowMode: true });
  const response = bench.ask({
    entries: [["z", ""]],
    limit: { requestsPerUnit: 0, unit: 3 },
  });
  assertEquals(formatCodes(response), "OK: OVER");
  assertEquals(bench.stats()["global_shadow_mode"], 1);
});

const QUOTAS = rules(`
  - {key: q0, quota_mode: true, ${limit(0)}}
  - {key: p0, quota_mode: true, ${limit(0)}}
  - {key: q9, quota_mode: true, ${limit(9)}}
  - {key: n0, ${limit(0)}}
  - {key: n9, ${limit(9)}}
`);

Deno.test("a call with quotas is over when all of them are used up or a normal rule is over", () => {
  const bench = new DeciderBench(QUOTAS);
  const rows: readonly (readonly [string, string])[] = [
    ["q0", "OVER: OVER"],
    ["q0 p0", "OVER: OVER OVER"],
    ["q0 q9", "OK: OVER OK"],
    ["q9 q0 p0", "OK: OK OVER OVER"],
    ["q9", "OK: OK"],
    ["q0 n9", "OVER: OVER OK"],
    ["q9 n0", "OVER: OK OVER"],
    ["q0 q9 n0", "OVER: OVER OK OVER"],
    ["q0 none", "OVER: OVER OK"],
  ];
  for (const [keys, expected] of rows) {
    const descriptors = keys.split(" ").map((key) => [[key, ""]] as const);
    assertEquals(formatCodes(bench.ask(...descriptors)), expected, keys);
  }
});

Deno.test("with every descriptor a quota, unmatched and unlimited ones have passed", () => {
  const bench = new DeciderBench(
    rules(`
  - {key: n0, ${limit(0)}}
  - {key: free, rate_limit: {unlimited: true}}
`),
    { quotaMode: true },
  );
  assertEquals(formatCodes(bench.ask([["n0", ""]])), "OVER: OVER");
  assertEquals(
    formatCodes(bench.ask([["n0", ""]], [["none", ""]])),
    "OK: OVER OK",
  );
  assertEquals(
    formatCodes(bench.ask([["n0", ""]], [["free", ""]])),
    "OK: OVER OK",
  );
});

Deno.test("with every descriptor a quota, a limit that comes with the request is one too", () => {
  const bench = new DeciderBench(rules("  - {key: a}"), { quotaMode: true });
  const own = (requestsPerUnit: number) => ({
    entries: [["z", String(requestsPerUnit)]] as const,
    limit: { requestsPerUnit, unit: 3 },
  });
  assertEquals(formatCodes(bench.ask(own(0), own(1))), "OK: OVER OK");
});
