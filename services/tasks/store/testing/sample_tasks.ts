/**
 * Sample tasks and their writes, for tests of stores.
 *
 * @module
 */

import { BLANK_TASK, type Task } from "../../domain/task.ts";
import { createHash } from "node:crypto";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import {
  chain,
  type HistoryDraft,
  type HistoryRecord,
} from "../../domain/history.ts";
import type { Transaction, Write } from "../store.ts";
import { TaskIds } from "../task_id.ts";

/** The time around which the sample tasks have their dates. */
export const SAMPLE_MS = Date.UTC(2026, 5, 15, 12);

/** Creates ids in rising order; the same seed gives the same ids. */
export function sampleIds(seed = 1): TaskIds {
  const random = new SeededRandom(seed);
  return new TaskIds(
    new FakeClock(SAMPLE_MS + seed * 60_000),
    (length) => random.bytes(length),
  );
}

/** A new task that waits and may be taken, with the fields of `over`. */
export function sampleTask(
  over: Partial<Task> & { readonly id: string },
): Task {
  return {
    ...BLANK_TASK,
    tenantId: "tnt_a",
    createdBy: { type: "key", id: "key_1" },
    createdAtMs: SAMPLE_MS,
    workerId: "wrk_a",
    dataJson: '{"to":"someone"}',
    status: "waiting",
    dateMs: SAMPLE_MS,
    firstDateMs: SAMPLE_MS,
    slotMs: SAMPLE_MS,
    updatedAtMs: SAMPLE_MS,
    ...over,
  };
}

/** How a sample task repeats. */
export const HOURLY = {
  interval: "PT1H",
  catchUp: "one",
  catchUpWindowMs: 0,
  jitterMs: 0,
  mode: "same",
  onFailure: "stop",
} as const satisfies Task["repeat"];

/** The write of a task. */
export type TaskWrite = Extract<Write, { kind: "task" }>;

/** The write that creates a task. */
export function creation(task: Task): TaskWrite {
  const { tenantId, id } = task;
  return {
    kind: "task",
    tenantId,
    id,
    expectedVersion: 0,
    next: task,
    history: [],
  };
}

/** A task after a change, with the next version. */
export function changed(task: Task, patch: Partial<Task>): Task {
  return { ...task, ...patch, version: task.version + 1 };
}

/** The write that replaces a task's previous version. */
export function change(next: Task): TaskWrite {
  return { ...creation(next), expectedVersion: next.version - 1 };
}

/** The write that removes a task. */
export function removal(task: Task): TaskWrite {
  const { tenantId, id, version } = task;
  return {
    kind: "task",
    tenantId,
    id,
    expectedVersion: version,
    next: undefined,
    history: [],
  };
}

/** Puts each write in a transaction of its own. */
export function toTransactions(
  ...writes: readonly Write[]
): readonly Transaction[] {
  return writes.map((write) => ({ writes: [write] }));
}

/** A running attempt. */
export function sampleAttempt(task: Task): NonNullable<Task["attempt"]> {
  return {
    id: `lse_${task.id.slice(4)}_1`,
    tokenHash: "hash of the token",
    startedAtMs: SAMPLE_MS,
    expiresAtMs: SAMPLE_MS + 30_000,
    deadlineMs: SAMPLE_MS + 60_000,
    leaseMs: 30_000,
  };
}

/** The result of {@linkcode withHistory}. */
export interface WithHistory {
  /** The task, with the new end of its history. */
  readonly task: Task;
  /** The records to add. */
  readonly history: readonly HistoryRecord[];
}

/** Adds records to the end of a task's history. */
export function withHistory(
  task: Task,
  drafts: readonly Partial<HistoryDraft>[],
): WithHistory {
  const history = chain(
    drafts.map((draft) => ({
      atMs: SAMPLE_MS,
      type: "log",
      status: task.status,
      run: 0,
      actor: { type: "system", id: "system" },
      ...draft,
    })),
    { count: task.historyCount, hash: task.historyHash },
    (text) => createHash("sha256").update(text).digest("base64url"),
  );
  const last = history.at(-1);
  return last === undefined ? { task, history } : {
    task: { ...task, historyCount: last.seq, historyHash: last.hash },
    history,
  };
}
