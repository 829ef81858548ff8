import { assert, assertEquals } from "@std/assert";
import { simulate } from "./testing/simulation.ts";

/**
 * Five calm runs, five in which everything goes wrong at once, and three in
 * which the clock is set and workers are lost, and nothing else goes wrong.
 */
const SEEDS = [7, 8, 9, 12, 146, 1, 2, 1021, 1087, 1882, 18, 28, 32];

Deno.test("Engine keeps its promises through crashes, faults and clock changes", async (test) => {
  let [crashes, starts, calm] = [0, 0, 0];
  for (const seed of SEEDS) {
    await test.step(`seed ${seed}`, async () => {
      const report = await simulate(seed);
      assertEquals(report.violations, []);
      crashes += report.crashes;
      starts += report.starts;
      if (report.isCalm) calm++;
    });
  }
  assert(crashes > 50 && starts > 500 && calm >= 3 && calm <= 7);
});

Deno.test("simulate() does the same again from the same seed", async () => {
  assertEquals(await simulate(3), await simulate(3));
});
