import { assertEquals } from "@std/assert";
import type { TaskDefinition } from "../task.ts";
import type { EventOf, Transition } from "../task_event.ts";
import {
  definitionWith,
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An update event with the given fields; `undefined` removes a field. */
function change(
  story: TaskStory,
  fields: { readonly [Key in keyof TaskDefinition]?: unknown },
  dateMs?: number,
): EventOf<"update"> {
  const definition: TaskDefinition = definitionWith(
    JSON.parse(JSON.stringify({ ...story.task, ...fields })),
  );
  return {
    kind: "update",
    definition,
    changes: Object.keys(fields).map((field) => ({ field, from: 0, to: 1 })),
    ...(dateMs === undefined ? {} : { dateMs }),
  };
}

function getReason(outcome: Transition): string | undefined {
  return outcome.kind === "refused" ? outcome.reason : undefined;
}

Deno.test("update() tells what has changed, and takes away what is not given", () => {
  const story = new TaskStory({ definition: { timeoutMs: 5_000, key: "k" } });
  const [record] = story.happens(
    change(story, { timeoutMs: undefined, priority: 5 }),
  );
  assertEquals([record?.type, record?.changes?.length], ["updated", 2]);
  assertEquals([story.task.timeoutMs !== undefined, story.task.key], [
    false,
    "k",
  ]);
  assertEquals([story.task.priority, story.task.status], [5, "waiting"]);
});

Deno.test("update() does nothing when nothing changes", () => {
  const story = new TaskStory();
  const event = change(story, {}, story.task.dateMs);
  assertEquals(story.outcome(event).kind, "unchanged");
});

Deno.test("update() takes no state from whoever gives it with the definition", () => {
  const story = new TaskStory();
  const definition = { ...story.task, status: "failed", run: 9, tags: ["a"] };
  const changes = [{ field: "tags", from: [], to: ["a"] }];
  story.happens({ kind: "update", definition, changes });
  assertEquals([story.task.status, story.task.run], ["waiting", 0]);
  assertEquals(story.task.tags, ["a"]);
});

Deno.test("update() leaves an attempt under way and counts from the next one on", () => {
  const story = new TaskStory();
  story.happens(START);
  const { attempt } = story.task;
  story.happens(change(story, { retry: null, timeoutMs: 1_000 }));
  assertEquals([story.task.attempt, story.task.status], [attempt, "running"]);
  const event = change(story, {}, NOON_MS + HOUR_MS);
  assertEquals(
    getReason(story.outcome(event)),
    `Cannot update: the task is "running", so its date can't be moved; wait for the attempt's end or cancel it`,
  );
});

Deno.test("update() moves a task, and its old time does not fire", () => {
  const story = new TaskStory({ made: { dateMs: NOON_MS + HOUR_MS } });
  story.happens(change(story, {}, NOON_MS + 2 * HOUR_MS));
  story.nowMs = NOON_MS + HOUR_MS;
  assertEquals(story.outcome({ kind: "wake" }).kind, "unchanged");
  const types = story.types(change(story, {}, NOON_MS));
  assertEquals(types, ["moved", "due"]);
  assertEquals([story.task.status, story.task.isDue], ["waiting", true]);
  story.happens(change(story, {}, NOON_MS + 3 * HOUR_MS));
  assertEquals([story.task.status, story.task.isDue], ["scheduled", false]);
});

Deno.test("update() of the date before the first run moves the schedule's grid", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith() },
    made: { dateMs: NOON_MS + HOUR_MS },
  });
  const dateMs = NOON_MS + 600_000;
  story.happens(change(story, {}, dateMs));
  assertEquals(story.task.firstDateMs, dateMs);
  story.succeeds();
  assertEquals(story.task.dateMs, dateMs + HOUR_MS);
});

Deno.test("update() of the date after the first run moves that run alone", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  const dateMs = NOON_MS + HOUR_MS + 600_000;
  story.happens(change(story, {}, dateMs));
  assertEquals([story.task.status, story.task.dateMs], ["done", dateMs]);
  story.succeeds();
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
  assertEquals([story.task.firstDateMs, story.task.repetitions], [NOON_MS, 1]);
});

