import { assertEquals } from "@std/assert";
import type { CounterStore } from "../../services/ratelimit/counters/counter_store.ts";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { OverLimitCache } from "../../services/ratelimit/counters/over_limit_cache.ts";
import { StatsRegistry } from "../../services/ratelimit/stats/registry.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { formatCodes, listRemaining } from "./answers.ts";

const RULES = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: b, rate_limit: {unit: minute, requests_per_unit: 5}}
  - {key: c, rate_limit: {unit: hour, requests_per_unit: 5}}
`;

function hits(key: string, hitsAddend: number) {
  return { entries: [[key, "x"]] as const, hitsAddend };
}

function createBench(
  store: CounterStore = new MemoryStore(),
  stopWhenOver = true,
): DeciderBench {
  return new DeciderBench(RULES, { store, stopWhenOver });
}

/**
 * Returns the counts, read by requests without hits whose limits are never
 * exceeded.
 */
function counts(bench: DeciderBench): readonly number[] {
  const most = 4_294_967_295;
  const units = { a: 2, b: 2, c: 3 };
  const looks = Object.entries(units).map(([key, unit]) => ({
    ...hits(key, 0),
    limit: { requestsPerUnit: most, unit },
  }));
  return listRemaining(bench.ask(...looks)).map((remaining) =>
    most - remaining
  );
}

Deno.test("a counter the local cache knows to be over makes all others of the call only look", () => {
  const inner = new MemoryStore();
  const bench = createBench(
    new OverLimitCache({
      stats: new StatsRegistry(),
      store: inner,
      maxBytes: 524_288,
      maxAgeSeconds: 60,
    }),
  );
  bench.ask(hits("b", 6));
  bench.ask(hits("a", 4));
  const response = bench.ask(hits("a", 1), hits("b", 1), hits("c", 9));
  assertEquals(formatCodes(response), "OVER: OK OVER OK");
  assertEquals(listRemaining(response), [6, 0, 5]);
  // Reads the counters in the store behind the cache.
  assertEquals(counts(createBench(inner)), [4, 6, 0]);
});

Deno.test("counters that would pass their limit count in full and the others only look", () => {
  const bench = createBench();
  bench.ask(hits("a", 4), hits("b", 5));
  assertEquals(counts(bench), [4, 5, 0]);
  const response = bench.ask(hits("a", 2), hits("b", 1), hits("c", 6));
  assertEquals(formatCodes(response), "OVER: OK OVER OVER");
  assertEquals(listRemaining(response), [6, 0, 0]);
  assertEquals(counts(bench), [4, 6, 6]);
});

Deno.test("all counters count when none would pass its limit", () => {
  const bench = createBench();
  const response = bench.ask(hits("a", 10), hits("b", 5), hits("c", 1));
  assertEquals(formatCodes(response), "OK: OK OK OK");
  assertEquals(counts(bench), [10, 5, 1]);
});

Deno.test("a counter that is over goes on counting while its neighbours stand still", () => {
  const bench = createBench();
  bench.ask(hits("b", 6));
  for (let call = 0; call < 3; call++) bench.ask(hits("a", 1), hits("b", 1));
  assertEquals(counts(bench), [0, 9, 0]);
});

Deno.test("a look at a counter that is over stops no other", () => {
  const bench = createBench();
  bench.ask(hits("b", 6));
  assertEquals(
    formatCodes(bench.ask(hits("a", 1), hits("b", 0))),
    "OVER: OK OVER",
  );
  assertEquals(counts(bench), [1, 6, 0]);
});

Deno.test("hits are given back even where a counter of the call is over", () => {
  const bench = createBench();
  bench.ask(hits("a", 4), hits("b", 5));
  bench.ask({ ...hits("a", 3), isNegativeHits: true }, hits("b", 1));
  assertEquals(counts(bench), [1, 6, 0]);
});

Deno.test("the hits of a counter that only looked are still in the statistics", () => {
  const bench = createBench();
  bench.ask(hits("a", 1), hits("b", 6));
  assertEquals(bench.stats(), {
    "rate_limit.d.a.total_hits": 1,
    "rate_limit.d.a.within_limit": 1,
    "rate_limit.d.b.total_hits": 6,
    "rate_limit.d.b.over_limit": 1,
    "rate_limit.d.b.near_limit": 1,
  });
});

Deno.test("without the setting every counter of a refused call counts", () => {
  const bench = createBench(new MemoryStore(), false);
  bench.ask(hits("a", 1), hits("b", 6), hits("c", 1));
  assertEquals(counts(bench), [1, 6, 1]);
});
