import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { formatCodes, listRemaining } from "./answers.ts";

/** A midnight (UTC), in seconds since the epoch. */
const MIDNIGHT = 1_795_219_200;

function aLimit(requests: number, unit = "minute"): string {
  return `domain: d
descriptors:
  - {key: a, rate_limit: {unit: ${unit}, requests_per_unit: ${requests}}}
`;
}

function createBench(yaml: string): DeciderBench {
  const bench = new DeciderBench(yaml, { store: new MemoryStore() });
  bench.nowSeconds = MIDNIGHT;
  return bench;
}

function hits(count: number) {
  return { entries: [["a", "x"]] as const, hitsAddend: count };
}

Deno.test("a count up to the limit is allowed, one above it is not", () => {
  const bench = createBench(aLimit(3));
  const answers = Array.from(
    { length: 5 },
    () => formatCodes(bench.ask(hits(1))),
  );
  assertEquals(answers, [
    "OK: OK",
    "OK: OK",
    "OK: OK",
    "OVER: OVER",
    "OVER: OVER",
  ]);
});

Deno.test("what remains is the limit less the count, and 0 beyond it", () => {
  const bench = createBench(aLimit(5));
  const remaining = [1, 2, 2, 1, 9].map((count) =>
    listRemaining(bench.ask(hits(count)))[0]
  );
  assertEquals(remaining, [4, 2, 0, 0, 0]);
});

Deno.test("a limit of 0 blocks every call", () => {
  const bench = createBench(aLimit(0));
  assertEquals(formatCodes(bench.ask(hits(1))), "OVER: OVER");
  assertEquals(listRemaining(bench.ask(hits(1))), [0]);
});

Deno.test("the largest limit and the largest number of hits are counted exactly", () => {
  const bench = createBench(aLimit(4_294_967_295));
  assertEquals(listRemaining(bench.ask(hits(1))), [4_294_967_294]);
  assertEquals(listRemaining(bench.ask(hits(4_294_967_294))), [0]);
  assertEquals(formatCodes(bench.ask(hits(0))), "OK: OK");
  assertEquals(
    formatCodes(bench.ask(hits(Number.MAX_SAFE_INTEGER))),
    "OVER: OVER",
  );
  assertEquals(
    formatCodes(bench.ask(hits(Number.MAX_SAFE_INTEGER))),
    "OVER: OVER",
  );
  const stats = bench.stats();
  assertEquals(stats["rate_limit.d.a.within_limit"], 4_294_967_295);
});

Deno.test("the time to the reset is 1 to the length of the window, on every status with a limit", () => {
  const bench = createBench(aLimit(1));
  const resets = [0, 1, 59, 60].map((offset) => {
    bench.nowSeconds = MIDNIGHT + offset;
    const response = bench.ask(hits(1), [["none", "x"]]);
    return response.statuses.map((s) => s.durationUntilResetSeconds);
  });
  assertEquals(resets, [
    [60, undefined],
    [59, undefined],
    [1, undefined],
    [60, undefined],
  ]);
});

Deno.test("a new window begins at a multiple of its length, whatever the first call's time", () => {
  const bench = createBench(aLimit(1));
  bench.nowSeconds = MIDNIGHT + 59;
  assertEquals(formatCodes(bench.ask(hits(1))), "OK: OK");
  assertEquals(formatCodes(bench.ask(hits(1))), "OVER: OVER");
  bench.nowSeconds = MIDNIGHT + 60;
  assertEquals(formatCodes(bench.ask(hits(1))), "OK: OK");
});

