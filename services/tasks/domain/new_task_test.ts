import { BLANK_TASK, type Task, type TaskDefinition } from "./task.ts";
import { assertEquals } from "@std/assert";
import { newTask } from "./new_task.ts";
import {
  definitionWith,
  NOON_MS,
  OWNER,
  repeatWith,
  START,
  TASK_ID,
  TaskStory,
} from "./testing/task_story.ts";

const HOUR_MS = 3_600_000;

function getStatus({ status, isDue }: Task): readonly unknown[] {
  return [status, isDue];
}

Deno.test("newTask() makes a task that is due now", () => {
  const { task, history } = new TaskStory();
  assertEquals(task, {
    ...BLANK_TASK,
    tenantId: "tnt_1",
    id: TASK_ID,
    version: 1,
    createdBy: OWNER,
    createdAtMs: NOON_MS,
    ...definitionWith(),
    status: "waiting",
    dateMs: NOON_MS,
    firstDateMs: NOON_MS,
    slotMs: NOON_MS,
    isDue: true,
    updatedAtMs: NOON_MS,
  });
  assertEquals(history, [{
    atMs: NOON_MS,
    nextDateMs: undefined,
    type: "created",
    status: "waiting",
    run: 0,
    actor: OWNER,
  }]);
});

Deno.test("newTask() schedules a date ahead, and takes one that has passed as due", () => {
  const ahead = new TaskStory({ made: { dateMs: NOON_MS + 1 } });
  assertEquals(getStatus(ahead.task), ["scheduled", false]);
  assertEquals(ahead.history[0]?.nextDateMs, NOON_MS + 1);
  const passed = new TaskStory({ made: { dateMs: 0 } });
  assertEquals(getStatus(passed.task), ["waiting", true]);
  assertEquals(passed.task.dateMs, 0);
});

Deno.test("newTask() blocks and pauses", () => {
  const blocked = new TaskStory({ made: { isBlocked: true } });
  assertEquals(getStatus(blocked.task), ["blocked", false]);
  const cases = [
    [{}, "waiting"],
    [{ isBlocked: true }, "blocked"],
    [{ dateMs: NOON_MS + 1 }, "scheduled"],
  ] as const;
  for (const [made, pausedFrom] of cases) {
    const { task } = new TaskStory({
      made: { ...made, initialStatus: "paused" },
    });
    assertEquals(getStatus(task), ["paused", false]);
    assertEquals(task.pausedFrom, pausedFrom);
  }
});

Deno.test("newTask() keeps the schedule that made it", () => {
  const { task } = new TaskStory({ made: { parentId: "tsk_parent" } });
  assertEquals(task.parentId, "tsk_parent");
});

Deno.test("newTask() runs an interval at the date first, a cron expression where it matches", () => {
  const interval = new TaskStory({ definition: { repeat: repeatWith() } });
  assertEquals(interval.task.dateMs, NOON_MS);
  const cron = repeatWith({ cron: "0 2 * * *" });
  const nightly = new TaskStory({ definition: { repeat: cron } });
  assertEquals(getStatus(nightly.task), ["scheduled", false]);
  assertEquals(nightly.task.dateMs, NOON_MS + 14 * HOUR_MS);
  assertEquals(nightly.task.firstDateMs, NOON_MS);
  const noon = repeatWith({ cron: "0 12 * * *" });
  const now = new TaskStory({ definition: { repeat: noon } });
  assertEquals(getStatus(now.task), ["waiting", true]);
  const later = new TaskStory({
    definition: { repeat: cron },
    made: { dateMs: NOON_MS + 24 * HOUR_MS },
  });
  assertEquals(later.task.dateMs, NOON_MS + 38 * HOUR_MS);
});

