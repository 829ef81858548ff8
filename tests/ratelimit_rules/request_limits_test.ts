import { assertEquals } from "@std/assert";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, formatLimits } from "./answers.ts";

function limit(requests: number): string {
  return `rate_limit: {unit: hour, requests_per_unit: ${requests}}`;
}

function rules(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

function hour(requests: number): { requestsPerUnit: number; unit: number } {
  return { requestsPerUnit: requests, unit: 3 };
}

Deno.test("a limit that comes with the request has no effect in an unknown domain", () => {
  const bench = new DeciderBench(rules(`  - {key: a, ${limit(0)}}`));
  const response = bench.answer({
    domain: "other",
    descriptors: [{ entries: [["a", "x"]], limit: hour(0) }],
  });
  assertEquals(formatCodes(response), "OK: OK");
  assertEquals(bench.store.calls, 0);
});

Deno.test("a limit that comes with the request applies in a known domain where no rule matches", () => {
  const bench = new DeciderBench(rules("  - {key: a}"));
  const response = bench.ask({ entries: [["z", "x"]], limit: hour(0) });
  assertEquals(formatCodes(response), "OVER: OVER");
  assertEquals(bench.stats()["rate_limit.d.z_x.over_limit"], 1);
});

Deno.test("a limit that comes with the request wins over shadow mode, quota mode, unlimited and names", () => {
  const bench = new DeciderBench(
    rules(`
  - {key: shadow, shadow_mode: true, ${limit(9)}}
  - {key: quota, quota_mode: true, ${limit(9)}}
  - {key: unlimited, rate_limit: {unlimited: true}}
  - {key: named, rate_limit: {unit: hour, requests_per_unit: 9, name: n}}
  - {key: exempt}
`),
  );
  for (const key of ["shadow", "quota", "unlimited", "named", "exempt"]) {
    const response = bench.ask(
      { entries: [[key, "x"]], limit: hour(0) },
      [["none", ""]],
    );
    assertEquals(formatCodes(response), "OVER: OVER OK", key);
    const [status] = response.statuses;
    assertEquals(status!.currentLimit, hour(0), key);
  }
});

Deno.test("a limit that comes with the request is not replaced and replaces nothing", () => {
  const bench = new DeciderBench(rules(`
  - key: a
    rate_limit: {unit: hour, requests_per_unit: 5, name: a, replaces: [{name: b}]}
  - key: b
    rate_limit: {unit: hour, requests_per_unit: 6, name: b, replaces: [{name: a}]}
`));
  const own = { entries: [["a", "x"]] as const, limit: hour(7) };
  assertEquals(formatLimits(bench.ask(own, [["b", "x"]])), "7 6");
});

Deno.test("a limit that comes with the request has statistics by key and value of every entry", () => {
  const bench = new DeciderBench(rules("  - {key: a}"));
  bench.ask({ entries: [["a", "x"], ["b", ""], ["c", "y"]], limit: hour(9) });
  assertEquals(bench.stats(), {
    "rate_limit.d.a_x.b.c_y.total_hits": 1,
    "rate_limit.d.a_x.b.c_y.within_limit": 1,
  });
});

Deno.test("a limit that comes with the request works without entries", () => {
  const bench = new DeciderBench(rules("  - {key: a}"));
  const all = { entries: [], limit: hour(1) };
  assertEquals(formatCodes(bench.ask(all, all)), "OVER: OK OVER");
  assertEquals(bench.stats()["rate_limit.d.total_hits"], 2);
});