Deno.test("update() of a cron task's first date takes the first match from there on", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ cron: "0 2 * * *" }) },
  });
  story.happens(change(story, {}, NOON_MS + 5 * DAY_MS));
  assertEquals(
    new Date(story.task.dateMs).toISOString(),
    "2026-01-07T02:00:00.000Z",
  );
  assertEquals(story.task.firstDateMs, NOON_MS + 5 * DAY_MS);
});

Deno.test("update() of the schedule dates the coming run as if it had always been so", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ interval: "P1D" }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + HOUR_MS + 60_000;
  const event = change(story, { repeat: repeatWith({ interval: "PT2H" }) });
  assertEquals(story.types(event), ["updated", "moved"]);
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
  story.happens(change(story, { repeat: repeatWith({ cron: "30 * * * *" }) }));
  assertEquals(story.task.dateMs, NOON_MS + HOUR_MS + 1_800_000);
  assertEquals([story.task.status, story.task.firstDateMs], ["done", NOON_MS]);
});

Deno.test("update() of the schedule takes a slot of this instant when none was run, and doubles none", () => {
  const fresh = new TaskStory({
    definition: { repeat: repeatWith({ cron: "0 2 * * *" }) },
  });
  fresh.happens(change(fresh, { repeat: repeatWith({ cron: "0 * * * *" }) }));
  assertEquals([fresh.task.status, fresh.task.dateMs], ["waiting", NOON_MS]);
  const done = new TaskStory({ definition: { repeat: repeatWith() } });
  done.succeeds(0);
  done.happens(change(done, { repeat: repeatWith({ interval: "PT30M" }) }));
  assertEquals(done.task.dateMs, NOON_MS + 1_800_000);
});

Deno.test("update() of the schedule loses no slot that is still to be run", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  story.happens({ kind: "pause" });
  story.nowMs = NOON_MS + HOUR_MS + 60_000;
  const repeat = repeatWith({ interval: "PT30M", catchUp: "all" });
  story.happens(change(story, { repeat }));
  story.happens({ kind: "resume" });
  assertEquals([story.task.isDue, story.task.slotMs], [
    true,
    NOON_MS + HOUR_MS,
  ]);
});

Deno.test("update() of the date of a retry in the first run leaves the grid", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.fails();
  const dateMs = NOON_MS + 600_000;
  story.happens(change(story, {}, dateMs));
  assertEquals([story.task.status, story.task.dateMs], ["retry", dateMs]);
  assertEquals([story.task.firstDateMs, story.task.slotMs], [NOON_MS, NOON_MS]);
});

Deno.test("update() moves a run to before its slot, whatever the catch-up rule", () => {
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ catchUp }) },
    });
    story.succeeds();
    story.happens(change(story, {}, NOON_MS + 600_000));
    story.nowMs = NOON_MS + 600_000;
    assertEquals(story.types({ kind: "wake" }), ["due"], catchUp);
    story.succeeds();
    assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
  }
});

Deno.test("update() opens no schedule again that has made all of its tasks", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ mode: "spawn", limit: 0 }) },
  });
  story.happens({ kind: "wake" });
  assertEquals(
    getReason(story.outcome(change(story, {}, NOON_MS + HOUR_MS))),
    "Cannot update: the task's schedule has made all tasks that its limit allows",
  );
});

Deno.test("update() of the schedule with a date begins a new grid", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  const dateMs = NOON_MS + 90 * 60_000;
  const repeat = repeatWith({ interval: "P1D" });
  story.happens(change(story, { repeat }, dateMs));
  assertEquals([story.task.dateMs, story.task.firstDateMs], [dateMs, dateMs]);
  story.succeeds();
  assertEquals(story.task.dateMs, dateMs + DAY_MS);
});

