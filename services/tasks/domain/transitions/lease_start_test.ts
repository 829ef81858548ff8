import { assert, assertEquals } from "@std/assert";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";

const HOUR_MS = 3_600_000;

/** How long the lease of a push call outlives its deadline. */
const CALL_SLACK_MS = 10_000;

Deno.test("start() gives a lease that is bound to the fence and ends", () => {
  const story = new TaskStory();
  story.nowMs += 250;
  const [record] = story.happens(START);
  const { attempt, ...task } = story.task;
  assertEquals(attempt, {
    id: "lse_0123456789abcdefghjkmnpqrs_1",
    tokenHash: "hash",
    bootId: undefined,
    startedAtMs: story.nowMs,
    expiresAtMs: story.nowMs + 30_000,
    deadlineMs: story.nowMs + 60_000,
    leaseMs: 30_000,
    instance: "host-1",
  });
  assertEquals([task.status, task.isDue, task.fence], ["running", false, 1]);
  assertEquals([task.lagMs, task.startedAtMs], [250, story.nowMs]);
  assertEquals([task.firstTriedAtMs, task.executions], [story.nowMs, 0]);
  assertEquals([record?.type, record?.attempt], ["started", attempt?.id]);
  assertEquals([record?.instance, record?.amount], ["host-1", 250]);
});

Deno.test("start() gives no lease beyond the deadline", () => {
  const story = new TaskStory({ definition: { timeoutMs: 5_000 } });
  story.happens(START);
  assertEquals(story.task.attempt?.expiresAtMs, NOON_MS + 5_000);
});

Deno.test("start() lets the service's own call take until its deadline", () => {
  const story = new TaskStory();
  story.happens({ ...START, bootId: "boot-1" });
  const { attempt } = story.task;
  assertEquals(attempt?.bootId, "boot-1");
  assertEquals(attempt?.expiresAtMs, NOON_MS + 60_000 + CALL_SLACK_MS);
});

Deno.test("start() raises the fence with every attempt, and keeps the first try's time", () => {
  const story = new TaskStory();
  story.fails();
  story.fails();
  story.starts();
  assertEquals([story.task.fence, story.task.firstTriedAtMs], [3, NOON_MS]);
  assertEquals(story.task.attempt?.id, "lse_0123456789abcdefghjkmnpqrs_3");
});

Deno.test("start() refuses a task whose date lies ahead, also one that was due before the clock was set back", () => {
  const story = new TaskStory({ made: { dateMs: NOON_MS + 10_000 } });
  story.nowMs += 9_999;
  assertEquals(story.outcome(START).kind, "refused");
  story.nowMs += 1;
  assertEquals(story.outcome(START).kind, "refused");
  story.happens({ kind: "wake" });
  story.nowMs -= HOUR_MS;
  assertEquals(story.outcome(START).kind, "refused");
  story.nowMs += HOUR_MS;
  assertEquals(story.outcome(START).kind, "changed");
});

Deno.test("start() refuses a task that has expired", () => {
  const story = new TaskStory({
    definition: { expiresAtMs: NOON_MS + 1_000 },
  });
  story.nowMs += 1_000;
  assertEquals(story.outcome(START), {
    kind: "refused",
    code: "wrong_state",
    reason: "Cannot start: it has expired",
  });
});

Deno.test("start() tells of a run that begins behind its next slot, and lets it do for the slots that passed", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.nowMs += 3 * HOUR_MS + 5;
  const records = story.happens(START);
  assertEquals(
    records.map(({ type, amount }) => [type, amount]),
    [
      ["started", 3 * HOUR_MS + 5],
      ["slipped", 3 * HOUR_MS + 5],
      ["missed", 3],
    ],
  );
  assertEquals(story.task.missed, 3);
  assertEquals(story.task.slotMs, NOON_MS + 3 * HOUR_MS);
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.dateMs, NOON_MS + 4 * HOUR_MS);
  assertEquals(story.task.missed, 3);
});

Deno.test("start() tells of no slipping within the interval", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.nowMs += HOUR_MS - 1;
  assertEquals(story.types(START), ["started"]);
});

Deno.test("start() passes no slots over when all of them are to be run", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "all" }) },
  });
  story.nowMs += 2 * HOUR_MS;
  assertEquals(story.types(START), ["started", "slipped"]);
  assertEquals([story.task.slotMs, story.task.missed], [NOON_MS, 0]);
  assert((story.task.lagMs ?? 0) === 2 * HOUR_MS);
});

Deno.test("start() tells of slipping when the clock had moved the slot on", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  story.nowMs = NOON_MS + 3 * HOUR_MS;
  assertEquals(story.types({ kind: "wake" }), ["missed", "due"]);
  assertEquals(story.types(START), ["started", "slipped"]);
  assertEquals([story.task.lagMs, story.task.missed], [2 * HOUR_MS, 2]);
});
