import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../tests/support/rounds.ts";
import { isFinal } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import { withReads } from "../store/wrapped_store.ts";
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
  const perKind = countRounds(1);
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

/** Faults in what the engine reads, and what is told of each. */
const PLANTED: Readonly<
  Record<string, readonly [RegExp, (store: Store) => Store]>
> = {
  "what runs at other workers is not seen": [
    /of "g\d" are under way, \d may be$/,
    (store) => withReads(store, { runningGroups: () => Promise.resolve([]) }),
  ],
  "what depends on an ended task is not seen": [
    / was removed although \w+ waits for it$/,
    (store) => ({
      ...store,
      waking: async (...query) =>
        (await store.waking(...query)).map((task) =>
          task.status === "complete" ? { ...task, status: "failed" } : task
        ),
    }),
  ],
  "calendars are not seen": [
    /runs at \d+, which "closed" closes/,
    (store) => ({
      ...store,
      record: (kind, ...rest) =>
        kind === "calendar"
          ? Promise.resolve(undefined)
          : store.record(kind, ...rest),
    }),
  ],
  "what has failed by a task is not seen": [
    / failed by \w+, which is tried again$/,
    (store) => ({
      ...store,
      dependents: async (query) => {
        const ids = await store.dependents(query);
        const tasks = await store.tasks(query.tenantId, ids);
        return tasks.flatMap((task) =>
          task === undefined || isFinal(task.status) ? [] : [task.id]
        );
      },
    }),
  ],
  "windows of a key that have begun are not seen": [
    / runs within the window of the run before$/,
    (store) => ({
      ...store,
      listTasks: async (query) => ({
        ...await store.listTasks(query),
        ...(query.key === undefined ? {} : { tasks: [], next: undefined }),
      }),
    }),
  ],
  "ended tasks are found too early": [
    / was removed \d+ ms early$/,
    (store) => ({
      ...store,
      waking: async (nowMs, ...rest) =>
        (await store.waking(nowMs + 20_000, ...rest)).map((task) =>
          isFinal(task.status) ? { ...task, purgeAtMs: nowMs } : task
        ),
    }),
  ],
};

Deno.test("simulate() finds faults in calendars, shared limits, retention, revival and windows of keys", async (test) => {
  for (const [what, [told, plant]] of Object.entries(PLANTED)) {
    await test.step(what, async () => {
      assert(await isFound(told, plant));
    });
  }
});

/** Tells whether one of a few worlds, of which the first mostly does, tells. */
async function isFound(
  told: RegExp,
  plant: (store: Store) => Store,
): Promise<boolean> {
  for (let seed = 8; seed < 40; seed++) {
    const { violations } = await simulate(seed, { plant: { store: plant } });
    if (told.test(violations[0] ?? "")) return true;
  }
  return false;
}
