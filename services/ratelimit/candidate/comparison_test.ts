import { assert, assertEquals } from "@std/assert";
import { DeciderBench, NOW } from "../../../tests/support/decider_bench.ts";
import {
  randomRequest,
  randomRules,
} from "../../../tests/support/random_rules.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { RequestOfTest } from "../../../tests/support/create_view.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import type {
  CounterAnswer,
  CounterBatch,
  CounterStore,
} from "../counters/counter_store.ts";
import { MemoryStore } from "../counters/memory_store.ts";
import type { DecisionRules } from "../decision/explain.ts";
import { loadRules } from "../rules/load.ts";
import { StatsRegistry } from "../stats/registry.ts";
import { CandidateComparison } from "./comparison.ts";

const RULES: DecisionRules = {
  keyFormat: "escaped",
  nearLimitRatio: 0.8,
  shadowMode: false,
  quotaMode: false,
  stopWhenOver: false,
};

function rule(limit: number, unit = "minute"): string {
  return "domain: d\ndescriptors:\n" +
    `  - {key: a, rate_limit: {unit: ${unit}, requests_per_unit: ${limit}}}\n`;
}

/** Live decisions with a comparison beside them, driven by hand. */
class ComparisonBench {
  readonly comparison: CandidateComparison;
  readonly live: DeciderBench;
  readonly registry = new StatsRegistry();
  readonly errors: unknown[] = [];
  nowSeconds = NOW;
  #due: (() => void)[] = [];

  constructor(
    from: {
      readonly live: string;
      readonly rules?: DecisionRules;
      readonly store?: CounterStore;
      readonly share?: number;
      readonly maxInFlight?: number;
    },
  ) {
    const { rules = RULES } = from;
    const memory = () =>
      new MemoryStore({ seed: 1, monotonicMs: () => this.nowSeconds * 1000 });
    this.comparison = new CandidateComparison({
      store: from.store ?? memory(),
      rules,
      share: from.share ?? 1,
      maxInFlight: from.maxInFlight ?? 1_000,
      stats: this.registry,
      later: (callback) => this.#due.push(callback),
      pausing: NEVER_PAUSING,
      onError: (error) => this.errors.push(error),
    });
    this.live = new DeciderBench(from.live, {
      ...rules,
      store: memory(),
      watcher: this.comparison,
    });
  }

  adopt(yaml: string): void {
    const { snapshot, faults } = loadRules([{ name: "c.yaml", text: yaml }]);
    assertEquals(faults, []);
    this.comparison.adopt(snapshot!, this.nowSeconds);
  }

  ask(...descriptors: RequestOfTest["descriptors"]): number {
    const request = { domain: "d", descriptors };
    const decision = this.live.decide(request, this.nowSeconds);
    if (decision.kind !== "decided") throw new Error(decision.reason);
    return decision.response.overallCode;
  }

