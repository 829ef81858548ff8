import { assertEquals } from "@std/assert";
import type { TaskDefinition } from "../task.ts";
import { NOON_MS, repeatWith, TaskStory } from "../testing/task_story.ts";

function blocked(
  onDependencyFailure: TaskDefinition["onDependencyFailure"],
  dateMs = NOON_MS,
): TaskStory {
  return new TaskStory({
    definition: { dependencies: ["tsk_a"], onDependencyFailure },
    made: { isBlocked: true, dateMs },
  });
}

const FAILED = { kind: "dependency_failed", dependency: "tsk_a" } as const;

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

Deno.test("dependencyFailed() fails a task that is paused", () => {
  const story = blocked("fail");
  story.happens({ kind: "pause" });
  story.happens(FAILED);
  assertEquals([story.task.status, "pausedFrom" in story.task], [
    "failed",
    false,
  ]);
});
