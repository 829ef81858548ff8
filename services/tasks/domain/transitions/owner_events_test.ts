import { assertEquals } from "@std/assert";
import { computePlacement } from "../placement.ts";
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
  assertEquals([task.attempt !== undefined, task.finishedAtMs], [
    false,
    NOON_MS,
  ]);
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
  assertEquals(computePlacement(story.task), {
    rank: undefined,
    wakeAtMs: undefined,
    liveKey: undefined,
    failingSinceMs: undefined,
    awaits: undefined,
  });
  assertEquals(story.types({ kind: "resume" }), ["resumed", "due"]);
  assertEquals([story.task.status, story.task.pausedFrom !== undefined], [
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
    one: [true, 2, 3, 3],
    all: [true, 0, 1, 1],
    none: [false, 3, 4, 4],
  };
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ catchUp }) },
    });
    story.succeeds();
    story.happens({ kind: "pause" });
    story.nowMs = NOON_MS + 3 * HOUR_MS + 60_000;
    story.happens({ kind: "resume" });
    const { isDue, missed, slotMs, dateMs } = story.task;
    const [slot, date] = [slotMs, dateMs].map((ms) => (ms - NOON_MS) / HOUR_MS);
    assertEquals([isDue, missed, slot, date], expected[catchUp], catchUp);
  }
});

Deno.test("a run after a pause has the lag and the date of its slot, of the task as of its worker", () => {
  for (const paused of ["task", "worker", "neither"] as const) {
    const story = new TaskStory({ definition: { repeat: repeatWith({}) } });
    story.succeeds();
    if (paused === "task") story.happens({ kind: "pause" });
    story.nowMs = NOON_MS + HOUR_MS;
    if (paused !== "task") story.happens({ kind: "wake" });
    story.nowMs = NOON_MS + 3 * HOUR_MS + 60_000;
    if (paused === "task") story.happens({ kind: "resume" });
    if (paused === "worker") {
      story.worker = { ...story.worker, resumedAtMs: story.nowMs };
    }
    story.nowMs += 5_000;
    const types = story.types(START);
    const { slotMs, dateMs, lagMs, missed } = story.task;
    const lateMs = 65_000;
    const isSlipped = paused === "neither";
    assertEquals(slotMs, NOON_MS + 3 * HOUR_MS, paused);
    assertEquals(
      [dateMs, lagMs, missed, types.includes("slipped")],
      isSlipped
        ? [NOON_MS + HOUR_MS, 2 * HOUR_MS + lateMs, 2, true]
        : [slotMs, lateMs, 2, false],
      paused,
    );
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

Deno.test("retry() opens a task again as a new run, and history only grows", () => {
  const story = new TaskStory({ retentionMs: 1_000 });
  for (let count = 0; count < 3; count++) story.fails();
  const records = story.history.length;
  story.nowMs += 500;
  const [record] = story.happens({ kind: "retry" });
  assertEquals([record?.type, record?.run], ["requeued", 1]);
  assertEquals(story.history.length, records + 1);
  const { task } = story;
  assertEquals([task.status, task.isDue, task.run], ["waiting", true, 1]);
  assertEquals([task.dateMs, task.retries, task.executions], [
    story.nowMs,
    0,
    3,
  ]);
  assertEquals(
    [task.finishedAtMs !== undefined, task.purgeAtMs !== undefined],
    [false, false],
  );
  assertEquals([task.error?.code, task.lastOutcome], ["broken", "failed"]);
  story.succeeds();
  assertEquals([story.task.status, story.task.repetitions], ["complete", 0]);
});

Deno.test("retry() lifts an expiry that has passed and tells so", () => {
  const story = new TaskStory({
    definition: { expiresAtMs: NOON_MS + 1_000 },
  });
  story.nowMs += 1_000;
  story.happens({ kind: "wake" });
  const [record] = story.happens({ kind: "retry" });
  assertEquals(record?.changes, [{
    field: "expires",
    from: "2026-01-01T12:00:01.000Z",
    to: null,
  }]);
  assertEquals(story.task.expiresAtMs !== undefined, false);
  assertEquals(story.outcome(START).kind, "changed");
});

Deno.test("retry() lets a schedule that had stopped go on, and takes nothing from its limit", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 2 }), retry: null },
  });
  story.succeeds();
  story.fails();
  assertEquals([story.task.status, story.task.repetitions], ["failed", 1]);
  story.nowMs += 60_000;
  story.happens({ kind: "retry" });
  story.succeeds();
  const { task } = story;
  assertEquals([task.status, task.repetitions], ["done", 1]);
  assertEquals(task.dateMs, NOON_MS + 2 * HOUR_MS);
  story.succeeds();
  assertEquals([story.task.status, story.task.repetitions], ["complete", 2]);
});