  /** Runs the comparisons that are due. */
  async settle(): Promise<void> {
    for (const callback of this.#due.splice(0)) callback();
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }

  totals(): Record<string, number> {
    const { totals } = this.comparison.report();
    return Object.fromEntries(
      Object.entries(totals).filter(([, count]) => count > 0),
    );
  }
}

Deno.test("CandidateComparison counts by rule what a lower limit would refuse, and decides nothing", async () => {
  const bench = new ComparisonBench({ live: rule(3) });
  bench.adopt(rule(1));
  const codes = [1, 2, 3, 4].map(() => bench.ask([["a", "x"]]));
  assertEquals(codes, [1, 1, 1, 2]);
  assertEquals(bench.totals(), {});
  await bench.settle();
  assertEquals(bench.totals(), {
    compared: 4,
    other_limit: 2,
    would_refuse: 2,
    requests_compared: 4,
    requests_would_refuse: 2,
  });
  assertEquals(bench.comparison.report().differences[0], {
    kind: "other_limit",
    live: "d.a",
    liveLimit: "3 per MINUTE",
    candidate: "d.a",
    candidateLimit: "1 per MINUTE",
    count: 2,
    firstSeconds: NOW,
    lastSeconds: NOW,
    example: '"a=x"',
  });
  const readings = bench.registry.snapshot()
    .filter(({ name }) => name === "ratelimit.service.candidate.would_refuse");
  assertEquals(readings.map((one) => "value" in one && one.value), [2]);
});

Deno.test("CandidateComparison tells of what would be allowed only when it has counted the whole window", async () => {
  const bench = new ComparisonBench({ live: rule(1) });
  bench.ask([["a", "x"]]);
  bench.adopt(rule(2));
  bench.ask([["a", "x"]]);
  await bench.settle();
  assertEquals(bench.totals(), { compared: 1, too_early: 1 });
  bench.nowSeconds += 60;
  bench.ask([["a", "x"]]);
  bench.ask([["a", "x"]]);
  await bench.settle();
  const { would_allow, requests_would_allow, too_early } = bench.totals();
  assertEquals([would_allow, requests_would_allow, too_early], [1, 1, 1]);
  // A rule with another limit uses the same counter; one with another unit has
  // a new counter.
  bench.adopt(rule(3));
  for (let at = 0; at < 2; at++) bench.ask([["a", "y"]]);
  await bench.settle();
  assertEquals(bench.totals().would_allow, 2);
  bench.adopt(rule(3, "hour"));
  bench.ask([["a", "y"]]);
  await bench.settle();
  assertEquals(bench.totals().too_early, 2);
});

Deno.test("CandidateComparison tells rules apart that decide the same", async () => {
  const bench = new ComparisonBench({ live: rule(5) });
  bench.adopt(`domain: d
descriptors:
  - {key: a, value: "x*", rate_limit: {unit: minute, requests_per_unit: 5}}
`);
  bench.ask([["a", "x"]]);
  bench.ask([["a", "y"]]);
  await bench.settle();
  assertEquals(
    bench.comparison.report().differences
      .map(({ kind, candidate, candidateLimit }) => [
        kind,
        candidate,
        candidateLimit,
      ]),
    [
      ["other_rule", "d.a_x*", "5 per MINUTE"],
      ["other_limit", "no rule", "no limit"],
    ],
  );
});

Deno.test("CandidateComparison finds no difference between rules and themselves, whatever they are", async () => {
  await eachRound({ rounds: 60 }, async ({ random }) => {
    const rules = {
      ...RULES,
      shadowMode: random.chance(0.2),
      quotaMode: random.chance(0.2),
      stopWhenOver: random.chance(0.3),
    };
    const live = randomRules(random);
    const bench = new ComparisonBench({ live, rules });
    bench.adopt(live);
    for (let at = 0; at < 30; at++) {
      const passedSeconds = random.pick([0, 0, 1, 30]);
      // Comparisons run within milliseconds, and some counters look at a clock.
      if (passedSeconds > 0) await bench.settle();
      bench.nowSeconds += passedSeconds;
      bench.live.decide(randomRequest(random), bench.nowSeconds);
    }
    await bench.settle();
    assertEquals(bench.errors, []);
    const { differences, totals } = bench.comparison.report();
    assertEquals([differences, totals.too_early], [[], 0]);
    assertEquals(totals.same, totals.compared);
    assertEquals(totals.requests_compared, 30);
  });
});

Deno.test("CandidateComparison drops requests while too many wait for a store that hangs, and goes on when it answers", async () => {
  const pending: PromiseWithResolvers<CounterAnswer>[] = [];
  const store: CounterStore = {
    apply(_batch: CounterBatch) {
      const one = Promise.withResolvers<CounterAnswer>();
      pending.push(one);
      return one.promise;
    },
    isHealthy: () => true,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
  const bench = new ComparisonBench({ live: rule(99), store, maxInFlight: 5 });
  bench.adopt(rule(99));
  for (let at = 0; at < 8; at++) assertEquals(bench.ask([["a", "x"]]), 1);
  await bench.settle();
  for (let at = 0; at < 4; at++) assertEquals(bench.ask([["a", "x"]]), 1);
  await bench.settle();
  assertEquals([pending.length, bench.totals()], [5, { requests_dropped: 7 }]);
  for (const { resolve } of pending.splice(0)) {
    resolve({ kind: "unavailable", reason: "it is away" });
  }
  await bench.settle();
  assertEquals(bench.totals(), { requests_dropped: 7, requests_failed: 5 });
  bench.ask([["a", "x"]]);
  await bench.settle();
  pending[0]!.resolve({ kind: "counted", results: [1] });
  await bench.settle();
  assertEquals(bench.totals().same, 1);
});

Deno.test("CandidateComparison holds no more memory of waiting requests than its bound", async () => {
  const bench = new ComparisonBench({ live: rule(9), maxInFlight: 100_000 });
  bench.adopt(rule(9));
  const large = "x".repeat(1_000_000);
  for (let at = 0; at < 12; at++) bench.ask([["a", large]]);
  assertEquals(bench.totals(), { requests_dropped: 4 });
  await bench.settle();
  assertEquals(bench.totals().compared, 8);
  assert(bench.comparison.report().differences.length === 0);
});

Deno.test("CandidateComparison keeps each counter wholly or not at all when it has a share of them", async () => {
  const bench = new ComparisonBench({ live: rule(1_000), share: 0.3 });
  bench.adopt(rule(1_000));
  let kept = 0;
  for (let user = 0; user < 400; user++) {
    const before = bench.comparison.report().totals.compared;
    for (let at = 0; at < 3; at++) bench.ask([["a", `user${user}`]]);
    await bench.settle();
    const seen = bench.comparison.report().totals.compared - before;
    assert(seen === 0 || seen === 3, String(seen));
    if (seen > 0) kept++;
  }
  assert(kept > 80 && kept < 160, String(kept));
});

Deno.test("CandidateComparison goes on when a comparison throws", async () => {
  const broken: CounterStore = {
    apply: () => {
      throw new TypeError("broken");
    },
    isHealthy: () => true,
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
  const bench = new ComparisonBench({ live: rule(9), store: broken });
  bench.adopt(rule(9));
  assertEquals([1, 2].map(() => bench.ask([["a", "x"]])), [1, 1]);
  await bench.settle();
  assertEquals([bench.errors.length, bench.totals()], [2, {
    requests_failed: 2,
  }]);
});

Deno.test("CandidateComparison compares no more once it is stopped", async () => {
  const bench = new ComparisonBench({ live: rule(9) });
  bench.adopt(rule(1));
  bench.ask([["a", "x"]]);
  bench.comparison.stop();
  bench.ask([["a", "x"]]);
  await bench.settle();
  assertEquals(bench.totals(), {});
});

Deno.test("CandidateComparison tells of what would be allowed only when it has counted every request of the window", async () => {
  const bench = new ComparisonBench({ live: rule(1), maxInFlight: 1 });
  bench.adopt(rule(2));
  const askTwice = async () => {
    bench.nowSeconds += 60;
    for (let at = 0; at < 2; at++) {
      bench.ask([["a", "x"]]);
      await bench.settle();
    }
  };
  await askTwice();
  assertEquals(bench.totals().would_allow, 1);
  // The second of these requests is dropped, and may have been the one over the
  // limit.
  bench.nowSeconds += 60;
  bench.ask([["a", "x"]]);
  bench.ask([["a", "x"]]);
  await bench.settle();
  bench.ask([["a", "x"]]);
  await bench.settle();
  const { would_allow, too_early, requests_dropped } = bench.totals();
  assertEquals([would_allow, too_early, requests_dropped], [1, 1, 1]);
  await askTwice();
  assertEquals(bench.totals().would_allow, 2);
});
