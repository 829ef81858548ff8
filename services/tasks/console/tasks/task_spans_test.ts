import { assertEquals } from "@std/assert";
import { type ShownAttempt, spansOf } from "./task_spans.ts";

const START_MS = Date.parse("2027-01-15T08:00:00.000Z");

function at(seconds: number): string {
  return new Date(START_MS + seconds * 1_000).toISOString();
}

function attempt(
  startSeconds: number,
  endSeconds: number | null,
  outcome: string,
): ShownAttempt {
  return {
    id: `lse_${startSeconds}`,
    run: 0,
    outcome,
    started_at: at(startSeconds),
    ended_at: endSeconds === null ? null : at(endSeconds),
    instance: null,
    error: null,
  };
}

/** The spans as name, beginning and end in seconds, and whether they go on. */
function spans(
  task: Partial<Parameters<typeof spansOf>[0]>,
  attempts: readonly ShownAttempt[],
): readonly unknown[] {
  const whole = {
    created_at: at(0),
    date: at(0),
    status: "waiting",
    executions: attempts.length,
    finished_at: null,
    ...task,
  } as const;
  return spansOf(whole, { attempts, nowMs: START_MS + 100_000 }).map((span) => [
    span.name,
    (span.startMs - START_MS) / 1_000,
    (span.endMs - START_MS) / 1_000,
    span.isOpen ?? false,
  ]);
}

Deno.test("spansOf() has attempts and the waits between them, up to the end", () => {
  assertEquals(
    spans({ status: "complete", finished_at: at(50) }, [
      attempt(40, 50, "succeeded"),
      attempt(10, 20, "failed"),
    ]),
    [
      ["Waits to begin", 0, 10, false],
      ["Attempt 1 · failed", 10, 20, false],
      ["Waits for its next try", 20, 40, false],
      ["Attempt 2 · succeeded", 40, 50, false],
    ],
  );
});

Deno.test("spansOf() goes on to the present for what is not over", () => {
  assertEquals(spans({}, []), [["Waits to begin", 0, 100, true]]);
  assertEquals(spans({}, [attempt(10, null, "running")]), [
    ["Waits to begin", 0, 10, false],
    ["Attempt 1 · running", 10, 100, true],
  ]);
  assertEquals(
    spans({ status: "done" }, [attempt(0, 60, "succeeded")]),
    [
      ["Attempt 1 · succeeded", 0, 60, false],
      ["Waits for its next run", 60, 100, true],
    ],
  );
});

Deno.test("spansOf() begins with the first attempt that is shown of many", () => {
  assertEquals(
    spans({ executions: 30, finished_at: at(70), status: "failed" }, [
      attempt(50, 55, "failed"),
      attempt(60, 70, "failed"),
    ]),
    [
      ["Attempt 29 · failed", 50, 55, false],
      ["Waits for its next try", 55, 60, false],
      ["Attempt 30 · failed", 60, 70, false],
    ],
  );
});
