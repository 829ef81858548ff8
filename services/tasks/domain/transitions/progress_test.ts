import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { HistoryDraft } from "../history.ts";
import { START, TaskStory } from "../testing/task_story.ts";
import { MIN_PROGRESS_SPACING_MS, PROGRESS_SPACING_SHARE } from "./progress.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** A task under way that may take as long as it likes. */
function running(): TaskStory {
  const story = new TaskStory({ definition: { timeoutMs: 100 * DAY_MS } });
  story.happens({ ...START, leaseMs: HOUR_MS });
  return story;
}

/** Lets the worker give a sign of life; tells what the history got of it. */
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

function recordsOf({ history }: TaskStory): readonly HistoryDraft[] {
  return history.filter(({ type }) => type === "progress");
}

Deno.test("progressNews() tells what changed and came late enough, as the table says", () => {
  /** When, in milliseconds after the start, what was said, and what was told. */
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
  const story = running();
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
  const story = running();
  const counts: number[] = [];
  for (let second = 1; second <= 3 * 86_400; second++) {
    story.nowMs += 1_000;
    beat(story, `${second}`);
    if (second % 86_400 === 0) counts.push(recordsOf(story).length);
  }
  assertEquals(counts, [101, 108, 112]);
  assertEquals(story.task.attempt?.progressJson, `${3 * 86_400}`);
});

Deno.test("progressNews() has the history neither full nor far behind, whatever is said when", () => {
  for (let seed = 0; seed < 60; seed++) {
    const random = new SeededRandom(seed);
    const story = running();
    const startMs = story.nowMs;
    let longestMs = 0;
    for (let count = 0; count < 300; count++) {
      const stepMs = random.below(random.pick([50, 3_000, 900_000]));
      longestMs = Math.max(longestMs, stepMs);
      story.nowMs += stepMs;
      beat(story, random.chance(0.2) ? undefined : `${random.below(5)}`);
      const records = recordsOf(story);
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
    assert(recordsOf(story).length <= most, `seed ${seed}: full`);
  }
});

Deno.test("progressNews() begins anew with each attempt", () => {
  const story = running();
  story.nowMs += HOUR_MS;
  assertEquals(beat(story, "1"), ["1"]);
  story.happens({ kind: "lose", lease: story.lease, reason: "gone" });
  story.happens({ ...START, leaseMs: HOUR_MS });
  assertEquals(beat(story, "1"), ["1"]);
});

Deno.test("progressNews() does not fall silent when the clock is set", () => {
  for (const byMs of [-HOUR_MS, HOUR_MS]) {
    const story = running();
    story.nowMs += 60_000;
    assertEquals(beat(story, "1"), ["1"]);
    const lastReadMs = story.nowMs;
    story.nowMs += byMs;
    // Before the attempt has followed.
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
  const story = running();
  const { attempt } = story.task;
  assert(attempt !== undefined);
  story.task = { ...story.task, attempt: { ...attempt, progressJson: "1" } };
  assertEquals(beat(story, "1"), []);
  assertEquals(beat(story, "2"), ["2"]);
});
