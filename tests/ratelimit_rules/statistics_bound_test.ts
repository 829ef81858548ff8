import { assert, assertEquals } from "@std/assert";
import { DeciderBench } from "../support/decider_bench.ts";

const RULES = `domain: d
descriptors:
  - {key: fixed, rate_limit: {unit: hour, requests_per_unit: 99}}
  - {key: detailed, detailed_metric: true, rate_limit: {unit: hour, requests_per_unit: 99}}
  - {key: valued, value_to_metric: true, rate_limit: {unit: hour, requests_per_unit: 99}}
`;

const MAX_NAMES = 1_000;
const CALLERS = 5_000;

function createBench(): DeciderBench {
  return new DeciderBench(RULES, {
    maxStatNames: MAX_NAMES,
    maxStatPaths: 50,
  });
}

/**
 * Makes one request for each of many callers, and checks the number of
 * statistics.
 */
function flood(
  ask: (bench: DeciderBench, caller: string) => void,
): DeciderBench {
  const bench = createBench();
  for (let caller = 0; caller < CALLERS; caller++) ask(bench, `c${caller}`);
  // The counter that all further names share is one more.
  assert(bench.statCount <= MAX_NAMES + 1, `${bench.statCount} names`);
  return bench;
}

function totalHits(bench: DeciderBench): number {
  return Object.entries(bench.stats()).reduce(
    (sum, [name, value]) => name.endsWith(".total_hits") ? sum + value : sum,
    0,
  );
}

Deno.test("statistics stay bounded when limits of requests name many descriptors", () => {
  const bench = flood((bench, caller) =>
    bench.ask({
      entries: [["z", caller]],
      limit: { requestsPerUnit: 9, unit: 3 },
    })
  );
  assert(bench.stats()["rate_limit.overflow.total_hits"]! > CALLERS - 100);
  assertEquals(totalHits(bench), CALLERS);
});

Deno.test("statistics stay bounded when detailed_metric meets many values", () => {
  const bench = flood((bench, caller) => bench.ask([["detailed", caller]]));
  assert(bench.stats()["rate_limit.overflow.total_hits"]! > CALLERS - 100);
  assertEquals(totalHits(bench), CALLERS);
});

Deno.test("statistics stay bounded when value_to_metric meets many values", () => {
  const bench = flood((bench, caller) => bench.ask([["valued", caller]]));
  assert(bench.stats()["rate_limit.overflow.total_hits"]! > CALLERS - 100);
  assertEquals(totalHits(bench), CALLERS);
});

Deno.test("statistics stay bounded when many domains are unknown", () => {
  const bench = flood((bench, domain) =>
    bench.answer({ domain, descriptors: [[["a", "x"]]] })
  );
  const stats = bench.stats();
  const known = Object.entries(stats).filter(([name]) =>
    name.endsWith(".domain_not_found")
  );
  assert(known.length < MAX_NAMES);
  const sum = known.reduce((sum, [, value]) => sum + value, 0);
  assertEquals(sum + stats["ratelimit.stats.overflow"]!, CALLERS);
});

Deno.test("a name stays short however long the value is", () => {
  const bench = createBench();
  bench.ask([["detailed", "v".repeat(100_000)]]);
  for (const name of Object.keys(bench.stats())) {
    assert(name.length <= 512, `${name.length} characters`);
  }
});

Deno.test("rules without values in their path keep their statistics in a flood", () => {
  const bench = flood((bench, caller) => bench.ask([["detailed", caller]]));
  bench.ask([["fixed", "x"]]);
  assertEquals(bench.stats()["rate_limit.d.fixed.total_hits"], 1);
});

Deno.test("every call is decided by its limit although its statistics have no room", () => {
  const bench = flood((bench, caller) => bench.ask([["detailed", caller]]));
  const [status] = bench.ask([["detailed", "one more"]]).statuses;
  assertEquals(status!.limitRemaining, 98);
});

Deno.test("rules that come later have statistics of their own after a flood of callers' paths", () => {
  const bench = flood((bench, caller) => bench.ask([["detailed", caller]]));
  bench.reload(
    "domain: d\ndescriptors:\n" +
      "  - {key: later, rate_limit: {unit: day, requests_per_unit: 9}}\n",
  );
  bench.ask([["later", "x"]]);
  assertEquals(bench.stats()["rate_limit.d.later.total_hits"], 1);
});
