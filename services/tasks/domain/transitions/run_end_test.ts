import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { nextOccurrence } from "../schedule.ts";
import {
  definitionWith,
  NOON_MS,
  repeatWith,
  START,
  TaskStory,
} from "../testing/task_story.ts";

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

const MAX_PREVIEW_BYTES = 1_024;

/** The part of a result that the history keeps. */
function createPreview(resultJson: string): string {
  const story = new TaskStory();
  story.happens(START);
  const { lease } = story;
  const [record] = story.happens({ kind: "complete", lease, resultJson });
  return record?.resultPreview ?? "";
}

Deno.test("complete() tells a result of a KiB whole", () => {
  for (const text of ["1", "a".repeat(1_024), "ü".repeat(512)]) {
    assertEquals(createPreview(text), text);
  }
});

Deno.test("complete() cuts what it tells of a longer result between characters", () => {
  for (const character of ["a", "ü", "€", "😀"]) {
    for (let before = 0; before < 4; before++) {
      const text = "x".repeat(before) + character.repeat(1_025);
      const preview = createPreview(text);
      assert(text.startsWith(preview));
      assert(bytes(preview) <= MAX_PREVIEW_BYTES);
      assert(bytes(preview) > MAX_PREVIEW_BYTES - bytes(character));
      assert(preview.isWellFormed());
    }
  }
});

const HOUR_MS = 3_600_000;

Deno.test("complete() ends a task that runs once", () => {
  const story = new TaskStory({ retentionMs: 5_000 });
  story.fails();
  story.starts();
  story.nowMs += 700;
  const records = story.happens({
    kind: "complete",
    lease: story.lease,
    resultJson: `{"ok":true}`,
    isResultTruncated: false,
    http: { status: 200, durationMs: 690 },
  });
  const { task } = story;
  assertEquals(records.map(({ type }) => type), ["succeeded", "completed"]);
  assertEquals(records[0]?.resultPreview, `{"ok":true}`);
  assertEquals(records[0]?.http, { status: 200, durationMs: 690 });
  assertEquals(records[0]?.attempt, task.settled?.id);
  assertEquals([task.status, task.isDue], ["complete", false]);
  assertEquals([task.executions, task.retries, task.durationMs], [2, 0, 700]);
  assertEquals([task.lastOutcome, task.resultJson], [
    "succeeded",
    `{"ok":true}`,
  ]);
  assertEquals(task.error !== undefined, false);
  assertEquals([task.finishedAtMs, task.purgeAtMs], [
    story.nowMs,
    story.nowMs + 5_000,
  ]);
});

Deno.test("complete() keeps no duration below nothing when the clock was set back", () => {
  const story = new TaskStory();
  story.happens(START);
  story.nowMs -= HOUR_MS;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.durationMs, 0);
});

Deno.test("complete() runs a task with the limit 4 five times", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 4 }) },
  });
  const seen: unknown[] = [];
  while (story.task.status !== "complete") {
    story.succeeds();
    const { run, repetitions, executions, status } = story.task;
    seen.push([status, run, repetitions, executions]);
  }
  assertEquals(seen, [
    ["done", 1, 0, 1],
    ["done", 2, 1, 2],
    ["done", 3, 2, 3],
    ["done", 4, 3, 4],
    ["complete", 4, 4, 5],
  ]);
  assertEquals(story.nowMs, NOON_MS + 4 * HOUR_MS + 1_000);
});

Deno.test("complete() runs a task with the limit 0 once", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ limit: 0 }) },
  });
  story.succeeds();
  assertEquals(story.task.status, "complete");
});

Deno.test("complete() dates the next run and tells when it is", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.starts();
  story.nowMs += 5_000;
  const records = story.happens({ kind: "complete", lease: story.lease });
  assertEquals(
    records.map(({ type, run, nextDateMs }) => [type, run, nextDateMs]),
    [["succeeded", 0, undefined], ["repeated", 0, NOON_MS + HOUR_MS]],
  );
  assertEquals(story.task.dateMs, NOON_MS + HOUR_MS);
  assertEquals(story.task.slotMs, NOON_MS + HOUR_MS);
  assertEquals(story.task.firstTriedAtMs !== undefined, false);
});

