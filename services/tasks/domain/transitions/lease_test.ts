import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { HistoryDraft } from "../history.ts";
import { NOON_MS, START, TaskStory } from "../testing/task_story.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/**
 * The least time between two progress records, and its share of the time
 * before.
 */
const MIN_PROGRESS_SPACING_MS = 1_000;
const PROGRESS_SPACING_SHARE = 0.1;

/** A running task whose timeout is too long to matter. */
function runningFor(): TaskStory {
  const story = new TaskStory({ definition: { timeoutMs: 100 * DAY_MS } });
  story.happens({ ...START, leaseMs: HOUR_MS });
  return story;
}

/** Sends a heartbeat; returns the progress that the history got from it. */
function beat(story: TaskStory, progressJson?: string): readonly string[] {
  const outcome = story.outcome({
    kind: "heartbeat",
    lease: story.lease,
    ...(progressJson === undefined ? {} : { progressJson }),
  });
  if (outcome.kind !== "changed") return [];
  story.take(outcome);
  return outcome.history.map(({ progressJson = "" }) => progressJson);
}

function listRecords({ history }: TaskStory): readonly HistoryDraft[] {
  return history.filter(({ type }) => type === "progress");
}

Deno.test("progressNews() tells what changed and came late enough, as the table says", () => {
  /**
   * Milliseconds after the start, the progress reported, and the progress
   * recorded.
   */
  const table: readonly (readonly [number, string | undefined, string?])[] = [
    [0, "0", "0"],
    [10, "0"],
    [500, "1"],
    [999, "2"],
    [1_000, undefined, "2"],
    [1_500, "3"],
    [2_000, "3", "3"],
    [3_000, "3"],
    [20_000, "4", "4"],
    [21_500, "5"],
    [21_900, "6"],
    [22_000, "7", "7"],
    [3_600_000, undefined],
    [3_600_001, "8", "8"],
    [3_900_000, "9"],
    [3_960_002, "9", "9"],
  ];
  const story = runningFor();
  const startMs = story.nowMs;
  let last: string | undefined;
  for (const [atMs, said, told] of table) {
    story.nowMs = startMs + atMs;
    assertEquals(
      beat(story, said),
      told === undefined ? [] : [told],
      `${atMs}`,
    );
    last = said ?? last;
    assertEquals(story.task.attempt?.progressJson, last);
  }
});

Deno.test("progressNews() bounds the records of a worker that reports each second for days", () => {
  const story = runningFor();
  const counts: number[] = [];
  for (let second = 1; second <= 3 * 86_400; second++) {
    story.nowMs += 1_000;
    beat(story, `${second}`);
    if (second % 86_400 === 0) counts.push(listRecords(story).length);
  }
  assertEquals(counts, [101, 108, 112]);
  assertEquals(story.task.attempt?.progressJson, `${3 * 86_400}`);
});

Deno.test("progressNews() has the history neither full nor far behind, whatever is said when", () => {
  for (let seed = 0; seed < 60; seed++) {
    const random = new SeededRandom(seed);
    const story = runningFor();
    const startMs = story.nowMs;
    let longestMs = 0;
    for (let count = 0; count < 300; count++) {
      const stepMs = random.below(random.pick([50, 3_000, 900_000]));
      longestMs = Math.max(longestMs, stepMs);
      story.nowMs += stepMs;
      beat(story, random.chance(0.2) ? undefined : `${random.below(5)}`);
      const records = listRecords(story);
      const { attempt } = story.task;
      const last = records.at(-1);
      if (attempt?.progressJson === undefined || last === undefined) continue;
      if (last.progressJson === attempt.progressJson) continue;
      const lastMs = last.atMs - startMs;
      const dueMs = lastMs +
        Math.max(MIN_PROGRESS_SPACING_MS, lastMs * PROGRESS_SPACING_SHARE);
      assert(story.nowMs - startMs < dueMs, `seed ${seed}: behind`);
    }
    const lengthMs = Math.max(story.nowMs - startMs, 10_000);
    const most = 12 +
      Math.log(lengthMs / 10_000) / Math.log(1 + PROGRESS_SPACING_SHARE);
    assert(listRecords(story).length <= most, `seed ${seed}: full`);
  }
});

