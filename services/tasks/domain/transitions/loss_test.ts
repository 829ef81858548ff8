import { assertEquals } from "@std/assert";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
  WORKER,
} from "../testing/task_story.ts";

function loses(story: TaskStory): readonly string[] {
  story.starts();
  return story.types({ kind: "lose", lease: story.lease, reason: "gone" });
}

Deno.test("lose() lets the task wait again at once and spends no retry", () => {
  const story = new TaskStory();
  story.fails();
  const { dateMs } = story.task;
  story.starts();
  story.nowMs += 5_000;
  const [record] = story.happens({
    kind: "lose",
    lease: story.lease,
    reason: "the server is gone",
  });
  assertEquals([record?.type, record?.message], ["lost", "the server is gone"]);
  const { task } = story;
  assertEquals([task.status, task.isDue, task.dateMs], [
    "waiting",
    true,
    dateMs,
  ]);
  assertEquals([task.retries, task.executions], [1, 1]);
  assertEquals([task.lost, task.lostInRow], [1, 1]);
});

Deno.test("lose() counts as a failure when it happens too often in a row", () => {
  const story = new TaskStory();
  for (let count = 0; count < WORKER.maxLost; count++) {
    assertEquals(loses(story), ["lost"]);
  }
  assertEquals(loses(story), ["lost", "retrying"]);
  const { task } = story;
  assertEquals([task.status, task.retries, task.executions], ["retry", 1, 1]);
  assertEquals([task.lost, task.lostInRow], [4, 0]);
  assertEquals(task.error, {
    code: "worker_lost",
    message: "gone, for the 4th time in a row",
    atMs: NOON_MS,
  });
});

Deno.test("lose() ends a task that kills all of its workers", () => {
  const story = new TaskStory();
  let attempts = 0;
  while (story.task.status !== "failed") {
    loses(story);
    attempts++;
  }
  // Three tries, each of which may be lost three times.
  assertEquals([attempts, story.task.executions], [12, 3]);
});

Deno.test("lose() counts anew after an attempt that was not lost", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  for (let run = 0; run < 3; run++) {
    for (let count = 0; count < WORKER.maxLost; count++) loses(story);
    story.succeeds();
    assertEquals(story.task.lostInRow, 0);
  }
  assertEquals([story.task.lost, story.task.executions], [9, 3]);
});

Deno.test("lose() counts anew after an attempt that was given back", () => {
  const story = new TaskStory();
  loses(story);
  story.starts();
  story.happens({ kind: "release", lease: story.lease });
  assertEquals([story.task.lost, story.task.lostInRow], [1, 0]);
});

Deno.test("lose() refuses the worker's late word", () => {
  const story = new TaskStory();
  story.happens(START);
  const { lease } = story;
  story.happens({ kind: "lose", lease, reason: "gone" });
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "refused");
  assertEquals(
    story.outcome({ kind: "lose", lease, reason: "gone" }).kind,
    "unchanged",
  );
});
