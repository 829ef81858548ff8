import { assertEquals } from "@std/assert";
import { placementOf } from "../placement.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";

const HOUR_MS = 3_600_000;

Deno.test("wake() makes a task due at its date and not before", () => {
  const story = new TaskStory({ made: { dateMs: NOON_MS + 1_000 } });
  story.nowMs += 999;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  story.nowMs += 1;
  assertEquals(story.types({ kind: "wake" }), ["due"]);
  assertEquals([story.task.status, story.task.isDue], ["waiting", true]);
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
});

Deno.test("wake() leaves the status of tasks in retry and done", () => {
  const retry = new TaskStory();
  retry.fails();
  retry.nowMs = retry.task.dateMs;
  assertEquals(retry.types({ kind: "wake" }), ["due"]);
  assertEquals([retry.task.status, retry.task.isDue], ["retry", true]);
  const done = new TaskStory({ definition: { repeat: repeatWith() } });
  done.succeeds();
  done.nowMs = done.task.dateMs;
  assertEquals(done.types({ kind: "wake" }), ["due"]);
  assertEquals([done.task.status, done.task.isDue], ["done", true]);
});

Deno.test("wake() runs once after downtime and tells how many slots it passed over", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  story.nowMs = NOON_MS + 5 * HOUR_MS + 60_000;
  const [missed] = story.happens({ kind: "wake" });
  assertEquals([missed?.type, missed?.amount], ["missed", 4]);
  assertEquals([story.task.slotMs, story.task.missed], [
    NOON_MS + 5 * HOUR_MS,
    4,
  ]);
  story.succeeds();
  assertEquals(story.task.dateMs, NOON_MS + 6 * HOUR_MS);
  assertEquals([story.task.missed, story.task.executions], [4, 2]);
});

Deno.test("wake() waits for the next slot after downtime where nothing is caught up", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "none" }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + 5 * HOUR_MS + 60_000;
  assertEquals(story.types({ kind: "wake" }), ["missed", "moved"]);
  const { task } = story;
  assertEquals([task.status, task.isDue], ["done", false]);
  assertEquals([task.dateMs, task.missed], [NOON_MS + 6 * HOUR_MS, 5]);
  story.nowMs = task.dateMs + 3_000;
  assertEquals(story.types({ kind: "wake" }), ["due"]);
});

Deno.test("wake() ends a schedule of which nothing is left to catch up", () => {
  const story = new TaskStory({
    definition: {
      repeat: repeatWith({ catchUp: "none", untilMs: NOON_MS + 2 * HOUR_MS }),
    },
  });
  story.succeeds();
  story.nowMs = NOON_MS + 5 * HOUR_MS;
  assertEquals(story.types({ kind: "wake" }), ["missed", "completed"]);
  assertEquals([story.task.status, story.task.missed], ["complete", 2]);
});

Deno.test("wake() does not lose a run that was moved far behind its slot", () => {
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ interval: "P1M", catchUp }) },
    });
    story.succeeds();
    const dateMs = story.task.dateMs + 5 * 24 * HOUR_MS;
    story.happens({
      kind: "update",
      definition: story.task,
      dateMs,
      changes: [],
    });
    story.nowMs = dateMs + 1_000;
    assertEquals(story.types({ kind: "wake" }), ["due"], catchUp);
  }
});

Deno.test("wake() expires runs that have not begun", () => {
  const definition = { expiresAtMs: NOON_MS + 60_000 };
  const stories = [
    new TaskStory({ definition }),
    new TaskStory({ definition, made: { dateMs: NOON_MS + 120_000 } }),
    new TaskStory({ definition, made: { isBlocked: true } }),
  ];
  for (const story of stories) {
    story.nowMs += 59_999;
    assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
    story.nowMs += 1;
    assertEquals(story.types({ kind: "wake" }), ["expired"]);
    assertEquals(story.task.status, "expired");
  }
});

Deno.test("wake() ends a run that is to be retried behind the expiry as failed", () => {
  const story = new TaskStory({
    definition: { expiresAtMs: NOON_MS + 5_000 },
  });
  story.fails();
  story.nowMs = NOON_MS + 5_000;
  assertEquals(story.types({ kind: "wake" }), ["exhausted"]);
  const { task } = story;
  assertEquals([task.status, task.lastOutcome], ["failed", "failed"]);
  assertEquals(task.error?.code, "broken");
});

Deno.test("wake() ends a repeating task behind the expiry as complete", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith(), expiresAtMs: NOON_MS + HOUR_MS },
  });
  story.succeeds();
  story.nowMs = NOON_MS + HOUR_MS;
  assertEquals(story.types({ kind: "wake" }), ["completed"]);
  assertEquals(story.task.status, "complete");
});