Deno.test("progressNews() begins anew with each attempt", () => {
  const story = runningFor();
  story.nowMs += HOUR_MS;
  assertEquals(beat(story, "1"), ["1"]);
  story.happens({ kind: "lose", lease: story.lease, reason: "gone" });
  story.happens({ ...START, leaseMs: HOUR_MS });
  assertEquals(beat(story, "1"), ["1"]);
});

Deno.test("progressNews() does not fall silent when the clock is set", () => {
  for (const byMs of [-HOUR_MS, HOUR_MS]) {
    const story = runningFor();
    story.nowMs += 60_000;
    assertEquals(beat(story, "1"), ["1"]);
    const lastReadMs = story.nowMs;
    story.nowMs += byMs;
    // The heartbeat comes before the attempt's times are moved.
    beat(story, "2");
    story.happens({
      kind: "follow_clock",
      steps: [{ byMs, lastReadMs, noticedAtMs: story.nowMs }],
    });
    story.nowMs += 10_000;
    assertEquals(beat(story, "3"), ["3"]);
  }
});

Deno.test("progressNews() goes on with an attempt of which no record was noted", () => {
  const story = runningFor();
  const { attempt } = story.task;
  assert(attempt !== undefined);
  story.task = { ...story.task, attempt: { ...attempt, progressJson: "1" } };
  assertEquals(beat(story, "1"), []);
  assertEquals(beat(story, "2"), ["2"]);
});

function running(bootId?: string): TaskStory {
  const story = new TaskStory();
  story.happens(bootId === undefined ? START : { ...START, bootId });
  return story;
}

Deno.test("heartbeat() extends by the lease's own time or by what is asked for", () => {
  const story = running();
  const { lease } = story;
  story.nowMs += 10_000;
  assertEquals(story.happens({ kind: "heartbeat", lease }), []);
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 30_000);
  story.happens({ kind: "heartbeat", lease, extendMs: 12_000 });
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 12_000);
});

Deno.test("heartbeat() extends never beyond the deadline", () => {
  const story = running();
  const { lease } = story;
  story.happens({ kind: "heartbeat", lease, extendMs: 3_600_000 });
  assertEquals(story.task.attempt?.expiresAtMs, NOON_MS + 60_000);
  story.nowMs += 50_000;
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "unchanged");
});

Deno.test("heartbeat() keeps progress in the history", () => {
  const story = running();
  const [record] = story.happens({
    kind: "heartbeat",
    lease: story.lease,
    progressJson: `{"percent":50}`,
  });
  assertEquals(record?.type, "progress");
  assertEquals(record?.progressJson, `{"percent":50}`);
  assertEquals(story.task.attempt?.progressJson, `{"percent":50}`);
});

Deno.test("heartbeat() leaves the lease of the service's own call", () => {
  const story = running("boot");
  const { lease } = story;
  const expiresAtMs = story.task.attempt?.expiresAtMs;
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "unchanged");
  story.happens({ kind: "heartbeat", lease, progressJson: "1" });
  assertEquals(story.task.attempt?.expiresAtMs, expiresAtMs);
});

Deno.test("heartbeat() and complete() still count when the lease is over and nobody has looked", () => {
  const story = running();
  story.nowMs += 45_000;
  story.happens({ kind: "heartbeat", lease: story.lease, extendMs: 5_000 });
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 5_000);
  story.nowMs += 30_000;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.status, "complete");
});

Deno.test("accept() hands the lease to the worker", () => {
  const story = running("boot");
  story.nowMs += 2_000;
  const [record] = story.happens({
    kind: "accept",
    lease: { id: story.lease.id },
    leaseMs: 20_000,
    http: { status: 202, durationMs: 12 },
  });
  assertEquals(record?.type, "accepted");
  assertEquals(record?.http, { status: 202, durationMs: 12 });
  const { attempt } = story.task;
  assertEquals("bootId" in (attempt ?? {}), false);
  assertEquals(attempt?.expiresAtMs, story.nowMs + 20_000);
  assertEquals(attempt?.deadlineMs, NOON_MS + 60_000);
  story.happens({ kind: "heartbeat", lease: story.lease, progressJson: "1" });
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 20_000);
});