Deno.test("update() of the schedule leaves what is due and what is tried", () => {
  const due = new TaskStory({ definition: { repeat: repeatWith() } });
  due.happens(change(due, { repeat: repeatWith({ interval: "P1D" }) }));
  assertEquals([due.task.isDue, due.task.dateMs], [true, NOON_MS]);
  const tried = new TaskStory({ definition: { repeat: repeatWith() } });
  tried.fails();
  const { dateMs } = tried.task;
  tried.happens(change(tried, { repeat: repeatWith({ interval: "P1D" }) }));
  assertEquals([tried.task.status, tried.task.dateMs], ["retry", dateMs]);
  tried.succeeds();
  assertEquals(tried.task.dateMs, NOON_MS + DAY_MS);
});

Deno.test("update() without a schedule completes a task between two runs", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  const types = story.types(change(story, { repeat: undefined }));
  assertEquals(types, ["updated", "completed"]);
  assertEquals([story.task.status, story.task.repeat !== undefined], [
    "complete",
    false,
  ]);
});

Deno.test("update() without a schedule keeps the date of a run that is to come", () => {
  const dateMs = NOON_MS + HOUR_MS;
  const story = new TaskStory({
    definition: { repeat: repeatWith() },
    made: { dateMs },
  });
  assertEquals(story.types(change(story, { repeat: undefined })), ["updated"]);
  assertEquals([story.task.status, story.task.dateMs], ["scheduled", dateMs]);
  story.succeeds();
  assertEquals(story.task.status, "complete");
});

Deno.test("update() with an end that has passed completes the task", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  const repeat = repeatWith({ untilMs: NOON_MS + 1 });
  story.happens(change(story, { repeat }));
  assertEquals(story.task.status, "complete");
});

Deno.test("update() of what is no matter of time leaves the date, jitter and all", () => {
  const draws = [0.5, 0.9];
  const story = new TaskStory({
    definition: { repeat: repeatWith({ jitterMs: 60_000 }) },
    random: () => draws.shift() ?? 0,
  });
  story.succeeds();
  const { dateMs } = story.task;
  assertEquals(dateMs, NOON_MS + HOUR_MS + 30_000);
  story.happens(change(story, { priority: 1 }));
  const repeat = repeatWith({ jitterMs: 60_000, limit: 9 });
  assertEquals(story.types(change(story, { repeat })), ["updated"]);
  assertEquals(story.task.dateMs, dateMs);
});

Deno.test("update() makes a task a schedule that makes others, and one again", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.happens(change(story, { repeat: repeatWith({ mode: "spawn" }) }));
  assertEquals([story.task.status, story.task.isDue], ["scheduled", false]);
  assertEquals(story.types({ kind: "wake" }), ["spawned", "repeated"]);
  assertEquals(story.spawnedMs, [NOON_MS]);
  story.happens(change(story, { repeat: repeatWith() }));
  story.succeeds();
  assertEquals([story.task.status, story.task.executions], ["done", 1]);
});

Deno.test("update() changes a paused task, which runs by that when it goes on", () => {
  const story = new TaskStory();
  story.happens({ kind: "pause" });
  story.happens(change(story, {}, NOON_MS + HOUR_MS));
  assertEquals(story.task.status, "paused");
  story.happens({ kind: "resume" });
  assertEquals([story.task.status, story.task.dateMs], [
    "scheduled",
    NOON_MS + HOUR_MS,
  ]);
});

Deno.test("update() of a task that has ended changes its labels alone", () => {
  const story = new TaskStory();
  story.succeeds();
  story.happens(change(story, { tags: ["a"], metadata: { b: "c" } }));
  assertEquals([story.task.status, story.task.tags], ["complete", ["a"]]);
  assertEquals(
    getReason(story.outcome(change(story, { tags: [], priority: 1 }))),
    `Cannot update: the task is "complete", so "priority" can't be changed; a new date opens it again`,
  );
});

