import { assertEquals } from "@std/assert";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
  WORKER,
} from "../testing/task_story.ts";

const HOUR_MS = 3_600_000;

Deno.test("fail() tries a task with the retry limit 2 three times", () => {
  const story = new TaskStory();
  const seen: unknown[] = [];
  for (let count = 0; count < 3; count++) {
    story.fails();
    const { status, retries, executions, dateMs } = story.task;
    seen.push([status, retries, executions, dateMs - NOON_MS]);
  }
  assertEquals(seen, [
    ["retry", 1, 1, 11_000],
    ["retry", 2, 2, 22_000],
    ["failed", 2, 3, 22_000],
  ]);
  assertEquals([story.task.run, story.task.lastOutcome], [0, "failed"]);
});

Deno.test("fail() keeps why", () => {
  const story = new TaskStory();
  story.starts();
  story.nowMs += 10;
  const [failed, retrying] = story.happens({
    kind: "fail",
    lease: story.lease,
    failure: { code: "http_error", httpStatus: 503 },
    message: "the worker answered 503",
    detailJson: `{"a":1}`,
    http: { status: 503, durationMs: 9 },
  });
  const error = {
    code: "http_error",
    message: "the worker answered 503",
    detailJson: `{"a":1}`,
    httpStatus: 503,
    atMs: story.nowMs,
  };
  assertEquals(story.task.error, error);
  assertEquals([failed?.type, failed?.error], ["failed", error]);
  assertEquals(failed?.http, { status: 503, durationMs: 9 });
  assertEquals(failed?.attempt, story.task.settled?.id);
  assertEquals([retrying?.type, retrying?.nextDateMs], [
    "retrying",
    story.task.dateMs,
  ]);
  assertEquals([story.task.isDue, story.task.durationMs], [false, 10]);
  assertEquals(story.task.lastOutcome !== undefined, false);
});

Deno.test("fail() waits as long as the worker asks for", () => {
  const story = new TaskStory();
  story.starts();
  const failure = { code: "busy" };
  story.happens({
    kind: "fail",
    lease: story.lease,
    failure,
    message: "busy",
    retryAfterMs: 120_000,
  });
  assertEquals(story.task.dateMs, NOON_MS + 120_000);
});

Deno.test("fail() makes a retry without a delay due at once", () => {
  const story = new TaskStory({
    definition: { retry: { limit: 1, interval: "PT0S" } },
  });
  story.fails();
  assertEquals([story.task.status, story.task.isDue], ["retry", true]);
});

Deno.test("fail() tries a final failure no more, and says why not", () => {
  const story = new TaskStory({ retentionMs: 1_000 });
  story.starts();
  const records = story.happens({
    kind: "fail",
    lease: story.lease,
    failure: { code: "bad_input", isFinal: true },
    message: "bad input",
  });
  assertEquals(
    records.map(({ type, message }) => [type, message]),
    [
      ["failed", undefined],
      ["exhausted", "the failure is not to be tried again"],
    ],
  );
  assertEquals(story.task.status, "failed");
  assertEquals(story.task.purgeAtMs, story.nowMs + 1_000);
});

Deno.test("fail() gives up when the next retry would begin too late", () => {
  const story = new TaskStory({
    definition: { retry: { interval: "PT10S", for: "PT15S" } },
  });
  story.fails();
  assertEquals(story.task.status, "retry");
  story.fails();
  assertEquals(story.task.status, "failed");
  assertEquals(
    story.history.at(-1)?.message,
    "the next retry would begin too long after the first try",
  );
});

Deno.test("fail() moves no slot of the schedule by retries", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  story.fails();
  story.fails();
  assertEquals(story.task.slotMs, NOON_MS + HOUR_MS);
  assertEquals(story.task.dateMs, NOON_MS + HOUR_MS + 22_000);
  story.succeeds();
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
  assertEquals([story.task.retries, story.task.repetitions], [0, 1]);
});

Deno.test("fail() stops a schedule that is to stop", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith(), retry: null },
  });
  story.fails();
  assertEquals([story.task.status, story.task.run], ["failed", 0]);
});

Deno.test("fail() goes on with the next slot where the schedule is to go on", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ onFailure: "continue" }) },
  });
  story.fails();
  story.fails();
  story.starts();
  const failure = { code: "broken" };
  const types = story.types({
    kind: "fail",
    lease: story.lease,
    failure,
    message: "broken",
  });
  assertEquals(types, ["failed", "exhausted", "repeated"]);
  const { task } = story;
  assertEquals([task.status, task.dateMs], ["scheduled", NOON_MS + HOUR_MS]);
  assertEquals([task.lastOutcome, task.error?.code], ["failed", "broken"]);
  assertEquals([task.run, task.retries, task.executions], [1, 0, 3]);
  story.succeeds();
  assertEquals([story.task.status, story.task.lastOutcome], [
    "done",
    "succeeded",
  ]);
  assertEquals([story.task.repetitions, story.task.error !== undefined], [
    1,
    false,
  ]);
});

Deno.test("fail() lets the next run wait when its slot has passed already", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ onFailure: "continue" }), retry: null },
  });
  story.starts();
  story.nowMs += HOUR_MS;
  const failure = { code: "x" };
  story.happens({ kind: "fail", lease: story.lease, failure, message: "x" });
  assertEquals([story.task.status, story.task.isDue], ["waiting", true]);
});

Deno.test("fail() ends a schedule as failed when its last run fails", () => {
  const story = new TaskStory({
    definition: {
      repeat: repeatWith({ onFailure: "continue", limit: 1 }),
      retry: null,
    },
  });
  story.succeeds();
  story.fails();
  assertEquals([story.task.status, story.task.repetitions], ["failed", 1]);
  const types = story.history.slice(-2).map(({ type }) => type);
  assertEquals(types, ["failed", "exhausted"]);
});

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
    detailJson: undefined,
    httpStatus: undefined,
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
