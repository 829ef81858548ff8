import { assertEquals, assertThrows } from "@std/assert";
import { NOON_MS, repeatWith, TaskStory } from "../testing/task_story.ts";
import {
  dateOfSlot,
  hasSlotPassed,
  repetitionOf,
  slotAfterRun,
} from "./repetition.ts";
import { nextOccurrence } from "../schedule.ts";

const HOUR_MS = 3_600_000;

Deno.test("repetitionOf() throws rather than end a repeating task for want of its schedule", () => {
  const { task } = new TaskStory({ definition: { repeat: repeatWith() } });
  const { schedule: _schedule, ...rules } = new TaskStory().rules(task);
  assertThrows(() => repetitionOf(task, rules), TypeError, task.id);
  assertEquals(repetitionOf(new TaskStory().task, rules), undefined);
});

Deno.test("hasSlotPassed() is true from the next slot on, and never behind the schedule's end", () => {
  for (const timing of [{ interval: "PT1H" }, { cron: "0 * * * *" }]) {
    for (const untilMs of [undefined, NOON_MS + HOUR_MS - 1]) {
      const repeat = repeatWith({
        ...timing,
        ...(untilMs === undefined ? {} : { untilMs }),
      });
      const story = new TaskStory({ definition: { repeat } });
      const repetition = repetitionOf(story.task, story.rules(story.task));
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
