import { assert, assertEquals } from "@std/assert";
import type { Task } from "../task.ts";
import type { TaskEvent } from "../task_event.ts";
import {
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";
import { EVENT_KEPT_MS, MAX_KEPT_EVENTS } from "../wait.ts";

const MINUTE_MS = 60_000;

/** Ends the running attempt with a wait for an event. */
function waits(
  { task }: TaskStory,
  over: Partial<Extract<TaskEvent, { kind: "wait" }>> = {},
): TaskEvent {
  return {
    kind: "wait",
    lease: {
      id: task.attempt?.id ?? task.settled?.id ?? "",
      tokenHash: "hash",
    },
    asked: { kind: "event", event: "paid" },
    timeoutMs: MINUTE_MS,
    onTimeout: "resume",
    ...over,
  };
}

function paid(dataJson = '{"amount":7}'): TaskEvent {
  return { kind: "send_event", name: "paid", dataJson };
}

/** A task whose first attempt has ended with a wait. */
function waitingStory(
  over: Partial<Extract<TaskEvent, { kind: "wait" }>> = {},
  options: ConstructorParameters<typeof TaskStory>[0] = {},
): TaskStory {
  const story = new TaskStory(options);
  story.happens(START);
  story.nowMs += 1_000;
  story.happens(waits(story, over));
  return story;
}

function typesOf({ history }: TaskStory): readonly string[] {
  return history.map(({ type }) => type);
}

function brief({ status, isDue, retries, executions }: Task) {
  return { status, isDue, retries, executions };
}

Deno.test("wait() lets the task sleep until the end of its time and spends no try", () => {
  const story = waitingStory({ stateJson: '{"step":2}' });
  assertEquals(brief(story.task), {
    status: "scheduled",
    isDue: false,
    retries: 0,
    executions: 0,
  });
  assertEquals(story.task.dateMs, NOON_MS + 1_000 + MINUTE_MS);
  assertEquals(story.task.attempt, undefined);
  assertEquals(story.task.wait?.stateJson, '{"step":2}');
  const last = story.history.at(-1);
  assertEquals([last?.type, last?.message], [
    "waiting",
    'it waits for the event "paid"',
  ]);
  assertEquals(last?.attempt, story.task.settled?.id);
});

Deno.test("wait() accepts the same report twice and refuses another outcome", () => {
  const story = waitingStory();
  assertEquals(story.outcome(waits(story)).kind, "unchanged");
  const { id } = story.task.settled!;
  const other = story.outcome({
    kind: "complete",
    lease: { id, tokenHash: "hash" },
  });
  assertEquals(other.kind, "refused");
});

Deno.test("send_event() resumes the task that waits for it, with its data, once", () => {
  const story = waitingStory();
  story.nowMs += 5_000;
  story.happens(paid());
  assertEquals(brief(story.task).status, "waiting");
  assertEquals(story.task.isDue, true);
  assertEquals(story.task.dateMs, story.nowMs);
  const { resumed, events } = story.task.wait ?? {};
  assert(resumed?.kind === "event");
  assertEquals([resumed.dataJson, events], ['{"amount":7}', undefined]);
  story.happens(paid("2"));
  assertEquals(story.task.wait?.resumed, resumed);
  assertEquals(story.task.wait?.events?.length, 1, "kept for the next wait");
  story.happens(START);
  assertEquals(story.task.status, "running");
  assertEquals(typesOf(story), [
    ...["created", "started", "waiting", "resumed", "received", "started"],
  ]);
});

Deno.test("send_event() keeps an event that comes before the wait", () => {
  const story = new TaskStory();
  story.happens(paid());
  assertEquals(story.task.status, "waiting");
  story.happens({ kind: "send_event", name: "other", dataJson: "1" });
  story.happens(START);
  story.happens(waits(story));
  assertEquals(story.task.status, "waiting");
  assert(story.task.wait?.resumed?.kind === "event");
  assertEquals(story.task.wait.events?.map(({ name }) => name), ["other"]);
  assertEquals(story.task.wait.for, undefined);
});

Deno.test("send_event() keeps no more events than there is room for", () => {
  const story = new TaskStory();
  for (let count = 0; count < MAX_KEPT_EVENTS; count++) story.happens(paid());
  assertEquals(story.outcome(paid()).kind, "refused");
  story.nowMs += EVENT_KEPT_MS;
  story.happens(paid());
  assertEquals(story.task.wait?.events?.length, 1, "the old ones are gone");
  assertEquals(story.outcome(paid("x".repeat(65_537))).kind, "refused");
});

Deno.test("send_event() is refused by a task that has ended", () => {
  const story = new TaskStory();
  story.happens(paid());
  story.succeeds();
  assertEquals(story.task.status, "complete");
  assertEquals(story.task.wait, undefined);
  assertEquals(story.outcome(paid()).kind, "refused");
});

Deno.test("wake() ends a wait whose time is over, by its rule", () => {
  const resuming = waitingStory();
  resuming.nowMs = resuming.task.dateMs;
  resuming.happens({ kind: "wake" });
  assertEquals(brief(resuming.task).status, "waiting");
  assertEquals(resuming.task.wait?.resumed?.kind, "timeout");
  assertEquals(
    resuming.history.at(-1)?.message,
    'the event "paid" did not come in time',
  );

  const failing = waitingStory({ onTimeout: "fail" });
  failing.nowMs = failing.task.dateMs;
  failing.happens({ kind: "wake" });
  assertEquals(failing.task.status, "failed");
  assertEquals(failing.task.error?.code, "wait_timed_out");
  assertEquals(typesOf(failing).slice(-2), ["timed_out", "exhausted"]);
  assertEquals(failing.task.wait, undefined);
});

Deno.test("decide() resumes the task that waits for an approval", () => {
  const asked = { kind: "approval", by: "admin", byAnother: false } as const;
  const story = waitingStory({ asked });
  story.happens(paid());
  assertEquals(story.task.status, "scheduled", "an event is no approval");
  story.happens({ kind: "decide", isApproved: false, comment: "Not now" });
  assertEquals(story.task.status, "waiting");
  const { resumed } = story.task.wait ?? {};
  assert(resumed?.kind === "approval");
  assertEquals([resumed.isApproved, resumed.comment], [false, "Not now"]);
  assertEquals(story.history.at(-1)?.message, "rejected: Not now");
  const again = story.outcome({ kind: "decide", isApproved: true });
  assertEquals(again.kind, "refused");
});

Deno.test("a failed attempt after a wait is tried again with what resumed it", () => {
  const story = waitingStory({ stateJson: "2" });
  story.happens(paid());
  const { wait } = story.task;
  story.fails();
  assertEquals(brief(story.task), {
    status: "retry",
    isDue: false,
    retries: 1,
    executions: 1,
  });
  assertEquals(story.task.wait, wait);
  story.nowMs = story.task.dateMs;
  story.happens({ kind: "wake" });
  story.happens(START);
  story.happens(waits(story));
  assertEquals(story.task.wait?.stateJson, "2", "the state stays");
  assertEquals(story.task.retries, 1, "the retries stay");
});

Deno.test("pause() holds a wait, and resume() ends one whose time is over", () => {
  const story = waitingStory();
  story.happens({ kind: "pause" });
  story.happens(paid());
  assertEquals(story.task.status, "paused");
  story.happens({ kind: "resume" });
  assertEquals(brief(story.task).status, "waiting");

  const late = waitingStory({ onTimeout: "fail" });
  late.happens({ kind: "pause" });
  late.nowMs += 2 * MINUTE_MS;
  late.happens({ kind: "resume" });
  assertEquals(late.task.status, "scheduled");
  late.happens({ kind: "wake" });
  assertEquals(late.task.status, "failed");
});

Deno.test("run() ends a wait by hand and cancel() ends its task", () => {
  const story = waitingStory();
  story.happens({ kind: "run" });
  assertEquals(story.task.wait?.resumed?.kind, "run");
  assertEquals(story.task.isDue, true);
  const canceled = waitingStory();
  canceled.happens({ kind: "cancel" });
  assertEquals([canceled.task.status, canceled.task.wait], [
    "canceled",
    undefined,
  ]);
});

Deno.test("a task that waits expires with its task", () => {
  const story = waitingStory({}, {
    definition: { expiresAtMs: NOON_MS + 30_000 },
  });
  story.nowMs = NOON_MS + 30_000;
  story.happens({ kind: "wake" });
  assertEquals(story.task.status, "expired");
  assertEquals(story.history.at(-1)?.message, 'it waited for the event "paid"');
});

Deno.test("a repeating task waits within its run and drops kept events with it", () => {
  const story = waitingStory({}, {
    definition: { repeat: repeatWith({ catchUp: "none" }) },
  });
  const { slotMs } = story.task;
  // The next slot passes meanwhile.
  story.nowMs += 59_000;
  story.happens(paid());
  story.happens(paid("2"));
  story.nowMs += 2 * 3_600_000;
  story.happens(START);
  assertEquals(story.task.slotMs, slotMs, "the run keeps its slot");
  assertEquals(story.task.missed, 0);
  const { attempt } = story.task;
  story.happens({
    kind: "complete",
    lease: { id: attempt?.id ?? "", tokenHash: "hash" },
  });
  assertEquals(story.task.status, "done");
  assertEquals(story.task.wait, undefined);
});

Deno.test("a task that waits runs once more for a newer request with its key", () => {
  const story = waitingStory();
  const next = { dateMs: story.nowMs + 1_000 };
  story.happens({
    kind: "run_after",
    definition: { ...story.task, priority: 5 },
    changes: [{ field: "priority", from: 0, to: 5 }],
    next,
  });
  assertEquals([story.task.status, story.task.again], ["scheduled", next]);
  story.happens(paid());
  story.succeeds();
  assertEquals(story.task.run, 1);
  assertEquals([story.task.again, story.task.wait], [undefined, undefined]);
});
