import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../tests/support/rounds.ts";
import { isFound, PLANTED_FAULTS } from "./testing/planted_faults.ts";
import { simulate } from "./testing/simulation.ts";

/**
 * The number of instances and the seeds of runs without faults, with clocks that
 * differ and lost notices alone, with crashes, and with all faults at once.
 */
const RUNS = [
  [3, 15],
  [3, 29],
  [2, 24],
  [3, 18],
  [3, 6],
  [2, 30],
  [4, 6],
  [4, 29],
];

/** How many runs there are of each kind; twice as many with more effort. */
const PER_KIND = 1;
/** The most seeds of each run. */
const MAX_ROUNDS = 2;

Deno.test("Engines on one store keep their promises through crashes, stalls, cuts, restarts and clocks that differ", async (test) => {
  let [crashes, starts, calm] = [0, 0, 0];
  // A run of several engines takes seconds; long runs are `sim:tasks`.
  const rounds = Math.min(MAX_ROUNDS, countRounds(1));
  const runs = RUNS.filter((_, at) => at % 2 < countRounds(PER_KIND));
  for (const [engines, first = 0] of runs) {
    for (let seed = first; seed < first + rounds; seed++) {
      await test.step(`${engines} engines, seed ${seed}`, async () => {
        const report = await simulate(seed, { engines: engines ?? 0 });
        assertEquals(report.violations, []);
        crashes += report.crashes;
        starts += report.starts;
        if (report.isCalm) calm++;
      });
    }
  }
  const told = JSON.stringify({ crashes, starts, calm });
  assert(crashes > 20 && starts > 300 && calm >= 1, told);
});

Deno.test("simulate() does the same again with several engines from the same seed", async () => {
  const [once, again] = [
    await simulate(6, { engines: 3 }),
    await simulate(6, { engines: 3 }),
  ];
  assertEquals(once, again);
});

/**
 * The first seed by which three instances with a planted fault are found out.
 * When something else has changed what a seed does, one of the next ones has
 * to.
 */
const FOUND_BY: Readonly<Record<keyof typeof PLANTED_FAULTS, number>> = {
  "foreign-calls-ended": 3,
  "task-ids-collide": 3,
  "instance-ids-collide": 1,
  "leases-follow-own-clock": 7,
  "records-cached-for-ever": 7,
  "claims-unlocked": 7,
  "dead-goes-on": 10,
  "nobody-dies": 4,
  "all-duties-mine": 4,
  "due-by-own-clock": 3,
  "looks-only-when-told": 4,
  "requests-removed-first": 3,
  "requests-removed-last": 3,
};

Deno.test("simulate() finds each fault that several instances on one store could have", async (test) => {
  // All of them with more effort.
  const planted = Object.entries(PLANTED_FAULTS).slice(0, countRounds(5));
  for (const [name, fault] of planted) {
    await test.step(name, async () => {
      const [, first = 1] = Object.entries(FOUND_BY).find(([of]) =>
        of === name
      ) ?? [];
      assert(await isFound(fault, { first, engines: 3 }));
    });
  }
});