Deno.test("hits of a descriptor win over those of the request, and 0 of the request counts as 1", () => {
  const bench = createBench(aLimit(100));
  const remaining = (
    hitsAddend: number,
    own?: number,
  ): number =>
    listRemaining(bench.answer({
      domain: "d",
      hitsAddend,
      descriptors: [{
        entries: [["a", `${hitsAddend} ${own}`]],
        ...(own === undefined ? {} : { hitsAddend: own }),
      }],
    }))[0]!;
  assertEquals(remaining(0), 99);
  assertEquals(remaining(1), 99);
  assertEquals(remaining(7), 93);
  assertEquals(remaining(7, 2), 98);
  assertEquals(remaining(7, 0), 100);
});

Deno.test("a refused call leaves its hits on the counter", () => {
  const bench = createBench(aLimit(5));
  assertEquals(formatCodes(bench.ask(hits(6))), "OVER: OVER");
  assertEquals(formatCodes(bench.ask(hits(1))), "OVER: OVER");
  bench.reload(aLimit(8));
  assertEquals(listRemaining(bench.ask(hits(0))), [1]);
});

Deno.test("a look at exactly the limit is OK with nothing left, above it OVER_LIMIT", () => {
  const bench = createBench(aLimit(2));
  assertEquals(listRemaining(bench.ask(hits(0))), [2]);
  bench.ask(hits(2));
  const at = bench.ask(hits(0));
  assertEquals([formatCodes(at), listRemaining(at)], ["OK: OK", [0]]);
  bench.ask(hits(1));
  const above = bench.ask(hits(0));
  assertEquals([formatCodes(above), listRemaining(above)], ["OVER: OVER", [0]]);
});

Deno.test("a look counts nothing, in the counter and in statistics", () => {
  const bench = createBench(aLimit(2));
  for (let look = 0; look < 10; look++) bench.ask(hits(0));
  assertEquals(listRemaining(bench.ask(hits(1))), [1]);
  assertEquals(bench.stats()["rate_limit.d.a.total_hits"], 1);
});

Deno.test("a rule and a limit of the request share a counter when the unit is the same", () => {
  const bench = createBench(aLimit(5));
  bench.ask(hits(3));
  const own = (unit: number) => ({
    entries: [["a", "x"]] as const,
    limit: { requestsPerUnit: 5, unit },
  });
  assertEquals(listRemaining(bench.ask(own(2))), [1]);
  assertEquals(listRemaining(bench.ask(own(3))), [4]);
  assertEquals(listRemaining(bench.ask(hits(1))), [0]);
});

Deno.test("the count goes on when the limit is edited", () => {
  const bench = createBench(aLimit(5));
  bench.ask(hits(4));
  bench.reload(aLimit(10));
  assertEquals(listRemaining(bench.ask(hits(1))), [5]);
  bench.reload(aLimit(2));
  assertEquals(formatCodes(bench.ask(hits(1))), "OVER: OVER");
});

Deno.test("the count begins anew when the unit is edited", () => {
  const bench = createBench(aLimit(5));
  bench.ask(hits(4));
  bench.reload(aLimit(5, "hour"));
  assertEquals(listRemaining(bench.ask(hits(1))), [4]);
});

Deno.test("answers agree with a model of fixed windows on random calls", () => {
  const random = new SeededRandom(20261121);
  for (let run = 0; run < 200; run++) {
    const limit = random.below(8);
    const bench = createBench(aLimit(limit));
    const counts = new Map<string, number>();
    for (let call = 0; call < 100; call++) {
      bench.nowSeconds += random.below(12);
      const value = random.pick(["x", "y", "z"]);
      const count = random.below(4);
      const window = Math.floor(bench.nowSeconds / 60);
      const after = (counts.get(`${value} ${window}`) ?? 0) + count;
      counts.set(`${value} ${window}`, after);
      const [status] =
        bench.ask({ entries: [["a", value]], hitsAddend: count }).statuses;
      assertEquals(status, {
        code: after > limit ? 2 : 1,
        currentLimit: { requestsPerUnit: limit, unit: 2 },
        limitRemaining: Math.max(0, limit - after),
        durationUntilResetSeconds: (window + 1) * 60 - bench.nowSeconds,
      });
    }
  }
});
