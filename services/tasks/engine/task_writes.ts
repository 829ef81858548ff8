/**
 * Builds the writes of tasks: a change with its history, the tasks that it
 * creates, and removals.
 *
 * A schedule creates a task for each of its slots. The end of a task makes a
 * signed callback, which is a task of the service's own worker, written in the
 * same commit as the end; so it has retries, a lease and a history like any
 * other task. It is kept until its outcome is in the history of the task that
 * ended; see `callback_reports.ts`.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { chain, type FoldDraft, type HistoryDraft } from "../domain/history.ts";
import { newTask } from "../domain/new_task.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import { NO_RETRY_POLICY } from "../domain/retry_schema.ts";
import {
  BLANK_DEFINITION,
  pickDefinition,
  type Task,
  type TaskDefinition,
} from "../domain/task.ts";
import type { TaskRules } from "../domain/task_event.ts";
import { sha256 } from "../store/digest.ts";
import type { Write } from "../store/store.ts";
import { callbackWorker, internalTenant } from "./workers.ts";

/** A write and the task after it. */
interface SealedWrite {
  /** The task, with the new end of its history. */
  readonly task: Task;
  /** The write for the store. */
  readonly write: Write;
}

/** Options of {@linkcode sealTask}. */
interface SealOptions {
  /** The records to add. */
  readonly drafts: readonly HistoryDraft[];
  /** The version that the stored task must have; 0 for a new task. */
  readonly expectedVersion: number;
  /**
   * The record that folds a long history; it is added before the others.
   *
   * @default nothing is folded
   */
  readonly fold?: FoldDraft | undefined;
}

/** Chains the new records to a task's history and builds the write. */
export function sealTask(
  next: Task,
  { drafts, expectedVersion, fold }: SealOptions,
): SealedWrite {
  const history = chain(
    fold === undefined ? drafts : [fold, ...drafts],
    { count: next.historyCount, hash: next.historyHash },
    sha256,
  );
  const last = history.at(-1);
  const task = last === undefined ? next : {
    ...next,
    historyCount: last.seq,
    historyHash: last.hash,
    historyFolded: fold?.folded ?? next.historyFolded,
  };
  const { tenantId, id } = task;
  return {
    task,
    write: {
      kind: "task",
      tenantId,
      id,
      expectedVersion,
      next: task,
      history,
      foldThrough: fold?.folded.count,
    },
  };
}

