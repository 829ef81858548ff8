import { assertEquals } from "@std/assert";
import type { Calendars } from "../schedule.ts";
import { NOON_MS, repeatWith, TaskStory } from "../testing/task_story.ts";
import type { RepeatRule } from "../task.ts";

const HOUR_MS = 3_600_000;

/** A calendar with closed spans, in hours after noon. */
function holidays(...hours: readonly number[]): Calendars {
  const instants = hours.map((hour) => NOON_MS + hour * HOUR_MS);
  return new Map([["holidays", { calendar: "holidays", walls: [], instants }]]);
}

function storyWith(
  calendars: Calendars,
  fields: Partial<RepeatRule> = {},
): TaskStory {
  return new TaskStory({
    calendars,
    definition: {
      repeat: repeatWith({ calendars: ["holidays"], ...fields }),
    },
    made: { dateMs: NOON_MS + HOUR_MS },
  });
}

/** When a task is due, in hours after noon. */
function toHours({ task: { dateMs } }: TaskStory): number {
  return (dateMs - NOON_MS) / HOUR_MS;
}

Deno.test("a schedule has no slots at the times of its calendar", () => {
  const story = storyWith(holidays(0.5, 2.5, 4, 5));
  assertEquals(toHours(story), 3);
  story.nowMs = story.task.dateMs;
  story.happens({ kind: "wake" });
  story.succeeds(60_000);
  assertEquals(toHours(story), 5);
});

Deno.test("calendar_changed finds the coming slot again", () => {
  const story = storyWith(holidays(0.5, 2.5));
  const changed = { kind: "calendar_changed" } as const;
  assertEquals(story.outcome(changed).kind, "unchanged");
  story.calendars = holidays(1.5, 4.5);
  story.happens(changed);
  assertEquals([toHours(story), story.task.missed], [1, 0]);
  story.calendars = holidays(0.5, 4.5);
  story.happens(changed);
  assertEquals(toHours(story), 5);
  assertEquals(story.history.at(-1)?.type, "moved");
  story.happens({ kind: "pause" });
  story.calendars = holidays();
  story.happens(changed);
  assertEquals([story.task.status, toHours(story)], ["paused", 1]);
});

Deno.test("calendar_changed leaves alone what is due, was tried, has ended or names no calendar", () => {
  const changed = { kind: "calendar_changed" } as const;
  const due = storyWith(holidays());
  due.nowMs = due.task.dateMs;
  due.happens({ kind: "wake" });
  due.calendars = holidays(0.5, 9.5);
  assertEquals(due.outcome(changed).kind, "unchanged");
  due.starts();
  assertEquals(due.outcome(changed).kind, "unchanged");
  due.happens({
    kind: "fail",
    lease: due.lease,
    failure: { code: "x" },
    message: "x",
  });
  assertEquals(due.task.status, "retry");
  assertEquals(due.outcome(changed).kind, "unchanged");
  due.happens({ kind: "cancel" });
  assertEquals(due.outcome(changed).kind, "unchanged");
  const other = storyWith(holidays(0.5, 9.5), { calendars: undefined });
  assertEquals(toHours(other), 1);
  assertEquals(other.outcome(changed).kind, "unchanged");
});

Deno.test("calendar_changed replaces the slot that is held during a run by hand", () => {
  const story = storyWith(holidays());
  story.happens({ kind: "run" });
  story.starts();
  story.calendars = holidays(0.5, 2.5);
  story.happens({ kind: "calendar_changed" });
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(toHours(story), 3);
});

for (const mode of ["same", "spawn"] as const) {
  Deno.test(`wake() passes over a slot that a calendar has closed since, in the mode ${mode}`, () => {
    const story = storyWith(holidays(), { mode });
    story.calendars = holidays(0.5, 2.5);
    story.nowMs = story.task.dateMs;
    story.happens({ kind: "wake" });
    const { isDue, missed } = story.task;
    assertEquals([isDue, missed, toHours(story)], [false, 0, 3]);
    assertEquals(story.spawnedMs, []);
    story.nowMs = story.task.dateMs;
    story.happens({ kind: "wake" });
    assertEquals(
      [story.task.isDue, story.spawnedMs.length],
      mode === "same" ? [true, 0] : [false, 1],
    );
  });
}

Deno.test("wake() runs for the latest open slot when the service was down", () => {
  const story = storyWith(holidays(2.5, 4.5));
  story.nowMs = NOON_MS + 4.2 * HOUR_MS;
  story.happens({ kind: "wake" });
  const { slotMs, missed, isDue } = story.task;
  assertEquals([(slotMs - NOON_MS) / HOUR_MS, missed, isDue], [2, 1, true]);
});

Deno.test("wake() ends a schedule whose last slot has been closed", () => {
  const story = storyWith(holidays(), {
    limit: 0,
    untilMs: NOON_MS + 2 * HOUR_MS,
  });
  story.calendars = holidays(0.5, 9.5);
  story.nowMs = story.task.dateMs;
  story.happens({ kind: "wake" });
  assertEquals(story.task.status, "expired");
});