Deno.test("update() opens an expired task with a date of before, for good", () => {
  const story = new TaskStory({
    definition: { expiresAtMs: NOON_MS + 1_000 },
  });
  story.nowMs += 1_000;
  story.happens({ kind: "wake" });
  assertEquals(story.task.status, "expired");
  story.happens(change(story, {}, NOON_MS - 5));
  assertEquals([story.task.status, story.task.expiresAtMs], [
    "waiting",
    undefined,
  ]);
});

Deno.test("update() opens a task that has ended with a new date", () => {
  const story = new TaskStory({ retentionMs: 1_000 });
  story.succeeds();
  const dateMs = story.nowMs + HOUR_MS;
  const records = story.happens(change(story, { priority: 1 }, dateMs));
  assertEquals(records.map(({ type, run }) => [type, run]), [
    ["updated", 1],
    ["requeued", 1],
  ]);
  const { task } = story;
  assertEquals([task.status, task.run, task.dateMs], ["scheduled", 1, dateMs]);
  assertEquals(
    [task.finishedAtMs !== undefined, task.purgeAtMs !== undefined],
    [false, false],
  );
  const past = new TaskStory();
  past.succeeds();
  past.happens(change(past, {}, NOON_MS - 1));
  assertEquals([past.task.status, past.task.isDue], ["waiting", true]);
});

Deno.test("update() of the schedule in mid-run takes no run from its limit", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ interval: "PT1S", limit: 1 }) },
  });
  story.succeeds(0);
  story.starts();
  story.happens(
    change(story, { repeat: repeatWith({ interval: "PT1M", limit: 1 }) }),
  );
  story.happens({ kind: "complete", lease: story.lease });
  const { task } = story;
  assertEquals([task.status, task.repetitions], ["complete", 1]);
});

Deno.test("update() of the schedule counts a task of old by its slot", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 1 }) },
  });
  story.succeeds();
  assertEquals(story.task.isRepetition, true);
  story.task = { ...story.task, isRepetition: undefined };
  story.succeeds();
  assertEquals([story.task.status, story.task.repetitions], ["complete", 1]);
});

Deno.test("update() of the schedule makes no slots of the time before it", () => {
  const every = repeatWith({ interval: "PT1M", catchUp: "all" });
  const begin = (): TaskStory =>
    new TaskStory({
      definition: {
        repeat: repeatWith({ interval: "P1D", catchUp: "all" }),
      },
      made: { dateMs: NOON_MS - 30 * 60_000 },
    });
  const running = begin();
  running.happens(START);
  running.happens(change(running, { repeat: every }));
  const waiting = begin();
  waiting.happens(change(waiting, { repeat: every }));
  assertEquals(waiting.types(START), ["started"]);
  const retrying = begin();
  retrying.fails();
  retrying.happens(change(retrying, { repeat: every }));
  retrying.starts();
  for (const story of [running, waiting, retrying]) {
    const changedAtMs = story === retrying ? NOON_MS + 1_000 : NOON_MS;
    story.nowMs = changedAtMs + 10_000;
    story.happens({ kind: "complete", lease: story.lease });
    const { task } = story;
    assertEquals([task.isDue, task.missed], [false, 0]);
    assertEquals([task.dateMs, task.scheduleSinceMs !== undefined], [
      NOON_MS + 60_000,
      false,
    ]);
  }
});

Deno.test("update() of the schedule in mid-run catches up what came after it", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ interval: "P1D" }) },
    made: { dateMs: NOON_MS - 30 * 60_000 },
  });
  story.happens(START);
  const repeat = repeatWith({ interval: "PT1M", catchUp: "all" });
  story.happens(change(story, { repeat }));
  story.nowMs += 3 * 60_000;
  story.happens({ kind: "complete", lease: story.lease });
  const slots: number[] = [];
  while (story.task.isDue) {
    slots.push((story.task.slotMs - NOON_MS) / 60_000);
    story.happens(START);
    story.happens({ kind: "complete", lease: story.lease });
  }
  assertEquals(slots, [1, 2, 3]);
});

