import { assertEquals } from "@std/assert";
import type { RepeatRule } from "../task.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";
import { MAX_SPAWNED } from "./spawn_slots.ts";

const HOUR_MS = 3_600_000;

function spawning(fields: Partial<RepeatRule> = {}): TaskStory {
  return new TaskStory({
    definition: { repeat: repeatWith({ mode: "spawn", ...fields }) },
  });
}

function hours(slotsMs: readonly number[]): readonly number[] {
  return slotsMs.map((slotMs) => (slotMs - NOON_MS) / HOUR_MS);
}

Deno.test("spawn() makes a task for each slot and is never run itself", () => {
  const story = spawning({ limit: 2 });
  assertEquals([story.task.status, story.task.isDue], ["scheduled", false]);
  const seen: unknown[] = [];
  while (story.task.status === "scheduled") {
    assertEquals(story.outcome(START).kind, "refused");
    story.nowMs = story.task.dateMs + 5;
    const types = story.types({ kind: "wake" });
    seen.push([types.join(" "), story.task.repetitions]);
  }
  assertEquals(seen, [
    ["spawned repeated", 0],
    ["spawned repeated", 1],
    ["spawned completed", 2],
  ]);
  assertEquals(hours(story.spawnedMs), [0, 1, 2]);
  assertEquals([story.task.status, story.task.executions], ["complete", 0]);
});

Deno.test("spawn() follows the catch-up rule after downtime", () => {
  const expected = {
    one: { slots: [0, 3], missed: 2 },
    all: { slots: [0, 1, 2, 3], missed: 0 },
    none: { slots: [0], missed: 3 },
  };
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = spawning({ catchUp });
    story.happens({ kind: "wake" });
    story.nowMs = NOON_MS + 3 * HOUR_MS + 60_000;
    story.happens({ kind: "wake" });
    const { slots, missed } = expected[catchUp];
    assertEquals(hours(story.spawnedMs), slots, catchUp);
    assertEquals(story.task.missed, missed, catchUp);
    assertEquals(story.task.dateMs, NOON_MS + 4 * HOUR_MS);
  }
});

Deno.test("spawn() makes a bounded number of tasks at once and the others right after", () => {
  const story = spawning({
    catchUp: "all",
    interval: "PT1M",
    catchUpWindowMs: 100 * HOUR_MS,
  });
  story.nowMs += 250 * 60_000;
  let wakes = 0;
  while (story.task.dateMs <= story.nowMs) {
    const [spawned] = story.happens({ kind: "wake" });
    assertEquals((spawned?.amount ?? 0) <= MAX_SPAWNED, true);
    wakes++;
  }
  assertEquals([wakes, story.spawnedMs.length], [3, 251]);
  assertEquals(new Set(story.spawnedMs).size, 251);
});

Deno.test("run() of a schedule makes one more task and leaves its slots", () => {
  const story = spawning();
  story.happens({ kind: "wake" });
  const { dateMs } = story.task;
  story.nowMs += 60_000;
  story.happens({ kind: "run" });
  assertEquals(story.spawnedMs, [NOON_MS, NOON_MS + 60_000]);
  assertEquals([story.task.dateMs, story.task.repetitions], [dateMs, 0]);
});

Deno.test("retry() of a schedule goes on with its next slot, if it has one", () => {
  const story = spawning();
  story.happens({ kind: "wake" });
  story.happens({ kind: "cancel" });
  story.nowMs = NOON_MS + 5 * HOUR_MS + 1;
  story.happens({ kind: "retry" });
  assertEquals([story.task.status, story.task.dateMs], [
    "scheduled",
    NOON_MS + 6 * HOUR_MS,
  ]);
  const ended = spawning({ limit: 0 });
  ended.happens({ kind: "wake" });
  assertEquals(ended.outcome({ kind: "retry" }).kind, "refused");
});

Deno.test("spawn() makes the task of a slot that was moved forward at the new date", () => {
  const story = spawning();
  story.happens({ kind: "wake" });
  const dateMs = NOON_MS + 600_000;
  story.happens({
    kind: "update",
    definition: story.task,
    dateMs,
    changes: [],
  });
  story.nowMs = dateMs;
  story.happens({ kind: "wake" });
  assertEquals(story.spawnedMs, [NOON_MS, dateMs]);
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
});