Deno.test("retry() runs a task once more whose schedule is used up", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 0 }) },
  });
  story.succeeds();
  story.happens({ kind: "retry" });
  story.happens({ kind: "pause" });
  story.nowMs += 5 * HOUR_MS;
  story.happens({ kind: "resume" });
  story.succeeds();
  const { task } = story;
  assertEquals([task.status, task.executions, task.repetitions], [
    "complete",
    2,
    0,
  ]);
});

Deno.test("retry() does not wait for the date of a retry", () => {
  const story = new TaskStory();
  story.fails();
  story.happens({ kind: "retry" });
  const { task } = story;
  assertEquals([task.status, task.isDue, task.retries], ["waiting", true, 1]);
  assertEquals([task.run, task.dateMs], [0, story.nowMs]);
});

Deno.test("run() stands beside the schedule", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 1 }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + 600_000;
  const [record] = story.happens({ kind: "run" });
  assertEquals([record?.type, record?.nextDateMs], ["moved", story.nowMs]);
  assertEquals([story.task.status, story.task.isDue], ["done", true]);
  story.succeeds();
  const { task } = story;
  assertEquals([task.status, task.dateMs], ["done", NOON_MS + HOUR_MS]);
  assertEquals([task.repetitions, task.run], [0, 2]);
  story.succeeds();
  assertEquals([story.task.status, story.task.repetitions], ["complete", 1]);
});

Deno.test("run() before the first date leaves that date a run of its own", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ cron: "0 2 * * *" }) },
  });
  const { dateMs } = story.task;
  story.happens({ kind: "run" });
  assertEquals([story.task.status, story.task.dateMs], ["waiting", NOON_MS]);
  story.succeeds();
  assertEquals([story.task.status, story.task.dateMs], ["done", dateMs]);
});

Deno.test("run() leaves a slot that chance delays, and its date", () => {
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: {
        repeat: repeatWith({ jitterMs: 120_000, limit: 1, catchUp }),
      },
      random: () => 0.5,
    });
    story.succeeds();
    const slotMs = NOON_MS + HOUR_MS;
    assertEquals(story.task.dateMs, slotMs + 60_000);
    story.nowMs = slotMs + 10_000;
    story.happens({ kind: "run" });
    story.succeeds();
    const { task } = story;
    assertEquals([task.slotMs, task.dateMs], [slotMs, slotMs + 60_000]);
    assertEquals([task.repetitions, task.held !== undefined], [0, false]);
    assertEquals([task.status, task.isDue], ["done", false]);
    story.succeeds();
    assertEquals([story.task.status, story.task.repetitions], ["complete", 1]);
  }
});

Deno.test("run() leaves a slot with the date that its owner gave it", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  const dateMs = NOON_MS + HOUR_MS + 1_800_000;
  story.happens({
    kind: "update",
    definition: story.task,
    dateMs,
    changes: [],
  });
  story.nowMs = NOON_MS + HOUR_MS + 600_000;
  story.happens({ kind: "run" });
  story.succeeds();
  assertEquals(story.task.dateMs, dateMs);
  story.succeeds();
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
});

