import { assertEquals, assertThrows } from "@std/assert";
import type { TaskDefinition } from "../task.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";
import { findRepetition } from "../rules.ts";
import { dateOfSlot, hasSlotPassed, slotAfterRun } from "./repetition.ts";
import { nextOccurrence } from "../schedule.ts";

const HOUR_MS = 3_600_000;

Deno.test("findRepetition() throws rather than end a repeating task for want of its schedule", () => {
  const { task } = new TaskStory({ definition: { repeat: repeatWith() } });
  const { schedule: _schedule, ...rules } = new TaskStory().rules(task);
  assertThrows(() => findRepetition(task, rules), TypeError, task.id);
  assertEquals(findRepetition(new TaskStory().task, rules), undefined);
});

Deno.test("hasSlotPassed() is true from the next slot on, and never behind the schedule's end", () => {
  for (const timing of [{ interval: "PT1H" }, { cron: "0 * * * *" }]) {
    for (const untilMs of [undefined, NOON_MS + HOUR_MS - 1]) {
      const repeat = repeatWith({
        ...timing,
        ...(untilMs === undefined ? {} : { untilMs }),
      });
      const story = new TaskStory({ definition: { repeat } });
      const repetition = findRepetition(story.task, story.rules(story.task));
      if (repetition === undefined) throw new Error("it repeats");
      const passed = [0, 999, 1_000, HOUR_MS - 1, HOUR_MS].map((afterMs) =>
        hasSlotPassed(story.task, repetition, NOON_MS + afterMs)
      );
      const isEndless = untilMs === undefined;
      assertEquals(passed, [false, false, false, false, isEndless]);
    }
  }
});

Deno.test("dateOfSlot() delays slots ahead by less than the jitter, and no others", () => {
  const rule = repeatWith({ jitterMs: 1_000 });
  const at = (nowMs: number, chance: number): number =>
    dateOfSlot(NOON_MS, rule, { nowMs, random: () => chance }) - NOON_MS;
  assertEquals(at(NOON_MS - 1, 0.999_999), 999);
  assertEquals(at(NOON_MS - 1, 0), 0);
  assertEquals(at(NOON_MS, 0.5), 0);
});

Deno.test("slotAfterRun() gives the schedule's next occurrence when none has passed", () => {
  const repeat = repeatWith({ cron: "*/7 3 * * *" });
  const story = new TaskStory({ definition: { repeat } });
  const { schedule } = story.rules(story.task);
  if (schedule === undefined) throw new Error("it repeats");
  const { slotMs } = story.task;
  const expected = nextOccurrence(schedule, {
    anchorMs: NOON_MS,
    timezone: "UTC",
    afterMs: slotMs,
  });
  for (const nowMs of [slotMs - HOUR_MS, slotMs, slotMs + 1_000]) {
    const next = slotAfterRun(story.task, { rule: repeat, schedule }, nowMs);
    assertEquals(next, { repetitions: 0, slotMs: expected, missed: 0 });
  }
});

Deno.test("slotAfterRun() tells how long ago the first slot came that is passed over", () => {
  const repeat = repeatWith();
  const story = new TaskStory({ definition: { repeat } });
  const { schedule } = story.rules(story.task);
  if (schedule === undefined) throw new Error("it repeats");
  const nowMs = NOON_MS + 3 * HOUR_MS + 60_000;
  assertEquals(
    slotAfterRun(story.task, { rule: repeat, schedule }, nowMs),
    {
      repetitions: 0,
      slotMs: NOON_MS + 3 * HOUR_MS,
      missed: 2,
      lateMs: 2 * HOUR_MS + 60_000,
    },
  );
});

Deno.test("slotAfterRun() gives the slot that is held behind a run by hand, with its date", () => {
  const repeat = repeatWith({ jitterMs: 60_000 });
  const story = new TaskStory({
    definition: { repeat },
    random: () => 0.5,
  });
  story.succeeds();
  story.nowMs = NOON_MS + HOUR_MS + 1_000;
  story.happens({ kind: "run" });
  const { schedule } = story.rules(story.task);
  if (schedule === undefined) throw new Error("it repeats");
  const held = {
    slotMs: NOON_MS + HOUR_MS,
    dateMs: NOON_MS + HOUR_MS + 30_000,
  };
  assertEquals(story.task.held, held);
  const repetition = { rule: repeat, schedule };
  assertEquals(
    slotAfterRun(story.task, repetition, story.nowMs),
    {
      repetitions: 0,
      missed: 0,
      ...held,
    },
  );
});

