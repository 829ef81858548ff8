import { assertEquals } from "@std/assert";
import {
  definitionWith,
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";
import type { NextRun } from "../task.ts";
import type { EventOf } from "../task_event.ts";

function ask(data: number, next: NextRun = { dateMs: NOON_MS }): EventOf<
  "run_after"
> {
  const definition = definitionWith({ dataJson: `${data}` });
  const changes = [{ field: "data", from: "", to: `${data}` }];
  return { kind: "run_after", definition, changes, next };
}

Deno.test("runAfter() adds one more run with the newest values, however many ask", () => {
  const story = new TaskStory();
  story.starts();
  for (const data of [1, 2, 3]) {
    assertEquals(story.types(ask(data)), ["updated"]);
  }
  const same = { ...ask(3), changes: [] };
  assertEquals(story.outcome(same).kind, "unchanged");
  assertEquals(story.task.status, "running");
  story.nowMs += 1_000;
  const types = story.types({ kind: "complete", lease: story.lease });
  assertEquals(types, ["succeeded", "requeued", "due"]);
  const { task } = story;
  assertEquals([task.status, task.isDue, task.run], ["done", true, 1]);
  assertEquals([task.dataJson, task.again], ["3", undefined]);
  story.succeeds();
  assertEquals([story.task.status, story.task.executions], ["complete", 2]);
});

Deno.test("runAfter() lets the newer values run in place of a retry", () => {
  for (const isRunning of [true, false]) {
    const story = new TaskStory();
    if (isRunning) {
      story.starts();
      story.happens(ask(1));
      const failure = { code: "x" };
      const { lease } = story;
      story.happens({ kind: "fail", lease, failure, message: "x" });
    } else {
      story.fails();
      assertEquals(story.types(ask(1)), ["updated", "requeued", "due"]);
    }
    const { task } = story;
    assertEquals([task.status, task.isDue], ["waiting", true]);
    assertEquals([task.run, task.retries, task.dataJson], [1, 0, "1"]);
    for (let count = 0; count < 3; count++) story.fails();
    assertEquals([story.task.status, story.task.run], ["failed", 1]);
  }
});

Deno.test("runAfter() waits for the date of the run, and has the window of its requests", () => {
  const calls = { kind: "throttle", untilMs: NOON_MS + 90_000 } as const;
  const story = new TaskStory();
  story.starts();
  story.happens(ask(1, { dateMs: NOON_MS + 30_000, calls }));
  story.nowMs += 1_000;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals([story.task.status, story.task.isDue], ["done", false]);
  assertEquals([story.task.dateMs, story.task.calls], [
    NOON_MS + 30_000,
    calls,
  ]);
  assertEquals(story.outcome(START).kind, "refused");
  story.succeeds();
  assertEquals(story.task.status, "complete");
});

Deno.test("runAfter() keeps the run when a lease is lost, not when the task is given back or canceled", () => {
  const lost = new TaskStory();
  lost.starts();
  lost.happens(ask(1));
  lost.happens({ kind: "lose", lease: lost.lease, reason: "gone" });
  lost.succeeds();
  assertEquals([lost.task.status, lost.task.run], ["done", 1]);
  // A run that was given back is as good as never tried, with newer values.
  const given = new TaskStory();
  given.starts();
  given.happens(ask(1));
  given.happens({ kind: "release", lease: given.lease });
  assertEquals([given.task.again, given.task.dataJson], [undefined, "1"]);
  given.succeeds();
  assertEquals([given.task.status, given.task.run], ["complete", 0]);
  const story = new TaskStory();
  story.starts();
  story.happens(ask(1));
  story.happens({ kind: "cancel" });
  assertEquals([story.task.status, story.task.again], ["canceled", undefined]);
});

Deno.test("runAfter() of a paused retry stays paused", () => {
  const story = new TaskStory();
  story.fails();
  story.happens({ kind: "pause" });
  assertEquals(story.types(ask(1)), ["updated", "requeued"]);
  assertEquals(story.task.status, "paused");
  story.happens({ kind: "resume" });
  assertEquals([story.task.status, story.task.run], ["waiting", 1]);
});

Deno.test("runAfter() refuses a task that repeats, and a change to a schedule takes its place", () => {
  const repeat = repeatWith();
  const repeating = new TaskStory({ definition: { repeat } });
  repeating.starts();
  assertEquals(repeating.outcome(ask(1)).kind, "refused");
  const story = new TaskStory();
  story.starts();
  story.happens(ask(1));
  story.happens({
    kind: "update",
    definition: definitionWith({ repeat }),
    changes: [{ field: "repeat", from: null, to: repeat }],
  });
  assertEquals(story.task.again, undefined);
});

Deno.test("an ended task is kept until the window of its requests is over", () => {
  const untilMs = NOON_MS + 3_600_000;
  const story = new TaskStory({
    made: { calls: { kind: "throttle", untilMs } },
    retentionMs: 60_000,
  });
  story.succeeds();
  assertEquals(story.task.purgeAtMs, untilMs);
});
