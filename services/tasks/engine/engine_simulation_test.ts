import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../tests/support/rounds.ts";
import { isFinal } from "../domain/task.ts";
import type { Store } from "../store/store.ts";
import { withReads } from "../store/wrapped_store.ts";
import { isFound } from "./testing/planted_faults.ts";
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
  const waits = new Set<string>();
  const perKind = countRounds(1);
  for (const seed of SEEDS.flatMap((seeds) => seeds.slice(0, perKind))) {
    await test.step(`seed ${seed}`, async () => {
      const report = await simulate(seed);
      assertEquals(report.violations, []);
      crashes += report.crashes;
      starts += report.starts;
      if (report.isCalm) calm++;
      for (const end of Object.keys(report.waits)) waits.add(end);
    });
  }
  const told = JSON.stringify({ crashes, starts, calm, waits: [...waits] });
  assert(crashes > 5 && starts > 100 && calm >= 1, told);
  for (const end of ["approval", "event", "timeout"]) {
    assert(waits.has(end), told);
  }
});

Deno.test("simulate() does the same again from the same seed", async () => {
  assertEquals(await simulate(3), await simulate(3));
});

/**
 * Faults in what the engine reads: a seed that soon finds each, and what is told
 * of it.
 */
const PLANTED: Readonly<
  Record<string, readonly [number, RegExp, (store: Store) => Store]>
> = {
  "what runs at other workers is not seen": [
    25,
    /of "g\d" are under way, \d may be$/,
    (store) => withReads(store, { runningGroups: () => Promise.resolve([]) }),
  ],
  "what depends on an ended task is not seen": [
    3,
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
    6,
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
    1,
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
    6,
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
    8,
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
  for (const [what, [first, told, store]] of Object.entries(PLANTED)) {
    await test.step(what, async () => {
      const fault = { told, plant: { store } };
      assert(await isFound(fault, { first, engines: 1 }));
    });
  }
});
