/**
 * Creates tasks, with their first date, first status and first history records.
 *
 * @module
 */

import type { Actor } from "./records.ts";
import type { HistoryDraft, HistoryType } from "./history.ts";
import {
  BLANK_TASK,
  type CallWindow,
  isFinal,
  pickDefinition,
  type Task,
  type TaskDefinition,
} from "./task.ts";
import { type EventContext, patched, type TaskRules } from "./task_event.ts";
import { end, endSchedule, settleAfterPause } from "./transitions/due.ts";
import { firstSlot } from "./transitions/update.ts";
import { findRepetition } from "./rules.ts";
import { dateOfSlot } from "./transitions/repetition.ts";

/** Options of {@linkcode newTask}. */
interface NewTaskOptions {
  /** The tenant it belongs to. */
  readonly tenantId: string;
  /** `tsk_` and 26 characters. */
  readonly id: string;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * The date of the first run; a cron expression counts from here.
   *
   * @default {nowMs}
   */
  readonly dateMs?: number | undefined;
  /** Who makes it. */
  readonly createdBy: Actor;
  /**
   * Whether the task is paused from the beginning.
   *
   * @default {as its date and its dependencies say}
   */
  readonly initialStatus?: "paused" | undefined;
  /** Whether a dependency is not settled. */
  readonly isBlocked: boolean;
  /**
   * The task whose schedule creates this one.
   *
   * @default {none}
   */
  readonly parentId?: string | undefined;
  /**
   * How many milliseconds after its date the task may still start.
   *
   * @default {at any time}
   */
  readonly startWithinMs?: number | undefined;
  /**
   * The window of requests with its key that the first run is for.
   *
   * @default {none}
   */
  readonly calls?: CallWindow | undefined;
  /** The rules of the task, such as its retry policy and schedule. */
  readonly rules: TaskRules;
  /**
   * Returns a random number from 0 to before 1, by which the schedule's jitter
   * delays the first run, too, unless that is at the date asked for.
   *
   * @default {no delay}
   */
  readonly random?: (() => number) | undefined;
}

/** A task and the beginning of its history. */
interface NewTask {
  /** The task. */
  readonly task: Task;
  /** The first records of the task's history. */
  readonly history: readonly HistoryDraft[];
}

/**
 * Creates a task. Its first run is at the date, or at the first slot of its
 * cron expression from there on. A date in the past is due at once; the
 * schedule's catch-up rule decides which of the past slots is run, and no slot
 * counts as missed, since there was no task yet. A task that has expired
 * already, or whose schedule has no slot at all, is `expired` from the
 * beginning.
 *
 * @throws {TypeError} when the task repeats and the rules hold no schedule
 */
export function newTask(
  definition: TaskDefinition,
  options: NewTaskOptions,
): NewTask {
  const { nowMs, createdBy, rules } = options;
  const random = options.random ?? (() => 0);
  const context = { nowMs, actor: createdBy, rules, random };
  const task = placed(dated(blank(definition, options), context), {
    options,
    context,
  });
  const types: readonly HistoryType[] = isFinal(task.status)
    ? ["created", "expired"]
    : ["created"];
  const isPending = task.status !== "expired" && !task.isDue;
  return {
    task,
    history: types.map((type) => ({
      atMs: nowMs,
      type,
      status: task.status,
      run: 0,
      actor: createdBy,
      nextDateMs: isPending ? task.dateMs : undefined,
    })),
  };
}

function blank(definition: TaskDefinition, options: NewTaskOptions): Task {
  const { tenantId, id, nowMs, createdBy, parentId } = options;
  const dateMs = options.dateMs ?? nowMs;
  return {
    ...BLANK_TASK,
    ...pickDefinition(definition),
    tenantId,
    id,
    createdBy,
    createdAtMs: nowMs,
    parentId,
    dateMs,
    firstDateMs: dateMs,
    slotMs: dateMs,
    startWithinMs: options.startWithinMs,
    calls: options.calls,
    isDue: false,
    updatedAtMs: nowMs,
  };
}

/**
 * The task with the date of its first run; a final task when there is no slot.
 */
function dated(task: Task, context: EventContext): Task {
  const repetition = findRepetition(task, context.rules);
  if (repetition === undefined) return task;
  const slotMs = firstSlot(task, repetition);
  if (slotMs === undefined) return endSchedule(task, context).task;
  const dateMs = slotMs === task.dateMs
    ? slotMs
    : dateOfSlot(slotMs, repetition.rule, context);
  return patched(task, { slotMs, dateMs });
}

function placed(
  task: Task,
  { options, context }: {
    readonly options: NewTaskOptions;
    readonly context: EventContext;
  },
): Task {
  if (isFinal(task.status)) return task;
  if (context.nowMs >= (task.expiresAtMs ?? Infinity)) {
    return end(task, { status: "expired" }, context).task;
  }
  const live = options.isBlocked
    ? patched(task, { status: "blocked" })
    : settledFirst(task, context);
  if (options.initialStatus !== "paused" || isFinal(live.status)) return live;
  return patched(live, {
    status: "paused",
    pausedFrom: live.status,
    isDue: false,
  });
}

/**
 * The task with its past slots settled by the catch-up rule. A slot from before
 * the task was created is neither missed nor late, so nothing is counted.
 */
function settledFirst(task: Task, context: EventContext): Task {
  return settleAfterPause(task, context, { countsMissed: false }).task;
}
