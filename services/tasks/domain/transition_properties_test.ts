import {
  BLANK_TASK,
  FINAL_STATUSES,
  isFinal,
  type RepeatRule,
  type Task,
  TASK_STATUSES,
  type TaskDefinition,
} from "./task.ts";
import type { HistoryDraft } from "./history.ts";
import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { computePlacement } from "./placement.ts";
import type { LeaseProof, TaskEvent, Transition } from "./task_event.ts";
import {
  type Changed,
  definitionWith,
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
  WORKER,
} from "./testing/task_story.ts";
import { MAX_KEPT_CHARS, MAX_KEPT_EVENTS } from "./wait.ts";

const HOUR_MS = 3_600_000;
const EVENTS = 60;

Deno.test("transition() holds its promises when anything happens in any order", async () => {
  const seen = new Set<string>();
  await eachRound({ rounds: 300 }, ({ random }) => {
    const story = drawStory(random);
    try {
      assertSound(story.task);
      for (let count = 0; count < EVENTS; count++) {
        story.nowMs += drawStepMs(random, story.task);
        const before = story.task;
        const event = drawEvent(random, before);
        const outcome = story.outcome(event);
        seen.add(`${before.status} ${outcome.kind}`);
        if (event.kind === "wake") assertWakesOnTime(before, outcome, story);
        if (outcome.kind !== "changed") continue;
        assertFollows(before, { event, outcome, nowMs: story.nowMs });
        story.take(outcome);
        seen.add(`${before.status} to ${story.task.status}`);
      }
      assertLimit(story);
    } catch (cause) {
      throw new Error(`Task: ${JSON.stringify(story.task)}`, { cause });
    }
  });
  for (const status of TASK_STATUSES) assert(seen.has(`${status} changed`));
  for (const status of FINAL_STATUSES) {
    assert(seen.has(`running to ${status}`) || status === "expired");
  }
  for (const status of ["retry", "done", "waiting", "scheduled"]) {
    assert(seen.has(`running to ${status}`), status);
  }
});

Deno.test("transition() leaves nothing to do at an instant when the clock has done it", async () => {
  await eachRound({ rounds: 50 }, ({ random }) => {
    const story = drawStory(random);
    for (let count = 0; count < 30; count++) {
      const event = drawEvent(random, story.task);
      if (story.outcome(event).kind === "changed") story.happens(event);
      story.nowMs += drawStepMs(random, story.task);
      // A spawning schedule may have several batches to make.
      const most = story.spawnedMs.length / 100 + 50;
      let wakes = 0;
      while (
        (computePlacement(story.task).wakeAtMs ?? Infinity) <= story.nowMs
      ) {
        if (isFinal(story.task.status)) break;
        story.happens({ kind: "wake" });
        wakes++;
        assert(wakes <= most, JSON.stringify(story.task));
      }
    }
  });
});

/** The fields that change only together with a new record. */
const TOLD_FIELDS = [
  ...["tenantId", "id", "workerId", "job", "callback"] as const,
  ...["status", "dataJson", "resultJson"] as const,
];

interface Followed {
  readonly event: TaskEvent;
  readonly outcome: Changed;
  readonly nowMs: number;
}