/** The write that removes a task with its history. */
export function buildRemoval(task: Task): Write {
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

/** The engine's parts that build writes. */
export interface WriteParts {
  /** The time. */
  readonly clock: Clock;
  /** Creates ids: the prefix, `_` and 26 characters that sort by time. */
  readonly newId: (prefix: string) => string;
}

/** Options of {@linkcode sealChange}. */
interface ChangeOptions {
  /** The task after the change, still with the old end of its history. */
  readonly next: Task;
  /** The records to add. */
  readonly drafts: readonly HistoryDraft[];
  /** The record that folds a long history, if the plan limits it. */
  readonly fold?: FoldDraft | undefined;
  /** The dates of the tasks that the task's schedule creates. */
  readonly slotsMs: readonly number[];
  /**
   * How many milliseconds after its date each of these may still start.
   *
   * @default {at any time}
   */
  readonly startWithinMs?: number | undefined;
  /** The rules of the task, which also hold for the tasks it creates. */
  readonly rules: TaskRules;
  /** The engine's parts. */
  readonly parts: WriteParts;
}

/** A change of a task that is ready to be written. */
export interface SealedChange {
  /** The task after the change. */
  readonly task: Task;
  /** The writes for the store; the write of the task itself comes first. */
  readonly writes: readonly Write[];
  /** The tasks that are created with it. */
  readonly made: readonly Task[];
}

/**
 * Builds the writes of a change together with the tasks that it creates.
 *
 * @param previous the task before the change; undefined when it is new
 */
export function sealChange(
  previous: Task | undefined,
  change: ChangeOptions,
): SealedChange {
  const { next, drafts, fold, parts } = change;
  const { task, write } = sealTask(next, {
    drafts,
    expectedVersion: previous?.version ?? 0,
    fold,
  });
  const spawned = spawnedTasks(task, change);
  const calls = callbackTasks(previous, { next: task, parts });
  return {
    task,
    writes: [write, ...spawned.writes, ...calls.writes],
    made: [...spawned.tasks, ...calls.tasks],
  };
}

/** New tasks with their writes. */
interface Spawned {
  /** The tasks. */
  readonly tasks: readonly Task[];
  /** A write for each. */
  readonly writes: readonly Write[];
}

/**
 * Creates the tasks of a schedule's slots. Each is a copy of the schedule's
 * definition without its repetition and its key, which only the schedule has.
 */
function spawnedTasks(
  task: Task,
  { slotsMs, startWithinMs, rules, parts }: Pick<
    ChangeOptions,
    "slotsMs" | "startWithinMs" | "rules" | "parts"
  >,
): Spawned {
  const tasks: Task[] = [];
  const writes: Write[] = [];
  for (const dateMs of slotsMs) {
    const definition = {
      ...pickDefinition(task),
      repeat: undefined,
      key: undefined,
    };
    const { schedule: _schedule, ...plainRules } = rules;
    const made = newTask(definition, {
      tenantId: task.tenantId,
      id: parts.newId("tsk"),
      nowMs: parts.clock.nowMs(),
      dateMs,
      createdBy: task.createdBy,
      isBlocked: false,
      parentId: task.id,
      startWithinMs,
      rules: plainRules,
    });
    const sealed = sealTask(made.task, {
      drafts: made.history,
      expectedVersion: 0,
    });
    tasks.push(sealed.task);
    writes.push(sealed.write);
  }
  return { tasks, writes };
}

/** The data of a callback's task. */
export interface CallbackData {
  /** The URL to call. */
  readonly url: string;
  /** The type of the message, such as `task.completed`. */
  readonly type: string;
  /** The id of the tenant of the task that ended. */
  readonly tenantId: string;
  /** The id of the task that ended. */
  readonly taskId: string;
  /** The id of the worker whose signing secret signs the call. */
  readonly workerId: string;
  /** The number of the run that ended. */
  readonly run: number;
}

/** The message types of callbacks, by the status that causes them. */
const TYPES: Readonly<Record<string, string | undefined>> = {
  complete: "task.completed",
  failed: "task.failed",
  canceled: "task.canceled",
  expired: "task.expired",
};

/**
 * Creates the callback's task if a change ends a task that has a callback. A
 * task that ends as it is created has no previous state.
 */
function callbackTasks(
  previous: Task | undefined,
  { next, parts }: Pick<ChangeOptions, "next" | "parts">,
): Spawned {
  const type = TYPES[next.status];
  if (
    next.callback === undefined || type === undefined ||
    previous?.status === next.status ||
    !next.callback.on.some((status) => status === next.status)
  ) return { tasks: [], writes: [] };
  const data: CallbackData = {
    url: next.callback.url,
    type,
    tenantId: next.tenantId,
    taskId: next.id,
    workerId: next.workerId,
    run: next.run,
  };
  const { task, write } = internalTask({
    workerId: callbackWorker(data.tenantId).id,
    job: "callback",
    dataJson: JSON.stringify(data),
  }, { tenantId: internalTenant(next.tenantId), parentId: next.id, parts });
  return { tasks: [task], writes: [write] };
}

/**
 * Creates a task of one of the service's own workers, which is due at once, or
 * when those that it depends on have ended.
 */
export function internalTask(
  definition: Partial<TaskDefinition>,
  { tenantId, parentId, parts }: {
    /** The internal tenant of the worker. */
    readonly tenantId: string;
    /**
     * The task that it belongs to.
     *
     * @default {none}
     */
    readonly parentId?: string;
    readonly parts: WriteParts;
  },
): SealedWrite {
  const { task, history } = newTask({ ...BLANK_DEFINITION, ...definition }, {
    tenantId,
    id: parts.newId("tsk"),
    nowMs: parts.clock.nowMs(),
    createdBy: SYSTEM_ACTOR,
    isBlocked: (definition.dependencies?.length ?? 0) > 0,
    parentId,
    // The rules of the worker only apply when an attempt fails; creating a task
    // does not use them.
    rules: { retry: NO_RETRY_POLICY, timeoutMs: 30_000, maxLost: 3 },
  });
  return sealTask(task, { drafts: history, expectedVersion: 0 });
}

/** The data of a callback's task. */
export function parseCallbackData(task: Task): CallbackData {
  // Only `callbackTasks()` creates tasks of that worker.
  return JSON.parse(task.dataJson) as CallbackData;
}
