import { assertEquals } from "@std/assert";
import { OverLimitCache } from "../../services/ratelimit/counters/over_limit_cache.ts";
import { StatsRegistry } from "../../services/ratelimit/stats/registry.ts";
import { DeciderBench, TextStore } from "../support/decider_bench.ts";
import { formatCodes, listRemaining } from "./answers.ts";

const RULES = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 1}}
  - {key: b, rate_limit: {unit: minute, requests_per_unit: 9}}
  - {key: s, shadow_mode: true, rate_limit: {unit: minute, requests_per_unit: 1}}
`;

function cachedBench(): { bench: DeciderBench; inner: TextStore } {
  const inner = new TextStore();
  const store = new OverLimitCache({
    stats: new StatsRegistry(),
    store: inner,
    maxBytes: 524_288,
    maxAgeSeconds: 3_600,
  });
  return { bench: new DeciderBench(RULES, { store }), inner };
}

function hits(key: string, hitsAddend: number) {
  return { entries: [[key, "x"]] as const, hitsAddend };
}

Deno.test("a counter known to be over is refused at once and not incremented", () => {
  const { bench, inner } = cachedBench();
  bench.ask(hits("a", 2));
  const response = bench.ask(hits("a", 5));
  assertEquals(formatCodes(response), "OVER: OVER");
  assertEquals(response.statuses[0]!.currentLimit, {
    requestsPerUnit: 1,
    unit: 2,
  });
  assertEquals(Object.fromEntries(inner.counts), { "d_a_x_minute_": 2 });
  assertEquals(inner.calls, 1);
});

Deno.test("hits that the cache refused are total, over and over by the local cache", () => {
  const { bench } = cachedBench();
  bench.ask(hits("a", 2));
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 2,
    "rate_limit.d.a.over_limit": 1,
    "rate_limit.d.a.near_limit": 1,
  });
  bench.ask(hits("a", 5));
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 7,
    "rate_limit.d.a.over_limit": 6,
    "rate_limit.d.a.near_limit": 1,
    "rate_limit.d.a.over_limit_with_local_cache": 5,
  });
});

Deno.test("the other descriptors of a call go on as usual", () => {
  const { bench, inner } = cachedBench();
  bench.ask(hits("a", 2));
  const response = bench.ask(hits("b", 1), hits("a", 1), hits("b", 2));
  assertEquals(formatCodes(response), "OVER: OK OVER OK");
  assertEquals(listRemaining(response), [8, 0, 6]);
  assertEquals(Object.fromEntries(inner.counts), {
    "d_a_x_minute_": 2,
    "d_b_x_minute_": 3,
  });
});

Deno.test("a rule in shadow mode uses the cache and passes", () => {
  const { bench, inner } = cachedBench();
  bench.ask(hits("s", 2));
  assertEquals(formatCodes(bench.ask(hits("s", 5))), "OK: OK");
  assertEquals(inner.calls, 1);
  assertEquals(bench.stats(), {
    "rate_limit.d.s.total_hits": 7,
    "rate_limit.d.s.over_limit": 6,
    "rate_limit.d.s.near_limit": 1,
    "rate_limit.d.s.shadow_mode": 6,
    "rate_limit.d.s.over_limit_with_local_cache": 5,
  });
});

Deno.test("a counter at exactly its limit is not remembered as over", () => {
  const { bench, inner } = cachedBench();
  bench.ask(hits("a", 1));
  bench.ask(hits("a", 0));
  bench.ask(hits("a", 1));
  assertEquals(inner.calls, 3);
});

Deno.test("what is remembered ends with its window", () => {
  const { bench, inner } = cachedBench();
  bench.ask(hits("a", 2));
  bench.nowSeconds += 60 - bench.nowSeconds % 60;
  inner.counts.clear();
  assertEquals(formatCodes(bench.ask(hits("a", 1))), "OK: OK");
});
