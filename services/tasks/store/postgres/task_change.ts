/**
 * Prepares the write of a task for the database: everything but the numbers of
 * its tenant and its worker.
 *
 * @module
 */

import type { HistoryRecord } from "../../domain/history.ts";
import { computeStoredPlacement, listLinks } from "../../domain/placement.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import type { Write } from "../store.ts";
import { demandSame } from "../tenant_batches.ts";
import { encodeDefinition, encodeState, statusCode } from "../task_body.ts";
import { isSameDefinition, type KnownTasks } from "./known_tasks.ts";

/** The write of a task. */
export type TaskWrite = Extract<Write, { readonly kind: "task" }>;

/** A task that is inserted or changed. */
export interface TaskChange {
  /**
   * `create` inserts the task, `update` changes one that keeps its worker, its
   * job, its key and, if it has ended, its end; `move` changes any.
   */
  readonly kind: "create" | "update" | "move";
  /** The task afterwards. */
  readonly next: Task;
  /** The tenant. */
  readonly tenantId: string;
  /** The worker. */
  readonly workerId: string;
  /** The task's id. */
  readonly id: string;
  /** The version that is changed. */
  readonly expectedVersion: number;
  /** The version afterwards. */
  readonly version: number;
  /** The number of the status. */
  readonly status: number;
  /** Whether the task has ended. */
  readonly isFinal: boolean;
  /** The task's links; undefined where it neither has nor had any. */
  readonly links: readonly string[] | undefined;
  /** The group. */
  readonly group: string;
  /** The job. */
  readonly job: string;
  /** The key. */
  readonly key: string | undefined;
  /** The date. */
  readonly dateMs: number;
  /** When it ended. */
  readonly finishedAtMs: number | undefined;
  /** The rank while it may be taken. */
  readonly rank: number | undefined;
  /** When to wake it. */
  readonly wakeAtMs: number | undefined;
  /** When it last failed, if it repeats and its last run has failed. */
  readonly failingSinceMs: number | undefined;
  /** The number of what it waits for. */
  readonly awaits: number | undefined;
  /** The code of its last error. */
  readonly errorCode: string | undefined;
  /** The JSON text of what changes as it runs. */
  readonly state: string;
  /** Its result; `KEPT` for the one that the database has. */
  readonly result: string | undefined;
  /** What its owner decided; undefined for what the database has. */
  readonly defined: TaskDefined | undefined;
  /** The records to add to its history. */
  readonly history: readonly HistoryRecord[];
  /** The number of the last record of its history to drop. */
  readonly foldThrough: number | undefined;
}

/** The cold part of a task. */
export interface TaskDefined {
  /** When it was made. */
  readonly createdAtMs: number;
  /** The JSON text. */
  readonly definition: string;
  /** Its tags and metadata for searching. */
  readonly labels: string | undefined;
  /** Its payload. */
  readonly data: string;
}

/** A task that is removed. */
export interface TaskRemoval {
  /** Distinguishes the removal from a change. */
  readonly kind: "remove";
  /** The tenant. */
  readonly tenantId: string;
  /** The task's id. */
  readonly id: string;
  /** The version that is removed; 0 demands that there is no such task. */
  readonly expectedVersion: number;
}

/** Stands for a result that the database has. No JSON text is equal to it. */
export const KEPT = "\x1c";

/**
 * Prepares a write.
 *
 * @throws {TypeError} when an instant is not in whole milliseconds, or the task
 * is not the one that the write names
 */
export function prepareTask(
  write: TaskWrite,
  known: KnownTasks,
): TaskChange | TaskRemoval {
  const { tenantId, id, expectedVersion, next, history, foldThrough } = write;
  if (next === undefined) {
    return { kind: "remove", tenantId, id, expectedVersion };
  }
  demandSame(write, next);
  const { rank, wakeAtMs, failingSinceMs, awaits } = computeStoredPlacement(
    next,
  );
  const before = expectedVersion === 0
    ? undefined
    : known.before(next, expectedVersion);
  const isKept = before !== undefined && isSameDefinition(before, next);
  return {
    kind: expectedVersion === 0
      ? "create"
      : before !== undefined && isMove(before, next)
      ? "move"
      : "update",
    next,
    tenantId,
    workerId: next.workerId,
    id,
    expectedVersion,
    version: next.version,
    status: statusCode(next.status),
    isFinal: isFinal(next.status),
    links: mayHaveLinks(next) || before !== undefined && mayHaveLinks(before)
      ? listLinks(next)
      : undefined,
    group: next.group,
    job: next.job,
    key: next.key,
    dateMs: next.dateMs,
    finishedAtMs: next.finishedAtMs,
    rank,
    wakeAtMs,
    failingSinceMs,
    awaits,
    errorCode: next.error?.code,
    state: encodeState(next),
    result: before !== undefined && before.resultJson === next.resultJson &&
        next.resultJson !== undefined
      ? KEPT
      : next.resultJson,
    defined: isKept ? undefined : {
      createdAtMs: next.createdAtMs,
      definition: encodeDefinition(next),
      labels: encodeLabels(next),
      data: next.dataJson,
    },
    history,
    foldThrough,
  };
}

/** How many characters a prepared write takes in memory, approximately. */
export function countChars(change: TaskChange | TaskRemoval): number {
  if (change.kind === "remove") return 100;
  const { state, result, defined, history } = change;
  let chars = 400 + state.length + (result?.length ?? 0);
  if (defined !== undefined) {
    chars += defined.definition.length + defined.data.length;
  }
  for (const { text } of history) chars += text.length + 100;
  return chars;
}

/** The text by which a tag is searched for in a task's labels. */
export function tagLabel(tag: string): string {
  return `\x1f${JSON.stringify(tag)}\x1f`;
}

/** The text by which a value of the metadata is searched for. */
export function metadataLabel(name: string, value: string): string {
  return `\x1f${JSON.stringify(name)}:${JSON.stringify(value)}\x1f`;
}

/**
 * Labels side by side, between characters that are in no JSON text. A value
 * cannot be taken for a tag, as only it has a colon outside of quotes.
 */
function encodeLabels({ tags, metadata }: Task): string | undefined {
  let labels = "";
  for (const tag of tags) labels += tagLabel(tag);
  for (const name in metadata) {
    labels += metadataLabel(name, metadata[name] ?? "");
  }
  return labels === "" ? undefined : labels;
}

function mayHaveLinks({ dependencies, repeat }: Task): boolean {
  return dependencies.length > 0 || (repeat?.calendars?.length ?? 0) > 0;
}

/** Whether a change may take a key, or moves a task to another worker or job. */
function isMove(before: Task, next: Task): boolean {
  return before.workerId !== next.workerId || before.key !== next.key ||
    before.job !== next.job ||
    isFinal(before.status) && !isFinal(next.status);
}