Deno.test("update() of the schedule goes on from now, also in a run that was put forward", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ interval: "P1D" }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + HOUR_MS;
  story.happens(change(story, {}, story.nowMs));
  story.happens(START);
  story.happens(change(story, { repeat: repeatWith({ interval: "PT1M" }) }));
  story.nowMs += 1_000;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.dateMs, NOON_MS + HOUR_MS + 60_000);
  assertEquals([story.task.repetitions, story.task.missed], [1, 0]);
});

Deno.test("update() of the schedule does not run a slot again that was put forward", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ interval: "P1D" }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + HOUR_MS;
  story.happens(change(story, {}, story.nowMs));
  story.happens(START);
  story.happens(change(story, { repeat: repeatWith({ cron: "0 12 * * *" }) }));
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.slotMs, NOON_MS + 2 * DAY_MS);
});

Deno.test("update() of the schedule plans nothing of before behind a run by hand", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "all" }) },
  });
  story.succeeds();
  story.happens(change(story, {}, NOON_MS + DAY_MS));
  story.nowMs = NOON_MS + 10 * HOUR_MS;
  story.happens({ kind: "run" });
  story.happens(START);
  const repeat = repeatWith({ interval: "PT1M", catchUp: "all" });
  story.happens(change(story, { repeat }));
  story.happens({ kind: "complete", lease: story.lease });
  story.nowMs = NOON_MS + DAY_MS;
  story.happens({ kind: "wake" });
  assertEquals(story.task.slotMs, NOON_MS + HOUR_MS);
  story.succeeds();
  assertEquals(story.task.slotMs, NOON_MS + 10 * HOUR_MS + 60_000);
});

Deno.test("update() of the limit in mid-run loses no slot that has passed", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "all" }) },
  });
  story.happens(START);
  story.nowMs += 2 * HOUR_MS;
  const repeat = repeatWith({ catchUp: "all", limit: 9 });
  story.happens(change(story, { repeat }));
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.slotMs, NOON_MS + HOUR_MS);
});

Deno.test("update() of a paused schedule makes no slots of the time before it", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "all" }) },
  });
  story.succeeds();
  story.happens({ kind: "pause" });
  story.nowMs = NOON_MS + 5 * HOUR_MS + 60_000;
  const repeat = repeatWith({ interval: "PT10M", catchUp: "all" });
  story.happens(change(story, { repeat }));
  story.happens({ kind: "resume" });
  assertEquals([story.task.isDue, story.task.slotMs], [
    true,
    NOON_MS + HOUR_MS,
  ]);
  story.succeeds();
  assertEquals([story.task.isDue, story.task.missed], [false, 0]);
  assertEquals(story.task.dateMs, NOON_MS + 5 * HOUR_MS + 600_000);
});

Deno.test("update() of the schedule beside a run by hand holds a slot of the new one", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 1 }) },
  });
  story.succeeds();
  story.nowMs = NOON_MS + 60_000;
  story.happens({ kind: "run" });
  const repeat = repeatWith({ interval: "PT20M", limit: 1 });
  story.happens(change(story, { repeat }));
  story.happens(START);
  story.nowMs += 1_000;
  story.happens({
    kind: "fail",
    lease: story.lease,
    failure: { code: "x", isFinal: true },
    message: "x",
  });
  assertEquals([story.task.status, story.task.dateMs], [
    "scheduled",
    NOON_MS + 20 * 60_000,
  ]);
  story.succeeds();
  assertEquals([story.task.status, story.task.repetitions], ["complete", 1]);
});

Deno.test("update() that ends the schedule beside a run by hand lets that be the last", () => {
  for (const until of [{ untilMs: NOON_MS + 1 }, { limit: 0 }]) {
    const story = new TaskStory({ definition: { repeat: repeatWith() } });
    story.succeeds();
    story.nowMs = NOON_MS + 60_000;
    story.happens({ kind: "run" });
    story.happens(change(story, { repeat: repeatWith(until) }));
    story.succeeds();
    assertEquals(story.task.status, "complete");
  }
});