function assertFollows(
  before: Task,
  { event, outcome, nowMs }: Followed,
): void {
  const { next, history, spawnSlotsMs } = outcome;
  assertSound(next);
  assertEquals(next.version, before.version + 1);
  assertEquals(next.updatedAtMs, nowMs);
  assertEquals(next.historyCount, before.historyCount);
  assertEquals(next.historyHash, before.historyHash);
  assertEquals(next.fence, before.fence + (event.kind === "start" ? 1 : 0));
  assert(next.executions >= before.executions);
  assert(next.executions <= next.fence);
  assert(next.run >= before.run);
  assert(next.missed >= before.missed);
  assert(next.lost >= before.lost);
  assertEquals(history.at(-1)?.status ?? before.status, next.status);
  if (history.length === 0) {
    assert(["heartbeat", "follow_clock", "keep"].includes(event.kind));
    for (const field of TOLD_FIELDS) {
      assertEquals(next[field], before[field], field);
    }
  }
  if (next.isDue) {
    assert(next.dateMs <= nowMs || before.isDue || isLoss(history));
  }
  if (next.status === "running" && before.status !== "running") {
    assertEquals(event.kind, "start");
    assert(nowMs >= before.dateMs, "never before its date");
    assert(nowMs < (before.expiresAtMs ?? Infinity), "never behind its expiry");
    assert(computePlacement(before).rank !== undefined);
    assertOnTime(before, nowMs);
  }
  if (event.kind !== "update") {
    assertEquals(next.firstDateMs, before.firstDateMs, "the grid stays");
  }
  if (next.run > before.run && next.repeat?.mode === "same") {
    assertEquals(next.held, undefined, "a run by hand is followed");
  }
  if (before.again !== undefined && event.kind === "complete") {
    assertEquals([next.run, next.dateMs], [
      before.run + 1,
      before.again.dateMs,
    ]);
  }
  if (next.again !== undefined) assertEquals(next.repeat, undefined);
  if (next.status === "retry" && before.status === "running") {
    assertEquals(before.again, undefined, "newer values run instead");
    assertEquals(next.slotMs, before.slotMs, "a retry keeps the slot");
    assertEquals(next.run, before.run);
    assertEquals(next.retries, before.retries + 1);
    assert(next.retries <= WORKER.retry.limit);
  }
  assert(spawnSlotsMs.every((slotMs) => slotMs <= nowMs));
}

/** A run that is not caught up begins on time, or was tried before. */
function assertOnTime(before: Task, nowMs: number): void {
  const { repeat, dateMs, slotMs, held, firstTriedAtMs } = before;
  if (repeat?.catchUp !== "none" || held !== undefined) return;
  const isOfSchedule = before.isRepetition !== false &&
    (before.run === 0 || before.repetitions < (repeat.limit ?? Infinity));
  if (firstTriedAtMs !== undefined || !isOfSchedule) return;
  const { onTimeMs = 10_000 } = repeat;
  assert(nowMs - Math.max(dateMs, slotMs) <= onTimeMs, "on time");
}

/**
 * The runs stay within the limit. A limit that was set later may be less than
 * the runs before it.
 */
function assertLimit({ task, history }: TaskStory): void {
  if (history.some(({ type }) => type === "updated")) return;
  const { limit = Infinity } = task.repeat ?? {};
  assert(task.repetitions <= limit, "not more than the limit");
  assertEquals(
    task.executions >= task.repetitions || task.repeat?.mode === "spawn",
    true,
  );
}

function isLoss(history: readonly HistoryDraft[]): boolean {
  return history.some(({ type }) =>
    ["lost", "released", "repaired"].includes(type)
  );
}

function assertSound(task: Task): void {
  const { status, attempt } = task;
  assertEquals(status === "running", attempt !== undefined);
  assertEquals(isFinal(status), task.finishedAtMs !== undefined);
  assertEquals(isFinal(status), task.purgeAtMs !== undefined);
  assertEquals(status === "paused", task.pausedFrom !== undefined);
  if (task.isDue) assert(["waiting", "retry", "done"].includes(status));
  if (status === "waiting") assert(task.isDue);
  if (attempt !== undefined) {
    assertEquals(attempt.id, `lse_${task.id.slice(4)}_${task.fence}`);
    if (attempt.bootId === undefined) {
      assert(attempt.expiresAtMs <= attempt.deadlineMs);
    }
  }
  if (isFinal(status) || task.repeat === undefined) {
    assertEquals(task.held, undefined, "nothing follows");
  }
  if (isFinal(status)) assertEquals(task.again, undefined, "nothing follows");
  // Objects of the same shape, with every field present, are the fastest.
  assertEquals(Object.keys(task), Object.keys(BLANK_TASK));
  assertPlaced(task);
  const { wait } = task;
  if (isFinal(task.status)) assertEquals(wait, undefined);
  if (wait?.for !== undefined) {
    const asleep = [task.status, task.pausedFrom, task.isDue];
    assert(
      asleep.join() === "scheduled,,false" ||
        asleep.join() === "paused,scheduled,false",
      asleep.join(),
    );
  }
  const kept = wait?.events ?? [];
  assert(kept.length <= MAX_KEPT_EVENTS);
  const chars = kept.reduce((sum, event) => sum + event.dataJson.length, 0);
  assert(chars <= MAX_KEPT_CHARS);
}