Deno.test("a rule without catching up runs a slot on time and no later, whatever held it back", () => {
  const onTimeMs = 30_000;
  const repeat = repeatWith({ catchUp: "none", onTimeMs });
  const made = (isBlocked = false): TaskStory =>
    new TaskStory({ definition: { repeat }, made: { isBlocked } });
  const ways: Readonly<Record<string, (lateMs: number) => TaskStory>> = {
    "no worker": (lateMs) => {
      const story = made();
      story.succeeds();
      story.nowMs = story.task.dateMs;
      story.happens({ kind: "wake" });
      story.nowMs += lateMs;
      if (story.outcome({ kind: "wake" }).kind === "changed") {
        assertEquals(story.outcome(START).kind, "refused");
        story.happens({ kind: "wake" });
      }
      return story;
    },
    "the service": (lateMs) => {
      const story = made();
      story.succeeds();
      story.nowMs = story.task.dateMs + lateMs;
      story.happens({ kind: "wake" });
      return story;
    },
    "a pause": (lateMs) => {
      const story = made();
      story.succeeds();
      story.happens({ kind: "pause" });
      story.nowMs = story.task.dateMs + lateMs;
      story.happens({ kind: "resume" });
      return story;
    },
    "a dependency": (lateMs) => {
      const story = made(true);
      story.nowMs += HOUR_MS + lateMs;
      story.happens({ kind: "unblock" });
      return story;
    },
    "the run before": (lateMs) => {
      const story = made();
      story.succeeds(HOUR_MS + lateMs);
      return story;
    },
    "a run by hand": (lateMs) => {
      const story = made();
      story.succeeds();
      story.happens({ kind: "run" });
      story.succeeds(HOUR_MS + lateMs - 1_000);
      return story;
    },
    "a release": (lateMs) => {
      const story = made();
      story.succeeds();
      story.starts();
      story.nowMs += lateMs;
      story.happens({ kind: "release", lease: story.lease });
      if (story.outcome({ kind: "wake" }).kind === "changed") {
        story.happens({ kind: "wake" });
      }
      return story;
    },
  };
  for (const [way, held] of Object.entries(ways)) {
    const slotMs = NOON_MS + HOUR_MS;
    const inTime = held(onTimeMs);
    assertEquals([inTime.task.isDue, inTime.task.slotMs], [true, slotMs], way);
    assertEquals(inTime.outcome(START).kind, "changed", way);
    const late = held(onTimeMs + 1);
    assertEquals(late.task.isDue, false, way);
    assertEquals(late.task.slotMs, slotMs + HOUR_MS, way);
    assertEquals(late.task.missed - inTime.task.missed, 1, way);
  }
});

Deno.test("a rule that catches up misses a slot behind its window also while no worker is there", () => {
  const story = new TaskStory({
    definition: {
      repeat: repeatWith({ catchUp: "all", catchUpWindowMs: 2 * HOUR_MS }),
    },
  });
  story.nowMs += 2 * HOUR_MS;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  assertEquals(story.outcome(START).kind, "changed");
  story.nowMs += 1;
  assertEquals(story.outcome(START).kind, "refused");
  assertEquals(story.types({ kind: "wake" }), ["missed", "due"]);
  assertEquals([story.task.slotMs, story.task.missed], [NOON_MS + HOUR_MS, 1]);
});

Deno.test("a run that is asked for by hand is never too late", () => {
  for (const limit of [0, 5]) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ catchUp: "none", limit }) },
    });
    story.succeeds();
    story.happens(limit === 0 ? { kind: "retry" } : { kind: "run" });
    story.nowMs += HOUR_MS / 2;
    assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
    assertEquals(story.types(START), ["started"]);
  }
});

Deno.test("a task of a schedule without catching up expires unless it begins on time", () => {
  const make = (task: Partial<TaskDefinition> = {}): TaskStory =>
    new TaskStory({ definition: task, made: { startWithinMs: 30_000 } });
  const story = make();
  story.nowMs += 30_000;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  assertEquals(story.outcome(START).kind, "changed");
  story.nowMs += 1;
  assertEquals(story.outcome(START).kind, "refused");
  assertEquals(story.types({ kind: "wake" }), ["missed", "expired"]);
  assertEquals([story.task.status, story.task.missed], ["expired", 1]);
  story.happens({ kind: "retry" });
  story.nowMs += HOUR_MS;
  assertEquals(story.types(START), ["started"]);
  const begun = make();
  begun.fails();
  begun.nowMs += HOUR_MS;
  assertEquals(begun.types({ kind: "wake" }), ["due"]);
  assertEquals(begun.types(START), ["started"]);
});

Deno.test("a slot that was moved far behind others is judged once when it is late, and they by their own dates", () => {
  for (const catchUp of ["all", "none"] as const) {
    const repeat = repeatWith({
      interval: "PT30S",
      catchUp,
      catchUpWindowMs: 0,
    });
    const story = new TaskStory({ definition: { repeat } });
    const dateMs = NOON_MS + 10 * HOUR_MS;
    story.succeeds();
    const { task: definition } = story;
    story.happens({ kind: "update", definition, changes: [], dateMs });
    story.nowMs = dateMs;
    story.happens({ kind: "wake" });
    story.nowMs += 10_001;
    story.happens({ kind: "wake" });
    assertEquals(story.task.slotMs, dateMs + 30_000, catchUp);
    assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  }
});
