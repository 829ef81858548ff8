import { assertEquals } from "@std/assert";
import { type Task, TASK_STATUSES } from "./task.ts";
import type { TaskEvent, TaskEventKind, Transition } from "./task_event.ts";
import {
  definitionWith,
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "./testing/task_story.ts";

/**
 * The tasks to which the events are applied, one for each status. `retry` and
 * `done` occur twice: their date has come, and the clock has not noticed that
 * yet, or it has.
 */
const SITUATIONS = [
  "scheduled",
  "blocked",
  "waiting",
  "running",
  "retry",
  "retry, due",
  "done",
  "done, due",
  "paused",
  "complete",
  "failed",
  "canceled",
  "expired",
] as const;

type Situation = typeof SITUATIONS[number];

/**
 * The expected outcome. A status: the task changes and gets it. `=`: nothing
 * changes. `!state` and `!lease`: refused. `purge`: the store may delete the
 * task.
 */
type Expectation = string;

/** The outcomes of each event, in the order of the situations. */
const MATRIX: Readonly<Record<string, readonly Expectation[]>> = {
  // deno-fmt-ignore
  wake:             ["waiting",   "=",         "=",         "=",         "retry",     "=",         "done",      "=",         "=",         "purge",    "purge",    "purge",    "purge"],
  // deno-fmt-ignore
  start:            ["!state",    "!state",    "running",   "!state",    "!state",    "running",   "!state",    "running",   "!state",    "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  accept:           ["!lease",    "!lease",    "!lease",    "running",   "!lease",    "!lease",    "!lease",    "!lease",    "!lease",    "!lease",   "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  heartbeat:        ["!lease",    "!lease",    "!lease",    "running",   "!lease",    "!lease",    "!lease",    "!lease",    "!lease",    "!lease",   "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  log:              ["!lease",    "!lease",    "!lease",    "running",   "!lease",    "!lease",    "!lease",    "!lease",    "!lease",    "!lease",   "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  complete:         ["!lease",    "!lease",    "!lease",    "complete",  "!lease",    "!lease",    "=",         "=",         "!lease",    "=",        "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  fail:             ["!lease",    "!lease",    "!lease",    "retry",     "=",         "=",         "!lease",    "!lease",    "!lease",    "!lease",   "=",        "!lease",   "!lease"],
  // deno-fmt-ignore
  release:          ["!lease",    "!lease",    "!lease",    "waiting",   "!lease",    "!lease",    "!lease",    "!lease",    "!lease",    "!lease",   "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  wait:             ["!lease",    "!lease",    "!lease",    "scheduled", "!lease",    "!lease",    "!lease",    "!lease",    "!lease",    "!lease",   "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  send_event:       ["scheduled", "blocked",   "waiting",   "running",   "retry",     "retry",     "done",      "done",      "paused",    "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  decide:           ["!state",    "!state",    "!state",    "!state",    "!state",    "!state",    "!state",    "!state",    "!state",    "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  lose:             ["!lease",    "!lease",    "!lease",    "waiting",   "!lease",    "!lease",    "!lease",    "!lease",    "!lease",    "!lease",   "!lease",   "!lease",   "!lease"],
  // deno-fmt-ignore
  follow_clock:     ["=",         "=",         "=",         "running",   "=",         "=",         "=",         "=",         "=",         "=",        "=",        "=",        "="],
  // deno-fmt-ignore
  calendar_changed: ["=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "=", "="],
  // deno-fmt-ignore
  unblock:          ["=",         "waiting",   "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",        "=",        "=",        "="],
  // deno-fmt-ignore
  dependency_failed:["=",         "failed",    "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",        "=",        "=",        "="],
  // deno-fmt-ignore
  revive:           ["=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",        "=",        "=",        "="],
  // deno-fmt-ignore
  keep:             ["=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",        "=",        "=",        "="],
  // deno-fmt-ignore
  cancel:           ["canceled",  "canceled",  "canceled",  "canceled",  "canceled",  "canceled",  "canceled",  "canceled",  "canceled",  "!state",   "!state",   "=",        "!state"],
  // deno-fmt-ignore
  pause:            ["paused",    "paused",    "paused",    "!state",    "paused",    "paused",    "paused",    "paused",    "=",         "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  resume:           ["=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "waiting",   "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  retry:            ["!state",    "!state",    "!state",    "!state",    "waiting",   "waiting",   "!state",    "!state",    "!state",    "waiting",  "waiting",  "waiting",  "waiting"],
  // deno-fmt-ignore
  run:              ["waiting",   "waiting",   "=",         "!state",    "retry",     "=",         "done",      "=",         "!state",    "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  update:           ["scheduled", "blocked",   "waiting",   "running",   "retry",     "retry",     "done",      "done",      "paused",    "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  run_after:        ["!state",    "!state",    "!state",    "running",   "waiting",   "waiting",   "!state",    "!state",    "!state",    "!state",   "!state",   "!state",   "!state"],
  // deno-fmt-ignore
  "update, labels": ["scheduled", "blocked",   "waiting",   "running",   "retry",     "retry",     "done",      "done",      "paused",    "complete", "failed",   "canceled", "expired"],
  // deno-fmt-ignore
  "update, date":   ["scheduled", "blocked",   "scheduled", "!state",    "retry",     "retry",     "done",      "done",      "paused",    "scheduled","scheduled","scheduled","scheduled"],
  // deno-fmt-ignore
  callback:         ["scheduled", "blocked",   "waiting",   "running",   "retry",     "retry",     "done",      "done",      "paused",    "complete", "failed",   "canceled", "expired"],
  // deno-fmt-ignore
  repair:           ["=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",         "=",        "=",        "=",        "="],
};

/**
 * All kinds of events: the compiler reports a new kind that is missing here.
 */
const KINDS: Readonly<Record<TaskEventKind, true>> = {
  calendar_changed: true,
  wait: true,
  send_event: true,
  decide: true,
  wake: true,
  start: true,
  accept: true,
  heartbeat: true,
  log: true,
  complete: true,
  fail: true,
  release: true,
  lose: true,
  follow_clock: true,
  unblock: true,
  dependency_failed: true,
  revive: true,
  keep: true,
  cancel: true,
  pause: true,
  resume: true,
  retry: true,
  run: true,
  update: true,
  run_after: true,
  callback: true,
  repair: true,
};

Deno.test("transition() has an expectation for every status and every kind of event", () => {
  const statuses = new Set(SITUATIONS.map(toStatus));
  assertEquals(statuses, new Set(TASK_STATUSES));
  const kinds = new Set(Object.keys(MATRIX).map((row) => row.split(",")[0]));
  assertEquals(kinds, new Set(Object.keys(KINDS)));
  for (const [row, cells] of Object.entries(MATRIX)) {
    assertEquals(cells.length, SITUATIONS.length, row);
  }
});

for (const [row, cells] of Object.entries(MATRIX)) {
  Deno.test(`transition() does what the table says when it gets: ${row}`, () => {
    for (const [index, situation] of SITUATIONS.entries()) {
      assertOutcome(row, situation, cells[index] ?? "missing");
    }
  });
}

function assertOutcome(
  row: string,
  situation: Situation,
  expected: Expectation,
): void {
  const story = createStory(situation);
  assertEquals(story.task.status, toStatus(situation));
  const outcome = story.outcome(createEvent(row, story.task));
  assertEquals(brief(outcome), expected, situation);
  if (outcome.kind !== "changed") return;
  const { next, history } = outcome;
  assertEquals(next.version, story.task.version + 1);
  assertEquals(next.updatedAtMs, story.nowMs);
  assertEquals(next.historyCount, story.task.historyCount);
  assertEquals(next.historyHash, story.task.historyHash);
  for (const { atMs, status } of history) {
    assertEquals({ atMs, status }, {
      atMs: story.nowMs,
      status: next.status,
    });
  }
  // A heartbeat without progress and a clock step only change the lease.
  const isQuiet = row === "heartbeat" || row === "follow_clock";
  assertEquals(history.length === 0, isQuiet);
}

function toStatus(situation: Situation): string {
  return situation.replace(", due", "");
}

function brief(outcome: Transition): Expectation {
  switch (outcome.kind) {
    case "changed":
      return outcome.next.status;
    case "unchanged":
      return "=";
    case "purge":
      return "purge";
    case "refused":
      return outcome.code === "wrong_state" ? "!state" : "!lease";
  }
}

function createStory(situation: Situation): TaskStory {
  const retentionMs = 1_000;
  const plain = new TaskStory({ retentionMs });
  switch (situation) {
    case "scheduled":
      return at(
        new TaskStory({ made: { dateMs: NOON_MS + 5_000 } }),
        NOON_MS + 5_000,
      );
    case "blocked":
      return new TaskStory({
        definition: { dependencies: ["tsk_a"] },
        made: { isBlocked: true },
      });
    case "waiting":
      return plain;
    case "running":
      plain.happens(START);
      plain.nowMs += 1_000;
      return plain;
    case "retry":
    case "retry, due":
      plain.fails();
      return found(plain, situation);
    case "done":
    case "done, due": {
      const story = new TaskStory({ definition: { repeat: repeatWith() } });
      story.succeeds();
      return found(story, situation);
    }
    case "paused":
      plain.happens({ kind: "pause" });
      return plain;
    case "complete":
      plain.succeeds();
      return at(plain, plain.nowMs + retentionMs);
    case "failed": {
      const story = new TaskStory({ definition: { retry: null }, retentionMs });
      story.fails();
      return at(story, story.nowMs + retentionMs);
    }
    case "canceled":
      plain.happens({ kind: "cancel" });
      return at(plain, plain.nowMs + retentionMs);
    case "expired": {
      const definition = { expiresAtMs: NOON_MS + 1_000 };
      const story = at(
        new TaskStory({ definition, retentionMs }),
        NOON_MS + 1_000,
      );
      story.happens({ kind: "wake" });
      return at(story, story.nowMs + retentionMs);
    }
  }
}

function at(story: TaskStory, nowMs: number): TaskStory {
  story.nowMs = nowMs;
  return story;
}

function found(story: TaskStory, situation: Situation): TaskStory {
  at(story, story.task.dateMs);
  if (situation.endsWith(", due")) story.happens({ kind: "wake" });
  return story;
}

function createEvent(row: string, task: Task): TaskEvent {
  const lease = {
    id: task.attempt?.id ?? task.settled?.id ?? "lse_none",
    tokenHash: "hash",
  };
  const definition = definitionWith({ ...task, priority: 5 });
  const changes = [{ field: "priority", from: 0, to: 5 }];
  const events: Readonly<Record<string, TaskEvent>> = {
    wake: { kind: "wake" },
    start: START,
    accept: { kind: "accept", lease, leaseMs: 20_000 },
    heartbeat: { kind: "heartbeat", lease },
    log: { kind: "log", lease, lines: ["a", "b"] },
    complete: { kind: "complete", lease },
    fail: { kind: "fail", lease, failure: { code: "x" }, message: "x" },
    release: { kind: "release", lease },
    wait: {
      kind: "wait",
      lease,
      asked: { kind: "event", event: "paid" },
      timeoutMs: 60_000,
      onTimeout: "resume",
    },
    send_event: { kind: "send_event", name: "paid", dataJson: "1" },
    decide: { kind: "decide", isApproved: true },
    lose: { kind: "lose", lease, reason: "the server is gone" },
    calendar_changed: { kind: "calendar_changed" },
    follow_clock: {
      kind: "follow_clock",
      steps: [{
        byMs: 3_600_000,
        lastReadMs: NOON_MS,
        noticedAtMs: NOON_MS + 3_600_000,
      }],
    },
    unblock: { kind: "unblock" },
    dependency_failed: {
      kind: "dependency_failed",
      dependency: "tsk_a",
      isRemoved: false,
    },
    revive: { kind: "revive", dependency: "tsk_a" },
    keep: { kind: "keep", untilMs: NOON_MS },
    cancel: { kind: "cancel" },
    pause: { kind: "pause" },
    resume: { kind: "resume" },
    retry: { kind: "retry" },
    run: { kind: "run" },
    update: { kind: "update", definition, changes },
    run_after: {
      kind: "run_after",
      definition: { ...definition, repeat: undefined },
      changes,
      next: { dateMs: NOON_MS },
    },
    "update, labels": {
      kind: "update",
      definition: definitionWith({ ...task, tags: ["a"] }),
      changes: [{ field: "tags", from: [], to: ["a"] }],
    },
    "update, date": {
      kind: "update",
      definition: task,
      dateMs: NOON_MS + 86_400_000,
      changes: [],
    },
    callback: { kind: "callback", isSent: true, message: "204" },
    repair: { kind: "repair", reason: "r" },
  };
  const event = events[row];
  if (event === undefined) {
    throw new Error(`Cannot try "${row}": no such event`);
  }
  return event;
}