function assertPlaced(task: Task): void {
  const { rank, wakeAtMs } = computePlacement(task);
  const isTakeable = task.isDue && !isFinal(task.status) &&
    task.status !== "paused" && task.status !== "running";
  assertEquals(rank !== undefined, isTakeable);
  const waitsOnTime = task.status === "running" ||
    ["scheduled", "retry", "done"].includes(task.status) && !task.isDue;
  if (waitsOnTime) assert(wakeAtMs !== undefined, "it is looked at");
  if (isFinal(task.status)) assertEquals(wakeAtMs, task.purgeAtMs);
}

/**
 * Waking a task at its instant changes it, and waking it before does nothing.
 */
function assertWakesOnTime(
  before: Task,
  outcome: Transition,
  { nowMs }: TaskStory,
): void {
  const { wakeAtMs = Infinity } = computePlacement(before);
  if (nowMs >= wakeAtMs) {
    assert(outcome.kind === "changed" || outcome.kind === "purge");
  } else if (!before.isDue || before.dateMs <= nowMs) {
    assertEquals(outcome.kind, "unchanged");
  }
}

function drawStory(random: SeededRandom): TaskStory {
  const story = new TaskStory({
    definition: drawDefinition(random),
    made: {
      isBlocked: random.chance(0.1),
      ...(random.chance(0.5)
        ? { dateMs: NOON_MS + (random.below(48) - 24) * HOUR_MS / 4 }
        : {}),
      ...(random.chance(0.1) ? { initialStatus: "paused" } : {}),
    },
    retentionMs: HOUR_MS,
    random: () => random.next(),
  });
  return story;
}

function drawDefinition(random: SeededRandom): TaskDefinition {
  const repeat = drawRepeat(random);
  return definitionWith({
    timezone: random.pick(["UTC", "Europe/Stockholm"]),
    ...(repeat === undefined ? {} : { repeat }),
    ...(random.chance(0.2)
      ? { expiresAtMs: NOON_MS + random.below(20) * HOUR_MS }
      : {}),
    ...(random.chance(0.2) ? { retry: null } : {}),
    onDependencyFailure: random.pick(["fail", "run", "wait"]),
    priority: random.below(19) - 9,
  });
}

function drawRepeat(random: SeededRandom): RepeatRule | undefined {
  if (random.chance(0.3)) return undefined;
  const timing = random.pick<Partial<RepeatRule>>([
    { interval: "PT1H" },
    { interval: "P1D" },
    { interval: "P1M" },
    { interval: "PT30S" },
    { cron: "*/15 * * * *" },
    { cron: "30 2 * * *" },
  ]);
  return repeatWith({
    ...timing,
    ...(random.chance(0.5) ? { limit: random.below(5) } : {}),
    ...(random.chance(0.2)
      ? { untilMs: NOON_MS + random.below(40) * HOUR_MS }
      : {}),
    catchUp: random.pick(["one", "all", "none"]),
    catchUpWindowMs: random.pick([0, HOUR_MS, 24 * HOUR_MS]),
    onTimeMs: random.pick([10_000, 1_000, 2 * HOUR_MS]),
    jitterMs: random.pick([0, 0, 60_000]),
    mode: random.chance(0.2) ? "spawn" : "same",
    onFailure: random.pick(["stop", "continue"]),
  });
}

function drawStepMs(random: SeededRandom, task: Task): number {
  if (random.chance(0.05)) return random.pick([-HOUR_MS, HOUR_MS]);
  if (random.chance(0.4)) return random.below(2_000);
  if (random.chance(0.5)) {
    // Moves the clock close to the instant at which the task next wakes.
    const wakeAtMs = computePlacement(task).wakeAtMs ?? task.dateMs;
    return Math.max(0, wakeAtMs - task.updatedAtMs) + random.below(3) - 1;
  }
  return random.below(3 * HOUR_MS);
}

