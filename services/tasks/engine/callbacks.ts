/**
 * The signed call at the end of a task. It is a task itself, of the service's
 * own worker, made in the same breath as the end; so it has retries, a lease
 * and a history like any other. It is there until the history of the task that
 * ended tells what became of it; see `callback_reports.ts`.
 *
 * @module
 */

import {
  BLANK_DEFINITION,
  type Task,
  type TaskDefinition,
  type TaskStatus,
} from "../domain/task.ts";
import { newTask } from "../domain/new_task.ts";
import { NO_RETRY_POLICY } from "../domain/parse_retry_policy.ts";
import type { TaskPosition } from "../store/queries.ts";
import type { Store } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";
import type { Spawned } from "./spawn.ts";
import { callbackWorker, internalTenant, tenantOfInternal } from "./workers.ts";

/** How a call ends: it was made, or given up. */
const ENDS = ["complete", "failed"] as const satisfies readonly TaskStatus[];
/** Calls that are read together. */
const PAGE = 200;

/** What the task of a call carries. */
export interface CallbackData {
  /** Where to call. */
  readonly url: string;
  /** Which end it tells of, such as `task.completed`. */
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
export function callbackWrites(
  previous: Task | undefined,
  options: {
    readonly next: Task;
    readonly parts: Pick<EngineParts, "clock" | "newId" | "sealer">;
  },
): Spawned {
  const { next, parts } = options;
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
    createdBy: { type: "system", id: "system" },
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
  // Only `callbackWrites` makes tasks of that worker.
  return JSON.parse(task.dataJson) as CallbackData;
}

/** Whether a task of the service itself is a call that has ended. */
export function isEndedCall({ tenantId, status }: Task): boolean {
  return tenantOfInternal(tenantId) !== undefined &&
    ENDS.some((end) => end === status);
}

/**
 * The calls of one of the service's own tenants that have ended and are still
 * there.
 *
 * @throws {Error} when the store fails
 */
export async function* endedCalls(
  store: Pick<Store, "listTasks">,
  tenantId: string,
): AsyncGenerator<Task> {
  let after: TaskPosition | undefined;
  do {
    const page = await store.listTasks({
      tenantId,
      statuses: ENDS,
      by: "date",
      sort: "date",
      order: "asc",
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    yield* page.tasks;
    after = page.next;
  } while (after !== undefined);
}

function callDefinition(data: CallbackData): TaskDefinition {
  return {
    ...BLANK_DEFINITION,
    workerId: callbackWorker(data.tenantId).id,
    job: "callback",
    dataJson: JSON.stringify(data),
  };
}