Deno.test("run() that takes until behind the slot ahead leaves that to the catch-up rule", () => {
  const expected = {
    one: { slot: 3, missed: 2 },
    all: { slot: 1, missed: 0 },
    none: { slot: 4, missed: 3 },
  };
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ catchUp }) },
    });
    story.succeeds();
    story.nowMs = NOON_MS + 600_000;
    story.happens({ kind: "run" });
    story.succeeds(3 * HOUR_MS);
    const { slot, missed } = expected[catchUp];
    assertEquals(story.task.slotMs, NOON_MS + slot * HOUR_MS, catchUp);
    assertEquals([story.task.missed, story.task.repetitions], [missed, 0]);
  }
});

Deno.test("run() stays a run by hand when it begins behind the slot ahead", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 1 }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + HOUR_MS - 1_000;
  story.happens({ kind: "run" });
  story.nowMs += 60_000;
  assertEquals(story.types(START), ["started"]);
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals([story.task.isDue, story.task.slotMs], [
    true,
    NOON_MS + HOUR_MS,
  ]);
  story.succeeds();
  assertEquals([story.task.status, story.task.executions], ["complete", 3]);
});

Deno.test("run() that fails goes back to a schedule that failures stop", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  story.nowMs = NOON_MS + 600_000;
  story.happens({ kind: "run" });
  for (let count = 0; count < 3; count++) story.fails();
  const { task } = story;
  assertEquals([task.status, task.dateMs], ["scheduled", NOON_MS + HOUR_MS]);
  assertEquals([task.lastOutcome, task.error?.code], ["failed", "broken"]);
  assertEquals([task.repetitions, task.retries], [0, 0]);
  for (let count = 0; count < 3; count++) story.fails();
  assertEquals([story.task.status, story.task.repetitions], ["failed", 1]);
});

Deno.test("run() of a run by hand that was put off puts it forward alone", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 1 }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + 600_000;
  story.happens({ kind: "run" });
  story.happens({
    kind: "update",
    definition: story.task,
    dateMs: story.nowMs + 600_000,
    changes: [],
  });
  story.happens({ kind: "run" });
  story.succeeds();
  assertEquals(story.task.dateMs, NOON_MS + HOUR_MS);
  story.succeeds();
  assertEquals([story.task.status, story.task.executions], ["complete", 3]);
});

Deno.test("run() of a blocked task whose date has come is its first run", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith() },
    made: { isBlocked: true },
  });
  story.nowMs += 600_000;
  story.happens({ kind: "run" });
  story.succeeds();
  assertEquals(story.task.dateMs, NOON_MS + HOUR_MS);
});

Deno.test("run() does not wait for a retry's date, and keeps the run's slot", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.fails();
  story.happens({ kind: "run" });
  const { task } = story;
  assertEquals([task.status, task.isDue, task.slotMs], [
    "retry",
    true,
    NOON_MS,
  ]);
  assertEquals(task.dateMs, story.nowMs);
});

Deno.test("run() and retry() go before dependencies", () => {
  const story = new TaskStory({ made: { isBlocked: true } });
  story.happens({ kind: "run" });
  assertEquals(story.task.status, "waiting");
  const failed = new TaskStory({ made: { isBlocked: true } });
  failed.happens({
    kind: "dependency_failed",
    dependency: "tsk_a",
    isRemoved: false,
  });
  failed.happens({ kind: "retry" });
  assertEquals(failed.task.status, "waiting");
});

Deno.test("run() tells what to do with a task that is paused or has ended", () => {
  const story = new TaskStory();
  story.happens({ kind: "pause" });
  assertEquals(story.outcome({ kind: "run" }), {
    kind: "refused",
    code: "wrong_state",
    reason: `Cannot run: the task is "paused"; resume it first`,
  });
  story.happens({ kind: "cancel" });
  assertEquals(story.outcome({ kind: "run" }), {
    kind: "refused",
    code: "wrong_state",
    reason: `Cannot run: the task is "canceled"; retry it`,
  });
});
