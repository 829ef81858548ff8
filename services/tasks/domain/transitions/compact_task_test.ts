import { assertEquals } from "@std/assert";
import type { Task } from "../task.ts";
import { NOON_MS, OWNER, repeatWith, TASK_ID } from "../testing/task_story.ts";
import { compactTask } from "./compact_task.ts";

/** A task that has everything; the compiler misses what is added to tasks. */
const FULL: Required<Task> = {
  tenantId: "tnt_1",
  id: TASK_ID,
  version: 2,
  createdBy: OWNER,
  createdAtMs: NOON_MS,
  parentId: "tsk_p",
  workerId: "wrk_1",
  job: "mail",
  dataJson: "{}",
  timezone: "UTC",
  repeat: repeatWith(),
  retry: null,
  timeoutMs: 1,
  expiresAtMs: 2,
  dependencies: ["tsk_d"],
  onDependencyFailure: "run",
  priority: 3,
  group: "g",
  key: "k",
  callback: { url: "https://a.example", on: [] },
  tags: ["t"],
  metadata: { m: "1" },
  status: "paused",
  pausedFrom: "retry",
  dateMs: 4,
  firstDateMs: 5,
  slotMs: 6,
  isRepetition: true,
  held: { slotMs: 28, dateMs: 29 },
  scheduleSinceMs: 30,
  isDue: true,
  run: 7,
  executions: 8,
  retries: 9,
  repetitions: 10,
  lost: 11,
  lostInRow: 12,
  missed: 13,
  lagMs: 14,
  durationMs: 15,
  lastOutcome: "failed",
  resultJson: "1",
  isResultTruncated: false,
  error: { code: "x", message: "x", atMs: 16 },
  attempt: {
    id: "lse_1",
    tokenHash: "hash",
    startedAtMs: 17,
    expiresAtMs: 18,
    deadlineMs: 19,
    leaseMs: 20,
  },
  settled: { id: "lse_0", tokenHash: "hash", outcome: "lost" },
  fence: 21,
  firstTriedAtMs: 22,
  updatedAtMs: 23,
  startedAtMs: 24,
  finishedAtMs: 25,
  purgeAtMs: 26,
  historyCount: 27,
  historyHash: "h",
  historyFolded: { count: 9, hash: "g" },
};

Deno.test("compactTask() keeps every field that has a value", () => {
  assertEquals(compactTask(FULL), FULL);
});

Deno.test("compactTask() drops the keys of fields without a value", () => {
  const { error: _error, attempt: _attempt, ...rest } = FULL;
  const fields = { ...FULL, error: undefined, attempt: undefined };
  assertEquals(
    Object.keys(compactTask(fields)).sort(),
    Object.keys(rest).sort(),
  );
});
