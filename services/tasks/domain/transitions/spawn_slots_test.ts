import { assertEquals } from "@std/assert";
import { createRuleCache, rulesOf } from "../rules.ts";
import type { RepeatRule, Task } from "../task.ts";
import { NOON_MS, repeatWith, TaskStory } from "../testing/task_story.ts";
import { repetitionOf } from "./repetition.ts";
import { MAX_CAUGHT_UP, MAX_SPAWNED, spawnSlots } from "./spawn_slots.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The slots of a schedule that was to begin at noon, told in hours since then. */
function slotsAt(
  afterMs: number,
  { spawnRoom, scheduleSinceMs, ...fields }: Partial<RepeatRule> & {
    readonly spawnRoom?: number;
    readonly scheduleSinceMs?: number;
  },
) {
  const { task: made } = new TaskStory({
    definition: { repeat: repeatWith({ mode: "spawn", ...fields }) },
  });
  const task: Task = scheduleSinceMs === undefined
    ? made
    : { ...made, scheduleSinceMs };
  const rules = rulesOf(task, { timeoutMs: 30_000, maxLost: 3 }, {
    cache: createRuleCache(9),
  });
  const repetition = repetitionOf(task, rules);
  if (repetition === undefined) throw new Error("the task repeats");
  const slots = spawnSlots(task, repetition, {
    nowMs: NOON_MS + afterMs,
    ...(spawnRoom === undefined ? {} : { spawnRoom }),
  });
  return {
    ...slots,
    runs: slots.runs.map((slotMs) => (slotMs - NOON_MS) / HOUR_MS),
    nextMs: slots.nextMs === undefined
      ? undefined
      : (slots.nextMs - NOON_MS) / HOUR_MS,
  };
}

Deno.test("spawnSlots() passes over all slots that come behind the last one with room", () => {
  assertEquals(slotsAt(5 * HOUR_MS, { catchUp: "all", spawnRoom: 2 }), {
    runs: [0, 1],
    nextMs: 6,
    missed: 0,
    withoutRoom: 4,
  });
  assertEquals(slotsAt(5 * HOUR_MS, { catchUp: "all", spawnRoom: 6 }), {
    runs: [0, 1, 2, 3, 4, 5],
    nextMs: 6,
    missed: 0,
    withoutRoom: 0,
  });
});

Deno.test("spawnSlots() makes no task without room, whatever the catch-up rule", () => {
  for (const catchUp of ["one", "all", "none"] as const) {
    const slots = slotsAt(3 * HOUR_MS, { catchUp, spawnRoom: 0 });
    assertEquals(slots.runs, [], catchUp);
    assertEquals(slots.missed + slots.withoutRoom, 4, catchUp);
    assertEquals(slots.nextMs, 4, catchUp);
  }
});

Deno.test("spawnSlots() counts no slots from before the schedule as passed over", () => {
  for (const spawnRoom of [0, 1]) {
    const { runs, withoutRoom } = slotsAt(5 * HOUR_MS, {
      catchUp: "all",
      spawnRoom,
      scheduleSinceMs: NOON_MS + 2.5 * HOUR_MS,
    });
    // The slot of noon, and those of the third hour to the fifth.
    assertEquals(runs.length + withoutRoom, 4);
  }
});

Deno.test("spawnSlots() takes nothing from the limit for what is passed over", () => {
  const slots = slotsAt(9 * HOUR_MS, {
    catchUp: "all",
    limit: 2,
    spawnRoom: 1,
  });
  assertEquals([slots.runs, slots.nextMs], [[0], 10]);
  const ending = slotsAt(9 * HOUR_MS, {
    catchUp: "all",
    limit: 0,
    spawnRoom: 1,
  });
  assertEquals([ending.runs, ending.nextMs], [[0], undefined]);
});

Deno.test("spawnSlots() catches up with the latest slots alone when too many passed", () => {
  const window = { catchUp: "all", catchUpWindowMs: 366 * DAY_MS } as const;
  for (
    const { secondsApart, ...fields } of [
      { interval: "PT1M", secondsApart: 60 },
      { cron: "*/5 * * * * *", secondsApart: 5 },
    ]
  ) {
    const slots = slotsAt(365 * DAY_MS, { ...window, ...fields });
    const all = 365 * DAY_MS / 1_000 / secondsApart + 1;
    const [firstHour = 0] = slots.runs;
    const caughtUp = (365 * 24 - firstHour) * 3_600 / secondsApart + 1;
    assertEquals(Math.round(caughtUp), MAX_CAUGHT_UP);
    assertEquals(slots.missed, all - MAX_CAUGHT_UP);
    assertEquals(slots.runs.length, MAX_SPAWNED);
  }
});
