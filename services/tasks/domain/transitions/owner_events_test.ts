import { assertEquals } from "@std/assert";
import { placementOf } from "../placement.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";

const HOUR_MS = 3_600_000;

Deno.test("cancel() reaches an attempt under way", () => {
  const story = new TaskStory();
  story.happens(START);
  const { lease } = story;
  const [record] = story.happens({ kind: "cancel", reason: "not needed" });
  assertEquals([record?.type, record?.message, record?.attempt], [
    "canceled",
    "not needed",
    lease.id,
  ]);
  const { task } = story;
  assertEquals([task.status, task.settled?.outcome], ["canceled", "canceled"]);
  assertEquals(["attempt" in task, task.finishedAtMs], [false, NOON_MS]);
  const outcome = story.outcome({ kind: "complete", lease });
  assertEquals(
    outcome.kind === "refused" && outcome.reason,
    `Cannot complete with this lease: its attempt has ended as "canceled"`,
  );
});

Deno.test("pause() keeps a task from being found, and resume() puts it back", () => {
  const story = new TaskStory({
    definition: { expiresAtMs: NOON_MS + HOUR_MS },
  });
  story.happens({ kind: "pause" });
  assertEquals([story.task.pausedFrom, story.task.isDue], ["waiting", false]);
  assertEquals(placementOf(story.task), {});
  assertEquals(story.types({ kind: "resume" }), ["resumed", "due"]);
  assertEquals([story.task.status, "pausedFrom" in story.task], [
    "waiting",
    false,
  ]);
});

Deno.test("resume() goes on waiting for a date ahead", () => {
  for (const isDone of [false, true]) {
    const story = new TaskStory({
      definition: { repeat: repeatWith() },
      made: { dateMs: NOON_MS + HOUR_MS },
    });
    if (isDone) story.succeeds();
    const { status } = story.task;
    story.happens({ kind: "pause" });
    assertEquals(story.types({ kind: "resume" }), ["resumed"]);
    assertEquals([story.task.status, story.task.isDue], [status, false]);
  }
});

Deno.test("resume() makes a retry due whose date has passed, and keeps its slot", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.fails();
  story.happens({ kind: "pause" });
  story.nowMs += 5 * HOUR_MS;
  assertEquals(story.types({ kind: "resume" }), ["resumed", "due"]);
  const { task } = story;
  assertEquals([task.status, task.isDue, task.slotMs], [
    "retry",
    true,
    NOON_MS,
  ]);
  assertEquals(task.retries, 1);
});

Deno.test("resume() applies the catch-up rule to slots that passed meanwhile", () => {
  const expected = {
    one: [true, 2, 3],
    all: [true, 0, 1],
    none: [false, 3, 4],
  };
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ catchUp }) },
    });
    story.succeeds();
    story.happens({ kind: "pause" });
    story.nowMs = NOON_MS + 3 * HOUR_MS + 60_000;
    story.happens({ kind: "resume" });
    const { isDue, missed, slotMs } = story.task;
    const slot = (slotMs - NOON_MS) / HOUR_MS;
    assertEquals([isDue, missed, slot], expected[catchUp], catchUp);
  }
});

Deno.test("resume() of a blocked task leaves it blocked, unless it was unblocked meanwhile", () => {
  const story = new TaskStory({ made: { isBlocked: true } });
  story.happens({ kind: "pause" });
  story.happens({ kind: "resume" });
  assertEquals(story.task.status, "blocked");
  story.happens({ kind: "pause" });
  assertEquals(story.types({ kind: "unblock" }), ["unblocked"]);
  assertEquals([story.task.status, story.task.pausedFrom], [
    "paused",
    "scheduled",
  ]);
  story.happens({ kind: "resume" });
  assertEquals([story.task.status, story.task.isDue], ["waiting", true]);
});