Deno.test("wake() lets an attempt under way go on behind the expiry", () => {
  const story = new TaskStory({
    definition: { expiresAtMs: NOON_MS + 1_000 },
  });
  story.happens(START);
  story.nowMs += 2_000;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
});

Deno.test("wake() fails an attempt at its deadline, extended or not", () => {
  const story = new TaskStory();
  story.happens(START);
  const { lease } = story;
  story.happens({ kind: "heartbeat", lease, extendMs: HOUR_MS });
  story.nowMs += 59_999;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  story.nowMs += 1;
  assertEquals(story.types({ kind: "wake" }), ["timed_out", "retrying"]);
  const { task } = story;
  assertEquals([task.status, task.retries, task.executions], ["retry", 1, 1]);
  assertEquals(task.error, {
    code: "timed_out",
    message: "the attempt took longer than 60000 ms",
    atMs: story.nowMs,
  });
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "refused");
});

Deno.test("wake() fails the service's own call at its deadline", () => {
  const story = new TaskStory({ definition: { retry: null } });
  story.happens({ ...START, bootId: "boot" });
  story.nowMs += 60_000;
  assertEquals(story.types({ kind: "wake" }), ["timed_out", "exhausted"]);
  assertEquals(story.task.status, "failed");
});

Deno.test("wake() gives the task back when its lease ends", () => {
  const story = new TaskStory();
  story.happens(START);
  story.nowMs += 30_000;
  assertEquals(story.types({ kind: "wake" }), ["lost"]);
  assertEquals([story.task.status, story.task.lost], ["waiting", 1]);
});

Deno.test("wake() takes what came first when both the lease and the deadline have passed", () => {
  const story = new TaskStory();
  story.happens(START);
  story.nowMs += HOUR_MS;
  assertEquals(story.types({ kind: "wake" }), ["lost"]);
});

Deno.test("wake() takes a worker for lost that was silent for its whole lease, though its time ends then, too", () => {
  const story = new TaskStory({ definition: { timeoutMs: START.leaseMs } });
  story.happens(START);
  story.nowMs += START.leaseMs;
  assertEquals(story.types({ kind: "wake" }), ["lost"]);
  assertEquals([story.task.status, story.task.retries], ["waiting", 0]);
});

Deno.test("wake() times an attempt out whose worker gave a sign of life", () => {
  const story = new TaskStory({ definition: { timeoutMs: START.leaseMs } });
  story.happens(START);
  story.nowMs += 1_000;
  const { lease } = story;
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "changed");
  story.happens({ kind: "heartbeat", lease });
  story.nowMs += START.leaseMs - 1_000;
  assertEquals(story.types({ kind: "wake" })[0], "timed_out");
});

Deno.test("wake() times a silent attempt out when its time is shorter than its lease", () => {
  const story = new TaskStory({
    definition: { timeoutMs: START.leaseMs - 1_000 },
  });
  story.happens(START);
  story.nowMs += START.leaseMs;
  assertEquals(story.types({ kind: "wake" })[0], "timed_out");
});

Deno.test("wake() puts a task right that is running without a lease", () => {
  const story = new TaskStory();
  story.happens(START);
  const { attempt: _attempt, ...unheld } = story.task;
  story.task = unheld;
  assertEquals(placementOf(story.task).wakeAtMs, 0);
  const reason = "found";
  const patch = { kind: "requeue" } as const;
  const repaired = story.outcome({ kind: "repair", reason, patch });
  assertEquals(repaired.kind === "changed" && repaired.next.status, "waiting");
  const [record] = story.happens({ kind: "wake" });
  assertEquals([record?.type, story.task.status], ["repaired", "waiting"]);
});

Deno.test("wake() takes a task back that is not due any more since the clock was set back", () => {
  const story = new TaskStory();
  story.nowMs -= HOUR_MS;
  const [record] = story.happens({ kind: "wake" });
  assertEquals([record?.type, record?.message], [
    "moved",
    "the clock was set back",
  ]);
  assertEquals([story.task.status, story.task.dateMs], ["scheduled", NOON_MS]);
  assertEquals(placementOf(story.task), { wakeAtMs: NOON_MS });
  story.nowMs += HOUR_MS;
  story.happens({ kind: "wake" });
  assertEquals(story.outcome(START).kind, "changed");
});

Deno.test("wake() purges a task when it was kept long enough, and never one to be kept", () => {
  const story = new TaskStory({ retentionMs: 1_000 });
  story.succeeds();
  story.nowMs += 999;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  story.nowMs += 1;
  assertEquals(story.outcome({ kind: "wake" }).kind, "purge");
  const kept = new TaskStory();
  kept.succeeds();
  kept.nowMs += 1e12;
  assertEquals(kept.outcome({ kind: "wake" }).kind, "unchanged");
});