Deno.test("complete() keeps the last run's result and none from before", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.starts();
  story.happens({
    kind: "complete",
    lease: story.lease,
    resultJson: "1",
    isResultTruncated: true,
  });
  assertEquals(story.task.isResultTruncated, true);
  story.succeeds();
  assertEquals(
    [
      story.task.resultJson !== undefined,
      story.task.isResultTruncated !== undefined,
    ],
    [
      false,
      false,
    ],
  );
});

Deno.test("complete() ends a schedule behind its last instant", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ untilMs: NOON_MS + 2 * HOUR_MS }) },
  });
  story.succeeds();
  story.succeeds();
  assertEquals(story.task.status, "done");
  story.succeeds();
  assertEquals(story.task.status, "complete");
});

Deno.test("complete() counts months from the first date", () => {
  const dateMs = Date.UTC(2026, 0, 31, 9);
  const story = new TaskStory({
    definition: { repeat: repeatWith({ interval: "P1M" }) },
    made: { dateMs },
  });
  const dates: string[] = [];
  for (let count = 0; count < 5; count++) {
    dates.push(new Date(story.task.dateMs).toISOString());
    story.succeeds();
  }
  assertEquals(dates, [
    "2026-01-31T09:00:00.000Z",
    "2026-02-28T09:00:00.000Z",
    "2026-03-31T09:00:00.000Z",
    "2026-04-30T09:00:00.000Z",
    "2026-05-31T09:00:00.000Z",
  ]);
});

Deno.test("complete() follows a cron expression on the clock of the task's zone", () => {
  const story = new TaskStory({
    definition: {
      repeat: repeatWith({ cron: "30 2 * * *" }),
      timezone: "Europe/Stockholm",
    },
    made: { nowMs: Date.UTC(2026, 2, 27, 12) },
  });
  const dates: string[] = [];
  for (let count = 0; count < 4; count++) {
    dates.push(new Date(story.task.dateMs).toISOString());
    story.succeeds();
  }
  // On the 29th the clock skips half past two; the run is at the gap's end.
  assertEquals(dates, [
    "2026-03-28T01:30:00.000Z",
    "2026-03-29T01:00:00.000Z",
    "2026-03-30T00:30:00.000Z",
    "2026-03-31T00:30:00.000Z",
  ]);
});

Deno.test("complete() runs once at once for the slots that passed during a long run", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.starts();
  story.nowMs += 3 * HOUR_MS + 60_000;
  const records = story.happens({ kind: "complete", lease: story.lease });
  assertEquals(
    records.map(({ type, amount }) => [type, amount]),
    [
      ["succeeded", undefined],
      ["slipped", 2 * HOUR_MS + 60_000],
      ["missed", 2],
      ["repeated", undefined],
    ],
  );
  const { task } = story;
  assertEquals([task.status, task.isDue, task.missed], ["done", true, 2]);
  assertEquals(task.dateMs, NOON_MS + 3 * HOUR_MS);
  story.happens(START);
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.dateMs, NOON_MS + 4 * HOUR_MS);
});

Deno.test("complete() tells that a schedule slips whose runs take longer than its interval", () => {
  const lates: Record<string, readonly unknown[]> = {};
  for (const catchUp of ["one", "all", "none"] as const) {
    const story = new TaskStory({
      definition: {
        repeat: repeatWith({ interval: "PT1S", catchUp, onTimeMs: 0 }),
      },
    });
    for (let count = 0; count < 3; count++) story.succeeds(2_500);
    const slipped = story.history.filter(({ type }) => type === "slipped");
    lates[catchUp] = slipped.map(({ amount }) => amount);
  }
  assertEquals(lates, {
    one: [1_500, 2_000, 1_500],
    // Here runs begin late, but no slot is missed.
    all: [1_500, 3_000],
    none: [1_500, 1_500, 1_500],
  });
});

Deno.test("complete() runs all slots that passed, one after the other, when it is to", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ catchUp: "all" }) },
  });
  story.starts();
  story.nowMs += 3 * HOUR_MS;
  story.happens({ kind: "complete", lease: story.lease });
  const slots: number[] = [];
  while (story.task.isDue) {
    slots.push((story.task.slotMs - NOON_MS) / HOUR_MS);
    story.happens(START);
    story.happens({ kind: "complete", lease: story.lease });
  }
  assertEquals(slots, [1, 2, 3]);
  assertEquals([story.task.missed, story.task.executions], [0, 4]);
  assertEquals(story.task.dateMs, NOON_MS + 4 * HOUR_MS);
});

