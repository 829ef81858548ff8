import { assertEquals } from "@std/assert";
import type { CounterStore } from "../../services/ratelimit/counters/counter_store.ts";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { OverLimitCache } from "../../services/ratelimit/counters/over_limit_cache.ts";
import { StatsRegistry } from "../../services/ratelimit/stats/registry.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { createView, type DescriptorOfTest } from "../support/create_view.ts";
import { formatCodes } from "./answers.ts";

const rules = (limit: number): string =>
  `domain: d\ndescriptors:\n  - {key: a, rate_limit: {unit: minute, requests_per_unit: ${limit}}}\n  - {key: b, rate_limit: {unit: minute, requests_per_unit: 9}}\n`;
function createBench(
  limit: number,
  options: { store?: CounterStore; stopWhenOver?: boolean } = {},
): DeciderBench {
  const { store = new MemoryStore(), ...rest } = options;
  return new DeciderBench(rules(limit), {
    ...rest,
    store: new OverLimitCache({
      store,
      maxBytes: 524_288,
      maxAgeSeconds: 60,
      stats: new StatsRegistry(),
    }),
  });
}
const hits = (
  hitsAddend: number,
  isNegativeHits = false,
): DescriptorOfTest => ({
  entries: [["a", "x"]] as const,
  hitsAddend,
  isNegativeHits,
});

Deno.test("a counter over a small limit of one request is not refused to a rule with a larger one", () => {
  const bench = createBench(100);
  bench.ask({ ...hits(2), limit: { requestsPerUnit: 1, unit: 2 } });
  assertEquals(formatCodes(bench.ask(hits(1))), "OK: OK");
});
Deno.test("a raised limit is in force at once although the counter was over the old one", () => {
  const bench = createBench(1);
  bench.ask(hits(2));
  bench.reload(rules(100));
  assertEquals(formatCodes(bench.ask(hits(1))), "OK: OK");
});
Deno.test("hits taken and given back in one call leave nothing remembered", () => {
  const bench = createBench(2);
  bench.ask(hits(3), hits(3, true));
  assertEquals(formatCodes(bench.ask(hits(1))), "OK: OK");
});
Deno.test("hits given back while the hits are on their way leave nothing remembered", async () => {
  const memory = new MemoryStore();
  const bench = createBench(2, {
    store: {
      apply: (batch) => Promise.resolve(memory.apply(batch)),
      isHealthy: () => true,
      start: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    },
  });
  const ask = (descriptor: DescriptorOfTest) =>
    bench.decider.decide(
      createView({ domain: "d", descriptors: [descriptor] }),
      bench.nowSeconds,
    );
  await Promise.all([ask(hits(3)), ask(hits(3, true))]);
  const decision = await ask(hits(1));
  if (decision.kind !== "decided") throw new Error(decision.reason);
  assertEquals(formatCodes(decision.response), "OK: OK");
});
Deno.test("a look at a counter known to be over stops no other", () => {
  const memory = new MemoryStore();
  const bench = createBench(1, { store: memory, stopWhenOver: true });
  bench.ask(hits(2));
  bench.ask(hits(0), { entries: [["b", "x"]], hitsAddend: 1 });
  const [status] = bench.ask({ entries: [["b", "x"]], hitsAddend: 0 }).statuses;
  assertEquals(status!.limitRemaining, 8);
});
