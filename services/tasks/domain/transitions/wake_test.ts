import { assert, assertEquals } from "@std/assert";
import { resolveRules, RuleCache } from "../rules.ts";
import type { RepeatRule, Task } from "../task.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";
import { computePlacement } from "../placement.ts";
import { SYSTEM_ACTOR } from "../records.ts";
import { transition } from "../transition.ts";

/**
 * The most tasks that one event creates, and the most passed slots that are
 * caught up.
 */
const MAX_SPAWNED = 100;
const MAX_CAUGHT_UP = 10_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The slots of a schedule that begins at noon, in hours since then. */
function slotsAt(
  afterMs: number,
  { spawnRoom, scheduleSinceMs, ...fields }: Partial<RepeatRule> & {
    readonly spawnRoom?: number;
    readonly scheduleSinceMs?: number;
  },
) {
  const { task: made } = new TaskStory({
    definition: { repeat: repeatWith({ mode: "spawn", ...fields }) },
  });
  const task: Task = scheduleSinceMs === undefined
    ? made
    : { ...made, scheduleSinceMs };
  const rules = resolveRules(task, { timeoutMs: 30_000, maxLost: 3 }, {
    cache: new RuleCache(9),
  });
  const outcome = transition(task, { kind: "wake" }, {
    nowMs: NOON_MS + afterMs,
    actor: SYSTEM_ACTOR,
    rules,
    random: () => 0,
    spawnRoom,
  });
  assert(outcome.kind === "changed");
  const { next, history, spawnSlotsMs } = outcome;
  const countMissed = (isForRoom: boolean): number =>
    history.find(({ type, message }) =>
      type === "missed" && (message !== undefined) === isForRoom
    )?.amount ?? 0;
  return {
    runs: hours(spawnSlotsMs),
    nextMs: next.status === "complete" ? undefined : hours([next.dateMs])[0],
    missed: countMissed(false),
    withoutRoom: countMissed(true),
  };
}

Deno.test("wake() of a schedule passes over all slots that come behind the last one with room", () => {
  assertEquals(slotsAt(5 * HOUR_MS, { catchUp: "all", spawnRoom: 2 }), {
    runs: [0, 1],
    nextMs: 6,
    missed: 0,
    withoutRoom: 4,
  });
  assertEquals(slotsAt(5 * HOUR_MS, { catchUp: "all", spawnRoom: 6 }), {
    runs: [0, 1, 2, 3, 4, 5],
    nextMs: 6,
    missed: 0,
    withoutRoom: 0,
  });
});

Deno.test("wake() of a schedule makes no task without room, whatever the catch-up rule", () => {
  for (const catchUp of ["one", "all", "none"] as const) {
    const slots = slotsAt(3 * HOUR_MS, { catchUp, spawnRoom: 0 });
    assertEquals(slots.runs, [], catchUp);
    assertEquals(slots.missed + slots.withoutRoom, 4, catchUp);
    assertEquals(slots.nextMs, 4, catchUp);
  }
});

Deno.test("wake() of a schedule counts no slots from before the schedule as passed over", () => {
  for (const spawnRoom of [0, 1]) {
    const { runs, withoutRoom } = slotsAt(5 * HOUR_MS, {
      catchUp: "all",
      spawnRoom,
      scheduleSinceMs: NOON_MS + 2.5 * HOUR_MS,
    });
    // The slot of noon, and those of the third hour to the fifth.
    assertEquals(runs.length + withoutRoom, 4);
  }
});

Deno.test("wake() of a schedule takes nothing from the limit for what is passed over", () => {
  const slots = slotsAt(9 * HOUR_MS, {
    catchUp: "all",
    limit: 2,
    spawnRoom: 1,
  });
  assertEquals([slots.runs, slots.nextMs], [[0], 10]);
  const ending = slotsAt(9 * HOUR_MS, {
    catchUp: "all",
    limit: 0,
    spawnRoom: 1,
  });
  assertEquals([ending.runs, ending.nextMs], [[0], undefined]);
});

Deno.test("wake() of a schedule catches up with the latest slots alone when too many passed", () => {
  const window = { catchUp: "all", catchUpWindowMs: 366 * DAY_MS } as const;
  for (
    const { secondsApart, ...fields } of [
      { interval: "PT1M", secondsApart: 60 },
      { cron: "*/5 * * * * *", secondsApart: 5 },
    ]
  ) {
    const slots = slotsAt(365 * DAY_MS, { ...window, ...fields });
    const all = 365 * DAY_MS / 1_000 / secondsApart + 1;
    const [firstHour = 0] = slots.runs;
    const caughtUp = (365 * 24 - firstHour) * 3_600 / secondsApart + 1;
    assertEquals(Math.round(caughtUp), MAX_CAUGHT_UP);
    assertEquals(slots.missed, all - MAX_CAUGHT_UP);
    assertEquals(slots.runs.length, MAX_SPAWNED);
  }
});