Deno.test("complete() passes over slots that are older than the window", () => {
  const story = new TaskStory({
    definition: {
      repeat: repeatWith({ catchUp: "all", catchUpWindowMs: HOUR_MS }),
    },
  });
  story.starts();
  story.nowMs += 3 * HOUR_MS;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals([story.task.missed, story.task.slotMs], [
    1,
    NOON_MS + 2 * HOUR_MS,
  ]);
});

Deno.test("complete() waits for the next slot when passed ones are not caught up", () => {
  for (const [lateMs, isDue] of [[10_000, true], [10_001, false]] as const) {
    const story = new TaskStory({
      definition: { repeat: repeatWith({ catchUp: "none" }) },
    });
    story.starts();
    story.nowMs += 3 * HOUR_MS + lateMs;
    story.happens({ kind: "complete", lease: story.lease });
    const { task } = story;
    const slot = isDue ? 3 : 4;
    assertEquals([task.isDue, task.missed], [isDue, slot - 1]);
    assertEquals(task.dateMs, NOON_MS + slot * HOUR_MS);
  }
});

Deno.test("complete() doubles no slot when the clock was set back", () => {
  const story = new TaskStory({ definition: { repeat: repeatWith() } });
  story.succeeds();
  story.starts();
  story.nowMs -= HOUR_MS;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.dateMs, NOON_MS + 2 * HOUR_MS);
  assertEquals([story.task.missed, story.task.executions], [0, 2]);
});

Deno.test("complete() runs each slot once while the clock jumps by an hour", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new SeededRandom(seed);
    const story = new TaskStory({
      definition: {
        repeat: repeatWith({ interval: "PT10M", catchUp: "all" }),
      },
    });
    const slots: number[] = [];
    while (slots.length < 40) {
      if (random.chance(0.2)) {
        story.nowMs += random.pick([-HOUR_MS, HOUR_MS]);
      }
      if (story.outcome({ kind: "wake" }).kind === "changed") {
        story.happens({ kind: "wake" });
      }
      if (story.outcome(START).kind !== "changed") {
        story.nowMs += 60_000;
        continue;
      }
      story.happens(START);
      slots.push(story.task.slotMs);
      story.happens({ kind: "complete", lease: story.lease });
    }
    const expected = slots.map((_, index) => NOON_MS + index * 600_000);
    assertEquals(slots, expected, `seed ${seed}`);
  }
});

Deno.test("complete() delays the next run by chance and keeps its slot on the grid", () => {
  const story = new TaskStory({
    definition: { repeat: repeatWith({ jitterMs: 60_000 }) },
    random: () => 0.5,
  });
  assertEquals(story.task.dateMs, NOON_MS);
  for (let count = 1; count <= 3; count++) {
    story.succeeds();
    assertEquals(story.task.slotMs, NOON_MS + count * HOUR_MS);
    assertEquals(story.task.dateMs, story.task.slotMs + 30_000);
  }
});

Deno.test("complete() agrees with the schedule about every slot, whatever happens in a run", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new SeededRandom(seed);
    const limit = random.below(6);
    const definition = definitionWith({
      repeat: repeatWith({
        ...random.pick([{ interval: "P1M" }, { cron: "15 */6 * * *" }]),
        limit,
        onFailure: "continue",
        jitterMs: random.pick([0, 60_000]),
      }),
      timezone: "America/New_York",
    });
    const story = new TaskStory({ definition, random: () => random.next() });
    const { schedule } = story.rules(definition);
    assert(schedule !== undefined);
    const grid = { anchorMs: NOON_MS, timezone: definition.timezone };
    let afterMs = NOON_MS - 1;
    for (let runs = 0; runs <= limit; runs++) {
      const slotMs = nextOccurrence(schedule, { ...grid, afterMs, runs });
      assertEquals(story.task.slotMs, slotMs, `seed ${seed}`);
      afterMs = story.task.slotMs;
      const { run } = story.task;
      while (story.task.run === run && story.task.finishedAtMs === undefined) {
        if (random.chance(0.4)) story.succeeds();
        else if (random.chance(0.7)) story.fails();
        else {
          story.starts();
          story.happens({ kind: "lose", lease: story.lease, reason: "gone" });
        }
      }
    }
    assert(["complete", "failed"].includes(story.task.status), `seed ${seed}`);
    assertEquals([story.task.run, story.task.repetitions], [limit, limit]);
  }
});
