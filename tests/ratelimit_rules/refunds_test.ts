import { assert, assertEquals } from "@std/assert";
import { MemoryStore } from "../../services/ratelimit/counters/memory_store.ts";
import { DeciderBench } from "../support/decider_bench.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { formatCodes, listRemaining } from "./answers.ts";

const LIMIT = 10;
const RULES = `domain: d
descriptors:
  - {key: a, rate_limit: {unit: minute, requests_per_unit: ${LIMIT}}}
  - {key: free, rate_limit: {unlimited: true}}
`;

function createBench(): DeciderBench {
  return new DeciderBench(RULES, { store: new MemoryStore() });
}

function hits(hitsAddend: number, isNegativeHits = false) {
  return { entries: [["a", "x"]] as const, hitsAddend, isNegativeHits };
}

Deno.test("hits given back can be taken again", () => {
  const bench = createBench();
  bench.ask(hits(LIMIT));
  const response = bench.ask(hits(4, true));
  assertEquals([formatCodes(response), listRemaining(response)], ["OK: OK", [
    4,
  ]]);
  assertEquals(formatCodes(bench.ask(hits(4))), "OK: OK");
  assertEquals(formatCodes(bench.ask(hits(1))), "OVER: OVER");
});

Deno.test("giving back more than was taken does not make more than the limit", () => {
  const bench = createBench();
  bench.ask(hits(3));
  assertEquals(listRemaining(bench.ask(hits(99, true))), [LIMIT]);
  assertEquals(listRemaining(bench.ask(hits(1))), [LIMIT - 1]);
});

Deno.test("giving back the request's hits works without hits of the descriptor", () => {
  const bench = createBench();
  bench.ask(hits(5));
  const response = bench.answer({
    domain: "d",
    hitsAddend: 2,
    descriptors: [{ entries: [["a", "x"]], isNegativeHits: true }],
  });
  assertEquals(listRemaining(response), [LIMIT - 3]);
});

Deno.test("giving back 0 hits is a look", () => {
  const bench = createBench();
  bench.ask(hits(5));
  assertEquals(listRemaining(bench.ask(hits(0, true))), [LIMIT - 5]);
  assertEquals(bench.stats()["rate_limit.d.a.total_negative_hits"], undefined);
});

Deno.test("hits given back are counted apart and change no other statistic", () => {
  const bench = createBench();
  bench.ask(hits(LIMIT + 5));
  const before = bench.stats();
  // The counter is still over its limit after this refund.
  assertEquals(formatCodes(bench.ask(hits(2, true))), "OVER: OVER");
  bench.ask({ ...hits(3, true), entries: [["free", "x"]] });
  assertEquals(bench.stats(), {
    ...before,
    "rate_limit.d.a.total_negative_hits": 2,
    "rate_limit.d.free.total_negative_hits": 3,
  });
});

Deno.test("what remains is never below 0 nor above the limit on random hits and refunds", () => {
  const random = new SeededRandom(3);
  for (let run = 0; run < 200; run++) {
    const bench = createBench();
    let count = 0;
    for (let call = 0; call < 100; call++) {
      const amount = random.below(8);
      const isRefund = random.below(2) === 0;
      count = Math.max(0, isRefund ? count - amount : count + amount);
      const [remaining] = listRemaining(bench.ask(hits(amount, isRefund)));
      assertEquals(remaining, Math.max(0, LIMIT - count));
      assert(remaining! >= 0 && remaining! <= LIMIT);
    }
  }
});
