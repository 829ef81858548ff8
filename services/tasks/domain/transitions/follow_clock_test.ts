import { assertEquals, assertExists } from "@std/assert";
import type { ClockStep } from "../clock_step.ts";
import type { Attempt } from "../task.ts";
import { NOON_MS, START, TaskStory } from "../testing/task_story.ts";

const HOUR_MS = 3_600_000;

/** Sets the clock of a story and lets its task follow. */
function set(story: TaskStory, byMs: number): readonly ClockStep[] {
  const lastReadMs = story.nowMs;
  story.nowMs += byMs + 1_000;
  return [{ byMs, lastReadMs, noticedAtMs: story.nowMs }];
}

function attemptOf(story: TaskStory): Attempt {
  const { attempt } = story.task;
  assertExists(attempt);
  return attempt;
}

Deno.test("followClock() gives the attempt the time that it had", () => {
  for (const byMs of [HOUR_MS, -HOUR_MS]) {
    for (const call of [{}, { bootId: "boot_1" }]) {
      const story = new TaskStory();
      story.happens({ ...START, ...call });
      story.nowMs += 5_000;
      const before = story.task;
      const steps = set(story, byMs);
      assertEquals(story.types({ kind: "follow_clock", steps }), []);
      const attempt = attemptOf(story);
      assertEquals(attempt, {
        ...before.attempt,
        startedAtMs: NOON_MS + byMs,
        expiresAtMs: (before.attempt?.expiresAtMs ?? 0) + byMs,
        deadlineMs: (before.attempt?.deadlineMs ?? 0) + byMs,
      });
      const { startedAtMs, firstTriedAtMs, dateMs } = story.task;
      assertEquals(startedAtMs, NOON_MS + byMs);
      assertEquals(firstTriedAtMs, NOON_MS + byMs);
      assertEquals(dateMs, before.dateMs);
      // Untried, as before the step.
      story.happens({ kind: "release", lease: story.lease });
      assertEquals(story.task.firstTriedAtMs, undefined);
    }
  }
});

Deno.test("followClock() leaves an attempt alone that began after the clock was set", () => {
  for (const byMs of [HOUR_MS, -HOUR_MS]) {
    const story = new TaskStory();
    const steps = set(story, byMs);
    story.task = { ...story.task, dateMs: story.nowMs };
    story.starts();
    story.nowMs += 500;
    assertEquals(
      story.outcome({ kind: "follow_clock", steps }).kind,
      "unchanged",
    );
  }
});

Deno.test("followClock() lets a lease end by the clock of its last sign of life", () => {
  for (const byMs of [HOUR_MS, -HOUR_MS]) {
    const story = new TaskStory();
    story.starts();
    story.nowMs += 5_000;
    story.happens({ kind: "heartbeat", lease: story.lease });
    const { leaseMs } = attemptOf(story);
    const steps = set(story, byMs);
    story.happens({ kind: "follow_clock", steps });
    const { seenAtMs, expiresAtMs, deadlineMs } = attemptOf(story);
    assertEquals(seenAtMs, NOON_MS + 5_000 + byMs);
    assertEquals(
      expiresAtMs,
      Math.min(NOON_MS + 5_000 + byMs + leaseMs, deadlineMs),
    );
  }
});

Deno.test("followClock() knows a sign of life that came between the step and its notice", () => {
  for (const byMs of [HOUR_MS, -HOUR_MS]) {
    const story = new TaskStory();
    story.starts();
    story.nowMs += 5_000;
    const { leaseMs, deadlineMs } = attemptOf(story);
    const steps = set(story, byMs);
    story.happens({ kind: "heartbeat", lease: story.lease });
    const seenAtMs = story.nowMs;
    story.happens({ kind: "follow_clock", steps });
    const attempt = attemptOf(story);
    assertEquals(attempt.seenAtMs, seenAtMs);
    assertEquals(attempt.deadlineMs, deadlineMs + byMs);
    assertEquals(
      attempt.expiresAtMs,
      Math.min(seenAtMs + leaseMs, deadlineMs + byMs),
    );
  }
});
