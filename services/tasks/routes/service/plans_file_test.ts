import { assert, assertEquals } from "@std/assert";
import { UNLIMITED_PLAN } from "../../domain/records.ts";
import { PlanBook } from "../../engine/plan_book.ts";
import { viewPlan, viewPrice } from "./plan_fields.ts";
import { parsePlansFile, type PlansOutcome } from "./plans_file.ts";

const EXAMPLE = new URL("../../plans.example.yaml", import.meta.url);

Deno.test("parsePlansFile() reads the example that is shipped", async () => {
  const outcome = ok(parsePlansFile(await Deno.readTextFile(EXAMPLE)));
  const { plans, prices } = outcome;
  assertEquals(plans.map(({ id }) => id), ["free", "team", "business"]);
  const [free, , business] = plans;
  assertEquals(free?.limits, {
    requestsPerSecond: 10,
    activeTasks: 1_000,
    executionsPerMonth: 50_000,
    workers: 3,
    users: 3,
    keys: 5,
    payloadBytes: 65_536,
    batchSize: 100,
    maxDelayMs: 30 * 86_400_000,
    minIntervalMs: 60_000,
    concurrency: 10,
    retentionMs: 7 * 86_400_000,
    auditRetentionMs: 30 * 86_400_000,
    sessionMs: 8 * 3_600_000,
    historyPerTask: 100,
  });
  assertEquals(business?.limits.minIntervalMs, 1_000);
  assertEquals(business?.limits.executionsPerMonth, null);
  assertEquals(prices.length, 4);
  assertEquals(prices[1], {
    plan: "team",
    currency: "EUR",
    interval: "month",
    unitAmount: 4_900,
    metered: [{ unit: "executions", per: 100_000, unitAmount: 500 }],
    effectiveFrom: "2026-01-01",
  });
  assertEquals(new PlanBook(plans, { prices }).defaultPlan.id, "free");
});

Deno.test("parsePlansFile() reads again what the API shows", async () => {
  const outcome = ok(parsePlansFile(await Deno.readTextFile(EXAMPLE)));
  // JSON is YAML.
  const again = parsePlansFile(JSON.stringify({
    plans: [...outcome.plans, UNLIMITED_PLAN].map(viewPlan),
    prices: outcome.prices.map(viewPrice),
  }));
  assertEquals(ok(again), {
    ...outcome,
    plans: [...outcome.plans, UNLIMITED_PLAN],
  });
});

Deno.test("parsePlansFile() takes what is left out from the unlimited plan", () => {
  const { plans, prices } = ok(
    parsePlansFile("plans:\n  - id: own\n    name: Own\n"),
  );
  assertEquals(plans, [{ ...UNLIMITED_PLAN, id: "own", name: "Own" }]);
  assertEquals(prices, []);
});

Deno.test("parsePlansFile() tells all that is wrong with its place", () => {
  const outcome = parsePlansFile(`
plans:
  - id: free
    name: Free
    limits:
      worker: 3
      batch_size: 2000
      min_interval: "10s"
      max_delay: soon
  - id: free
    name: Free again
prices:
  - plan: fre
    currency: eur
    interval: week
    unit_amount: 4.5
    effective_from: 2026-02-30
`);
  assert(outcome.kind === "invalid");
  const text = outcome.problems.join("\n");
  for (
    const place of [
      "plans[0].limits.worker:",
      "plans[0].limits.batch_size:",
      "plans[0].limits.max_delay:",
      "prices[0].currency:",
      "prices[0].interval:",
      "prices[0].unit_amount:",
      "prices[0].effective_from:",
    ]
  ) {
    assert(text.includes(place), `${place} is not among\n${text}`);
  }
  assert(text.includes('did you mean "workers"'), text);
});

Deno.test("parsePlansFile() refuses doubled plans and prices of none", () => {
  const outcome = parsePlansFile(`
plans:
  - { id: free, name: Free }
  - { id: free, name: Again }
prices:
  - { plan: fre, currency: EUR, interval: month, unit_amount: 1, effective_from: 2026-01-01 }
`);
  assert(outcome.kind === "invalid");
  assertEquals(outcome.problems.map((problem) => problem.split(":")[0]), [
    "plans[1].id",
    "prices[0].plan",
  ]);
});

Deno.test("parsePlansFile() refuses what is no plan file", () => {
  for (
    const text of [
      "",
      "plans: []",
      "- free",
      "plans: {free: {}}",
      "plans: [",
      "a: 1\na: 2",
      "plans:\n  - {id: Free, name: x}",
    ]
  ) {
    const outcome = parsePlansFile(text);
    assert(outcome.kind === "invalid", text);
    assert(outcome.problems.length > 0);
  }
});

function ok(outcome: PlansOutcome): Extract<PlansOutcome, { kind: "ok" }> {
  if (outcome.kind === "ok") return outcome;
  throw new Error(outcome.problems.join("\n"));
}
