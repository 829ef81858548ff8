/**
 * What is written of tasks: a change with its history, the tasks that it makes, and
 * removals.
 *
 * A schedule makes a task for each of its slots. The end of a task makes a signed
 * call, which is a task of the service's own worker, written in the same commit as
 * the end; so it has retries, a lease and a history like any other. It is kept until
 * the history of the task that ended has its outcome; see `callback_reports.ts`.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import {
  bindingOf,
  chain,
  type Digest,
  type FoldDraft,
  type HistoryDraft,
  SALT_CHARS,
} from "../domain/history.ts";
import { newTask } from "../domain/new_task.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import { NO_RETRY_POLICY } from "../domain/retry_schema.ts";
import {
  BLANK_DEFINITION,
  definitionOf,
  type Task,
  type TaskDefinition,
} from "../domain/task.ts";
import type { TaskRules } from "../domain/task_event.ts";
import { rememberingLong, sha256 } from "../store/digest.ts";
import type { Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";
import { callbackWorker, internalTenant } from "./workers.ts";

/** A write and the task as it will be after it. */
interface SealedWrite {
  /** The task with the end of its history. */
  readonly task: Task;
  /** The write for the store. */
  readonly write: Write;
}

/** Options of {@linkcode Sealer.seal}. */
interface SealOptions {
  /** The records to add. */
  readonly drafts: readonly HistoryDraft[];
  /** The version that must be there; 0 for a new task. */
  readonly expectedVersion: number;
  /**
   * The record that makes room in a long history; it comes before the others.
   * @default nothing is dropped
   */
  readonly fold?: FoldDraft | undefined;
}

/** Salts that are made at once: random bytes come cheaper together. */
const SALTS = 256;

/** Makes writes of changed tasks. */
export class Sealer {
  /** Data is the same from change to change, and may be long. */
  readonly #digest: Digest = rememberingLong(sha256);
  #salts = "";

  /** Binds a task to its history, chains the new records and makes the write. */
  seal(
    next: Task,
    { drafts, expectedVersion, fold }: SealOptions,
  ): SealedWrite {
    const all = fold === undefined ? drafts : [fold, ...drafts];
    const history = chain(
      all.length === 0 ? all : this.#bound(all, next),
      { count: next.historyCount, hash: next.historyHash },
      this.#digest,
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

  /** Binds the last record to the task as it is after all of them. */
  #bound(drafts: readonly HistoryDraft[], task: Task): readonly HistoryDraft[] {
    const binding = bindingOf(task, {
      salt: this.#salt(),
      digest: this.#digest,
    });
    const last = drafts.length - 1;
    return drafts.map((draft, index) =>
      index === last ? { ...draft, task: binding } : draft
    );
  }

  #salt(): string {
    if (this.#salts === "") {
      this.#salts = randomBytes(SALTS * SALT_CHARS * 3 / 4)
        .toString("base64url");
    }
    const salt = this.#salts.slice(0, SALT_CHARS);
    this.#salts = this.#salts.slice(SALT_CHARS);
    return salt;
  }
}

/** The write that removes a task with its history. */
export function removalOf(task: Task): Write {
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

/** Options of {@linkcode sealChange}. */
interface ChangeOptions {
  /** The task as it will be, but for the end of its history. */
  readonly next: Task;
  /** The records to add. */
  readonly drafts: readonly HistoryDraft[];
  /** The record that makes room in a long history, if the plan asks for one. */
  readonly fold?: FoldDraft | undefined;
  /** The dates of the tasks that its schedule makes. */
  readonly slotsMs: readonly number[];
  /** The rules of the task, which hold for those too. */
  readonly rules: TaskRules;
  /** The engine's parts. */
  readonly parts: Pick<EngineParts, "clock" | "newId" | "sealer">;
}

/** A change of a task that is ready to be written. */
export interface SealedChange {
  /** The task as it will be. */
  readonly task: Task;
  /** What the store is to do; the write of the task itself comes first. */
  readonly writes: readonly Write[];
  /** Tasks that are created with it. */
  readonly made: readonly Task[];
}

/**
 * Seals a change of a task together with the tasks that it makes.
 *
 * @param previous The task before it; undefined when it is new.
 */
export function sealChange(
  previous: Task | undefined,
  { next, drafts, fold, slotsMs, rules, parts }: ChangeOptions,
): SealedChange {
  const { task, write } = parts.sealer.seal(next, {
    drafts,
    expectedVersion: previous?.version ?? 0,
    fold,
  });
  const spawned = spawnedTasks(task, { slotsMs, rules, parts });
  const calls = callbackTasks(previous, { next: task, parts });
  return {
    task,
    writes: [write, ...spawned.writes, ...calls.writes],
    made: [...spawned.tasks, ...calls.tasks],
  };
}

/** New tasks and the writes that put them. */
interface Spawned {
  /** The tasks. */
  readonly tasks: readonly Task[];
  /** A write for each. */
  readonly writes: readonly Write[];
}

/**
 * Makes the tasks of a schedule's slots. They have what the schedule has but its
 * repetition and its key, which it keeps itself.
 */
function spawnedTasks(
  task: Task,
  { slotsMs, rules, parts }: Pick<
    ChangeOptions,
    "slotsMs" | "rules" | "parts"
  >,
): Spawned {
  const tasks: Task[] = [];
  const writes: Write[] = [];
  for (const dateMs of slotsMs) {
    const definition = {
      ...definitionOf(task),
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
      rules: plainRules,
    });
    const sealed = parts.sealer.seal(made.task, {
      drafts: made.history,
      expectedVersion: 0,
    });
    tasks.push(sealed.task);
    writes.push(sealed.write);
  }
  return { tasks, writes };
}

/** The data of the task of a call. */
export interface CallbackData {
  /** Where to call. */
  readonly url: string;
  /** The type of the end, such as `task.completed`. */
  readonly type: string;
  /** The tenant of the task that ended. */
  readonly tenantId: string;
  /** The task that ended. */
  readonly taskId: string;
  /** The worker whose signing secret signs the call. */
  readonly workerId: string;
  /** The run that ended. */
  readonly run: number;
}

/** The types of the calls, by the status that causes them. */
const TYPES: Readonly<Record<string, string | undefined>> = {
  complete: "task.completed",
  failed: "task.failed",
  canceled: "task.canceled",
  expired: "task.expired",
};

/**
 * Makes the task of the call, if a task's change calls for one; a task that ends
 * as it is made has no state before.
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
  const { task, history } = newTask(callDefinition(data), {
    tenantId: internalTenant(next.tenantId),
    id: parts.newId("tsk"),
    nowMs: parts.clock.nowMs(),
    createdBy: SYSTEM_ACTOR,
    isBlocked: false,
    parentId: next.id,
    // The worker's rules come into force when it fails; nothing here asks them.
    rules: { retry: NO_RETRY_POLICY, timeoutMs: 30_000, maxLost: 3 },
  });
  const sealed = parts.sealer.seal(task, {
    drafts: history,
    expectedVersion: 0,
  });
  return { tasks: [sealed.task], writes: [sealed.write] };
}

/** The data of a task that makes a call. */
export function callbackDataOf(task: Task): CallbackData {
  // Only `callbackTasks` makes tasks of that worker.
  return JSON.parse(task.dataJson) as CallbackData;
}

function callDefinition(data: CallbackData): TaskDefinition {
  return {
    ...BLANK_DEFINITION,
    workerId: callbackWorker(data.tenantId).id,
    job: "callback",
    dataJson: JSON.stringify(data),
  };
}
