import { assert, assertEquals, assertMatch } from "@std/assert";
import { roundsOf } from "../../../tests/support/rounds.ts";
import { simulate } from "./testing/simulation.ts";

/**
 * Seeds of runs without faults, runs with all faults at once, runs in which only
 * the clock is set and workers are lost, and runs in which a calendar closes
 * slots that tasks wait for.
 */
const SEEDS = [
  [7, 8, 9, 12, 146],
  [1, 2, 1021, 1087, 1882],
  [28, 18, 32],
  [1017, 1074, 1032],
];

Deno.test("Engine keeps its promises through crashes, faults and clock changes", async (test) => {
  let [crashes, starts, calm] = [0, 0, 0];
  const perKind = roundsOf(1);
  for (const seed of SEEDS.flatMap((seeds) => seeds.slice(0, perKind))) {
    await test.step(`seed ${seed}`, async () => {
      const report = await simulate(seed);
      assertEquals(report.violations, []);
      crashes += report.crashes;
      starts += report.starts;
      if (report.isCalm) calm++;
    });
  }
  const told = JSON.stringify({ crashes, starts, calm });
  assert(crashes > 5 && starts > 100 && calm >= 1, told);
});

Deno.test("simulate() does the same again from the same seed", async () => {
  assertEquals(await simulate(3), await simulate(3));
});

Deno.test("simulate() finds an engine that is blind to calendars", async () => {
  const { violations } = await simulate(8, "no_calendars");
  assertEquals(violations.length, 1);
  assertMatch(violations[0] ?? "", /runs at \d+, which "closed" closes/);
});