Deno.test("accept() gives no more than the attempt's time, and tells when the lease ends", () => {
  for (
    const [leaseMs, end] of [
      [20_000, "12:00:22.000Z"],
      [
        600_000,
        "12:01:00.000Z, when the attempt times out: sooner than requested",
      ],
    ] as const
  ) {
    const story = running("boot");
    story.nowMs += 2_000;
    const lease = { id: story.lease.id };
    const [record] = story.happens({ kind: "accept", lease, leaseMs });
    const [date] = new Date(NOON_MS).toISOString().split("T");
    assertEquals(record?.message, `the lease ends at ${date}T${end}`);
  }
});

Deno.test("log() keeps the lines in one record, and none when there are none", () => {
  const story = running();
  const { lease } = story;
  const [record] = story.happens({ kind: "log", lease, lines: ["a", "b"] });
  assertEquals([record?.type, record?.message], ["log", "a\nb"]);
  assertEquals(
    story.outcome({ kind: "log", lease, lines: [] }).kind,
    "unchanged",
  );
});

Deno.test("release() spends nothing", () => {
  const story = running();
  const [record] = story.happens({
    kind: "release",
    lease: story.lease,
    reason: "shutting down",
  });
  const { task } = story;
  assertEquals([record?.type, record?.message], ["released", "shutting down"]);
  assertEquals([task.status, task.isDue, task.dateMs], [
    "waiting",
    true,
    NOON_MS,
  ]);
  assertEquals([task.executions, task.retries, task.lost], [0, 0, 0]);
  assertEquals(
    [task.attempt !== undefined, task.firstTriedAtMs !== undefined],
    [false, false],
  );
  assertEquals(task.settled?.outcome, "released");
});

Deno.test("release() with a delay schedules the task and keeps its slot", () => {
  const story = running();
  story.nowMs += 1_000;
  story.happens({ kind: "release", lease: story.lease, delayMs: 60_000 });
  const { task } = story;
  assertEquals([task.status, task.isDue], ["scheduled", false]);
  assertEquals([task.dateMs, task.slotMs], [NOON_MS + 61_000, NOON_MS]);
});

Deno.test("release() keeps when the run was tried first, if that was another attempt", () => {
  const story = new TaskStory();
  story.fails();
  story.starts();
  story.happens({ kind: "release", lease: story.lease });
  assertEquals([story.task.firstTriedAtMs, story.task.retries], [NOON_MS, 1]);
});

Deno.test("withLease() refuses another lease and another token", () => {
  const story = running();
  const { id } = story.lease;
  for (
    const lease of [
      { id, tokenHash: "other" },
      { id, tokenHash: "" },
      { id: "lse_other", tokenHash: "hash" },
      { id: "lse_other" },
    ]
  ) {
    const outcome = story.outcome({ kind: "complete", lease });
    assertEquals(outcome, {
      kind: "refused",
      code: "lease_gone",
      reason:
        "Cannot complete with this lease: it is not, or no longer, the task's lease",
    });
  }
});

Deno.test("withLease() lets no token open a lease that only the service holds", () => {
  const story = new TaskStory();
  story.happens({ ...START, tokenHash: "", bootId: "boot" });
  const { id } = story.lease;
  const lease = { id, tokenHash: "" };
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "refused");
  story.happens({ kind: "complete", lease: { id } });
  assertEquals(story.task.status, "complete");
});

Deno.test("withLease() takes the same outcome twice and refuses another", () => {
  const story = running();
  const { lease } = story;
  story.happens({ kind: "complete", lease });
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "unchanged");
  const failure = { code: "x" };
  assertEquals(
    story.outcome({ kind: "fail", lease, failure, message: "x" }),
    {
      kind: "refused",
      code: "lease_gone",
      reason:
        `Cannot fail with this lease: its attempt has ended as "completed"`,
    },
  );
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "refused");
  const stranger = { id: lease.id, tokenHash: "other" };
  assertEquals(
    story.outcome({ kind: "complete", lease: stranger }).kind,
    "refused",
  );
});

Deno.test("withLease() refuses an attempt that was lost when the next one runs", () => {
  const story = running();
  const { lease } = story;
  story.happens({ kind: "lose", lease, reason: "gone" });
  story.happens(START);
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "refused");
  assertEquals(
    story.outcome({ kind: "complete", lease: story.lease }).kind,
    "changed",
  );
});