Deno.test("newTask() delays the first run by chance unless it is at the date asked for", () => {
  const random = (): number => 0.5;
  const cron = repeatWith({ cron: "0 13 * * *", jitterMs: 60_000 });
  const delayed = new TaskStory({ definition: { repeat: cron }, random });
  assertEquals(delayed.task.dateMs, NOON_MS + HOUR_MS + 30_000);
  assertEquals(delayed.task.slotMs, NOON_MS + HOUR_MS);
  const interval = repeatWith({ jitterMs: 60_000 });
  const exact = new TaskStory({
    definition: { repeat: interval },
    made: { dateMs: NOON_MS + HOUR_MS },
    random,
  });
  assertEquals(exact.task.dateMs, NOON_MS + HOUR_MS);
});

Deno.test("newTask() catches up with slots from before it was made, and counts none as missed", () => {
  const made = { dateMs: NOON_MS - 3 * HOUR_MS - 60_000 };
  const one = new TaskStory({ definition: { repeat: repeatWith() }, made });
  assertEquals(getStatus(one.task), ["waiting", true]);
  assertEquals([one.task.slotMs, one.task.missed], [NOON_MS - 60_000, 0]);
  assertEquals(one.types(START), ["started"]);
  one.happens({ kind: "complete", lease: one.lease });
  assertEquals(one.task.dateMs, NOON_MS + HOUR_MS - 60_000);
  const none = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "none" }) },
    made,
  });
  assertEquals(getStatus(none.task), ["scheduled", false]);
  assertEquals([none.task.dateMs, none.task.missed], [
    NOON_MS + HOUR_MS - 60_000,
    0,
  ]);
  const all = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "all" }) },
    made,
  });
  assertEquals([all.task.slotMs, all.task.isDue], [made.dateMs, true]);
});

Deno.test("newTask() does not count the slots from before it was made", () => {
  for (const catchUp of ["one", "all", "none"] as const) {
    const definition = definitionWith({
      repeat: repeatWith({
        cron: "* * * * *",
        catchUp,
        catchUpWindowMs: HOUR_MS,
      }),
    });
    const rules = new TaskStory().rules(definition);
    const timing = rules.schedule?.timing;
    if (timing?.kind !== "cron") throw new Error("it has a cron expression");
    const { days } = timing.cron;
    let counted = 0;
    const { count } = days;
    days.count = (span) => {
      counted += span.toDay - span.fromDay;
      return count.call(days, span);
    };
    const { task } = newTask(definition, {
      tenantId: "tnt_1",
      id: TASK_ID,
      nowMs: NOON_MS,
      dateMs: 0,
      createdBy: OWNER,
      isBlocked: false,
      rules,
    });
    assertEquals(task.slotMs > NOON_MS - 2 * HOUR_MS, true);
    // Only the window is counted, of which each slot has to be run.
    assertEquals(counted < 10, true, `${catchUp}: ${counted} days`);
  }
});

Deno.test("newTask() makes a task that has expired or has no slot, and says so", () => {
  const cases: readonly Partial<TaskDefinition>[] = [
    { expiresAtMs: NOON_MS },
    { repeat: repeatWith({ cron: "0 13 * * *", untilMs: NOON_MS }) },
  ];
  for (const definition of cases) {
    const { task, history } = new TaskStory({
      definition,
      made: { initialStatus: "paused" },
      retentionMs: 1_000,
    });
    assertEquals(getStatus(task), ["expired", false]);
    assertEquals([task.finishedAtMs, task.purgeAtMs], [
      NOON_MS,
      NOON_MS + 1_000,
    ]);
    assertEquals(history.map(({ type, status }) => [type, status]), [
      ["created", "expired"],
      ["expired", "expired"],
    ]);
  }
});

Deno.test("newTask() takes nothing but the definition from what it is given", () => {
  const story = new TaskStory();
  story.fails();
  const { task } = newTask(story.task, {
    tenantId: "tnt_2",
    id: "tsk_2",
    nowMs: NOON_MS,
    createdBy: OWNER,
    isBlocked: false,
    rules: story.rules(story.task),
  });
  assertEquals([task.tenantId, task.executions], ["tnt_2", 0]);
  assertEquals([task.error !== undefined, task.settled !== undefined], [
    false,
    false,
  ]);
});