function spawning(fields: Partial<RepeatRule> = {}): TaskStory {
  return new TaskStory({
    definition: { repeat: repeatWith({ mode: "spawn", ...fields }) },
  });
}

function hours(slotsMs: readonly number[]): readonly number[] {
  return slotsMs.map((slotMs) => (slotMs - NOON_MS) / HOUR_MS);
}

Deno.test("spawn() makes a task for each slot and is never run itself", () => {
  const story = spawning({ limit: 2 });
  assertEquals([story.task.status, story.task.isDue], ["scheduled", false]);
  const seen: unknown[] = [];
  while (story.task.status === "scheduled") {
    assertEquals(story.outcome(START).kind, "refused");
    story.nowMs = story.task.dateMs + 5;
    const types = story.types({ kind: "wake" });
    seen.push([types.join(" "), story.task.repetitions]);
  }
  assertEquals(seen, [
    ["spawned repeated", 0],
    ["spawned repeated", 1],
    ["spawned completed", 2],
  ]);
  assertEquals(hours(story.spawnedMs), [0, 1, 2]);
  assertEquals([story.task.status, story.task.executions], ["complete", 0]);
});

Deno.test("spawn() follows the catch-up rule after downtime", () => {
  const expected = {
    one: { slots: [0, 3], missed: 2 },
    all: { slots: [0, 1, 2, 3], missed: 0 },
    none: { slots: [0], missed: 3 },
  };
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = spawning({ catchUp });
    story.happens({ kind: "wake" });
    story.nowMs = NOON_MS + 3 * HOUR_MS + 60_000;
    story.happens({ kind: "wake" });
    const { slots, missed } = expected[catchUp];
    assertEquals(hours(story.spawnedMs), slots, catchUp);
    assertEquals(story.task.missed, missed, catchUp);
    assertEquals(story.task.dateMs, NOON_MS + 4 * HOUR_MS);
  }
});

Deno.test("spawn() makes a bounded number of tasks at once and the others right after", () => {
  const story = spawning({
    catchUp: "all",
    interval: "PT1M",
    catchUpWindowMs: 100 * HOUR_MS,
  });
  story.nowMs += 250 * 60_000;
  let wakes = 0;
  while (story.task.dateMs <= story.nowMs) {
    const [spawned] = story.happens({ kind: "wake" });
    assertEquals((spawned?.amount ?? 0) <= MAX_SPAWNED, true);
    wakes++;
  }
  assertEquals([wakes, story.spawnedMs.length], [3, 251]);
  assertEquals(new Set(story.spawnedMs).size, 251);
});

Deno.test("run() of a schedule makes one more task and leaves its slots", () => {
  const story = spawning();
  story.happens({ kind: "wake" });
  const { dateMs } = story.task;
  story.nowMs += 60_000;
  story.happens({ kind: "run" });
  assertEquals(story.spawnedMs, [NOON_MS, NOON_MS + 60_000]);
  assertEquals([story.task.dateMs, story.task.repetitions], [dateMs, 0]);
});

Deno.test("retry() of a schedule goes on with its next slot, if it has one", () => {
  const story = spawning();
  story.happens({ kind: "wake" });
  story.happens({ kind: "cancel" });
  story.nowMs = NOON_MS + 5 * HOUR_MS + 1;
  story.happens({ kind: "retry" });
  assertEquals([story.task.status, story.task.dateMs], [
    "scheduled",
    NOON_MS + 6 * HOUR_MS,
  ]);
  const ended = spawning({ limit: 0 });
  ended.happens({ kind: "wake" });
  assertEquals(ended.outcome({ kind: "retry" }).kind, "refused");
});

Deno.test("spawn() makes the task of a slot that was moved forward at the new date", () => {
  const story = spawning();
  story.happens({ kind: "wake" });
  const dateMs = NOON_MS + 600_000;
  story.happens({
    kind: "update",
    definition: story.task,
    dateMs,
    changes: [],
  });
  story.nowMs = dateMs;
  story.happens({ kind: "wake" });
  assertEquals(story.spawnedMs, [NOON_MS, dateMs]);
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
});

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
    detailJson: undefined,
    httpStatus: undefined,
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
  story.task = { ...story.task, attempt: undefined };
  assertEquals(computePlacement(story.task).wakeAtMs, 0);
  const reason = "found";
  const repaired = story.outcome({ kind: "repair", reason });
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
  assertEquals(computePlacement(story.task), {
    rank: undefined,
    wakeAtMs: NOON_MS,
    liveKey: undefined,
    failingSinceMs: undefined,
    awaits: undefined,
  });
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