function drawEvent(random: SeededRandom, task: Task): TaskEvent {
  const id = random.chance(0.9)
    ? task.attempt?.id ?? task.settled?.id ?? "lse_none"
    : "lse_other";
  const lease = random.chance(0.2) ? { id } : { id, tokenHash: "hash" };
  const draws: readonly (() => TaskEvent)[] = [
    () => ({ kind: "accept", lease, leaseMs: 10_000 }),
    () => ({ kind: "heartbeat", lease }),
    () => ({ kind: "heartbeat", lease, progressJson: "1" }),
    () => ({ kind: "log", lease, lines: ["a"] }),
    () => ({ kind: "release", lease, delayMs: random.below(2) * 60_000 }),
    () => drawWait(random, lease),
    () => drawWait(random, lease),
    () => drawSignal(random),
    () => drawSignal(random),
    () => ({ kind: "lose", lease, reason: "gone" }),
    () => ({
      kind: "follow_clock",
      steps: [{
        byMs: random.pick([-HOUR_MS, HOUR_MS]),
        lastReadMs: task.updatedAtMs,
        noticedAtMs: task.updatedAtMs + HOUR_MS,
      }],
    }),
    () => ({ kind: "unblock" }),
    () => ({
      kind: "dependency_failed",
      dependency: "tsk_a",
      isRemoved: random.chance(0.5),
    }),
    () => ({ kind: "revive", dependency: "tsk_a" }),
    () => ({ kind: "keep", untilMs: task.updatedAtMs + 2 * HOUR_MS }),
    () => ({ kind: "cancel" }),
    () => ({ kind: "pause" }),
    () => ({ kind: "resume" }),
    () => ({ kind: "resume" }),
    () => ({ kind: "retry" }),
    () => ({ kind: "run" }),
    () => drawUpdate(random, task),
    () => ({
      kind: "run_after",
      definition: task,
      changes: [],
      next: { dateMs: task.updatedAtMs + random.below(3) * HOUR_MS },
    }),
    () => ({ kind: "callback", isSent: false, message: "refused" }),
    () => ({ kind: "repair", reason: "r" }),
  ];
  if (random.chance(0.25)) return random.pick(draws)();
  if (task.status === "running") {
    return random.pick<TaskEvent>([
      { kind: "wake" },
      { kind: "complete", lease, resultJson: "1" },
      { kind: "complete", lease },
      drawWait(random, lease),
      { kind: "fail", lease, failure: { code: "x" }, message: "x" },
    ]);
  }
  if (task.wait?.for !== undefined && random.chance(0.3)) {
    return drawSignal(random);
  }
  return random.chance(0.5) ? { kind: "wake" } : {
    ...START,
    ...(random.chance(0.3) ? { bootId: "boot" } : {}),
  };
}

function drawWait(random: SeededRandom, lease: LeaseProof): TaskEvent {
  return {
    kind: "wait",
    lease,
    asked: random.chance(0.5)
      ? { kind: "event", event: random.pick(["a", "b"]) }
      : { kind: "approval", by: "member", byAnother: false },
    timeoutMs: random.pick([1_000, HOUR_MS]),
    onTimeout: random.pick(["resume", "fail"]),
    ...(random.chance(0.5) ? { stateJson: "1" } : {}),
  };
}

function drawSignal(random: SeededRandom): TaskEvent {
  return random.chance(0.5)
    ? { kind: "decide", isApproved: random.chance(0.5) }
    : {
      kind: "send_event",
      name: random.pick(["a", "b"]),
      dataJson: "x".repeat(random.pick([1, 30_000])),
    };
}

function drawUpdate(random: SeededRandom, task: Task): TaskEvent {
  const definition = random.chance(0.5) ? task : drawDefinition(random);
  const changes = definition === task
    ? []
    : [{ field: "repeat", from: null, to: null }];
  return {
    kind: "update",
    definition,
    changes,
    ...(random.chance(0.7)
      ? { dateMs: task.updatedAtMs + (random.below(9) - 4) * HOUR_MS }
      : {}),
  };
}
