import { assertEquals, assertExists } from "@std/assert";
import type { Attempt, TaskDefinition } from "../task.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";
import type { ClockStep } from "../clock_step.ts";

function blocked(
  onDependencyFailure: TaskDefinition["onDependencyFailure"],
  dateMs = NOON_MS,
): TaskStory {
  return new TaskStory({
    definition: { dependencies: ["tsk_a"], onDependencyFailure },
    made: { isBlocked: true, dateMs },
  });
}

const FAILED = {
  kind: "dependency_failed",
  dependency: "tsk_a",
  isRemoved: false,
} as const;

Deno.test("unblock() makes a task due whose date has come, and schedules one whose date has not", () => {
  const due = blocked("fail");
  assertEquals(due.types({ kind: "unblock" }), ["unblocked", "due"]);
  assertEquals([due.task.status, due.task.isDue], ["waiting", true]);
  const later = blocked("fail", NOON_MS + 1);
  assertEquals(later.types({ kind: "unblock" }), ["unblocked"]);
  assertEquals([later.task.status, later.task.isDue], ["scheduled", false]);
});

Deno.test("unblock() runs once for slots that passed while the task was blocked", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith() },
    made: { isBlocked: true },
  });
  story.nowMs += 3 * 3_600_000;
  assertEquals(story.types({ kind: "unblock" }), [
    "unblocked",
    "missed",
    "due",
  ]);
  assertEquals(story.task.missed, 3);
});

Deno.test("dependencyFailed() fails the task and says which dependency it was", () => {
  const story = blocked("fail");
  const [record] = story.happens(FAILED);
  const error = {
    code: "dependency_failed",
    message: `dependency "tsk_a" did not succeed`,
    dependency: "tsk_a",
    atMs: NOON_MS,
  };
  assertEquals([record?.type, record?.error], ["exhausted", error]);
  assertEquals([story.task.status, story.task.error], ["failed", error]);
  assertEquals([story.task.executions, story.task.finishedAtMs], [0, NOON_MS]);
});

Deno.test("dependencyFailed() unblocks a task that runs all the same", () => {
  const story = blocked("run");
  assertEquals(story.types(FAILED), ["unblocked", "due"]);
  assertEquals(story.task.status, "waiting");
});

Deno.test("dependencyFailed() leaves a task that waits", () => {
  assertEquals(blocked("wait").outcome(FAILED).kind, "unchanged");
});

Deno.test("dependencyFailed() fails a task that waits for one that is gone", () => {
  const removed = { ...FAILED, isRemoved: true };
  for (const rule of ["wait", "fail"] as const) {
    const story = blocked(rule);
    assertEquals(story.types(removed), ["exhausted"]);
    assertEquals([story.task.status, story.task.error], ["failed", {
      code: "dependency_removed",
      message: 'dependency "tsk_a" was removed',
      dependency: undefined,
      atMs: NOON_MS,
    }]);
    assertEquals(
      story.outcome({ kind: "revive", dependency: "tsk_a" }).kind,
      "unchanged",
    );
  }
});

Deno.test("revive() makes a task wait again for the one that failed it, and for no other", () => {
  const story = blocked("fail");
  const before = story.task;
  story.happens(FAILED);
  story.nowMs += 1_000;
  const other = story.outcome({ kind: "revive", dependency: "tsk_b" });
  assertEquals(other.kind, "unchanged");
  const types = story.types({ kind: "revive", dependency: "tsk_a" });
  assertEquals(types, ["requeued"]);
  const { version, updatedAtMs } = story.task;
  assertEquals(story.task, { ...before, version, updatedAtMs });
  assertEquals(story.types({ kind: "unblock" }), ["unblocked", "due"]);
});

Deno.test("keep() moves the removal of a task to later, and never to sooner", () => {
  const story = new TaskStory({ retentionMs: 60_000 });
  story.succeeds();
  const atMs = story.task.purgeAtMs ?? 0;
  for (const untilMs of [atMs - 1, atMs]) {
    assertEquals(story.outcome({ kind: "keep", untilMs }).kind, "unchanged");
  }
  assertEquals(story.types({ kind: "keep", untilMs: atMs + 1 }), []);
  assertEquals(story.task.purgeAtMs, atMs + 1);
});

Deno.test("dependencyFailed() fails a task that is paused", () => {
  const story = blocked("fail");
  story.happens({ kind: "pause" });
  story.happens(FAILED);
  assertEquals([story.task.status, story.task.pausedFrom !== undefined], [
    "failed",
    false,
  ]);
});

Deno.test("callback() keeps what became of the call and leaves the task", () => {
  const story = new TaskStory();
  story.succeeds();
  const { version: _version, updatedAtMs: _updatedAtMs, ...before } =
    story.task;
  const [sent] = story.happens({
    kind: "callback",
    isSent: true,
    message: "the receiver answered 204",
    http: { status: 204, durationMs: 7 },
  });
  assertEquals([sent?.type, sent?.message], [
    "callback_sent",
    "the receiver answered 204",
  ]);
  assertEquals(sent?.http, { status: 204, durationMs: 7 });
  const [failed] = story.happens({
    kind: "callback",
    isSent: false,
    message: "given up",
  });
  assertEquals([failed?.type, failed?.http], [
    "callback_failed",
    undefined,
  ]);
  const { version, updatedAtMs: _, ...after } = story.task;
  assertEquals(after, before);
  assertEquals(version, 5);
});

const HOUR_MS = 3_600_000;

/** Sets the clock of a story and applies the step to its task. */
function set(story: TaskStory, byMs: number): readonly ClockStep[] {
  const lastReadMs = story.nowMs;
  story.nowMs += byMs + 1_000;
  return [{ byMs, lastReadMs, noticedAtMs: story.nowMs }];
}

function getAttempt(story: TaskStory): Attempt {
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
      const begun = getAttempt(story);
      const steps = set(story, byMs);
      assertEquals(story.types({ kind: "follow_clock", steps }), []);
      assertEquals(getAttempt(story), {
        ...begun,
        startedAtMs: NOON_MS + byMs,
        expiresAtMs: begun.expiresAtMs + byMs,
        deadlineMs: begun.deadlineMs + byMs,
        seenAtMs: undefined,
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
    const { leaseMs } = getAttempt(story);
    const steps = set(story, byMs);
    story.happens({ kind: "follow_clock", steps });
    const { seenAtMs, expiresAtMs, deadlineMs } = getAttempt(story);
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
    const { leaseMs, deadlineMs } = getAttempt(story);
    const steps = set(story, byMs);
    story.happens({ kind: "heartbeat", lease: story.lease });
    const seenAtMs = story.nowMs;
    story.happens({ kind: "follow_clock", steps });
    const attempt = getAttempt(story);
    assertEquals(attempt.seenAtMs, seenAtMs);
    assertEquals(attempt.deadlineMs, deadlineMs + byMs);
    assertEquals(
      attempt.expiresAtMs,
      Math.min(seenAtMs + leaseMs, deadlineMs + byMs),
    );
  }
});
