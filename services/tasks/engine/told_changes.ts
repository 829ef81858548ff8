/**
 * Tells other instances of the changes that they may have to act on.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { andThen, type MaybePromise } from "../../shared/settled.ts";
import { isFinal, type Task } from "../domain/task.ts";
import type { TaskChange, TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";

/** The most tasks whose end others wait for that are remembered. */
const MAX_AWAITED = 10_000;

type TellingParts = Pick<
  EngineParts,
  "notices" | "instances" | "workers" | "findLimits" | "logger"
>;

/**
 * Tells other instances of changes, from now on: that a worker has tasks or
 * room for them, that a task was canceled whose call another one makes, that a
 * task is blocked, and the ends of tasks that others have asked for.
 */
export function tellChanges(parts: TellingParts, changes: TaskChanges): void {
  const { notices } = parts;
  // The ends of all tasks would be too many notices.
  const awaited = new BoundedMap<string, true>({ maxEntries: MAX_AWAITED });
  notices.on("awaited", ({ tenantId, taskId }) => {
    awaited.set(taskKey(tenantId, taskId), true);
  });
  changes.onChange((change) => {
    if (!notices.areNeeded) return;
    const { previous, next, placement } = change;
    const task = next ?? previous;
    if (task === undefined) return;
    const { tenantId, workerId, id: taskId } = task;
    if (placement?.rank !== undefined) {
      const { job, group } = task;
      const first = { job, group, rank: placement.rank };
      notices.tell({ kind: "due", tenantId, workerId, task: first });
    }
    if (previous?.status === "running" && next?.status !== "running") {
      tellRoom(parts, task);
      tellCanceled(parts, change);
    }
    if (next?.status === "blocked") notices.tell({ kind: "blocked", tenantId });
    const isOver = next === undefined || isFinal(next.status);
    const key = taskKey(tenantId, taskId);
    if (isOver && awaited.size > 0 && awaited.peek(key) === true) {
      awaited.delete(key);
      notices.tell({ kind: "ended", tenantId, taskId });
    }
  }, ["ready", "stopped", "blocked", "settled"]);
}

/** Tells of room for tasks where a limit may have held some back. */
function tellRoom(
  { workers, findLimits, notices, logger }: TellingParts,
  { tenantId, workerId, group }: Task,
): void {
  const telling: MaybePromise<void> = andThen(
    workers.get(tenantId, workerId),
    (worker) =>
      andThen(findLimits(tenantId), ({ concurrency }) => {
        const hasLimits = concurrency !== null ||
          (worker?.concurrency ?? 0) > 0 || worker?.limits !== undefined;
        if (!hasLimits) return;
        notices.tell({
          kind: "due",
          tenantId,
          workerId,
          ...group === "" ? {} : { group },
        });
      }),
  );
  if (!(telling instanceof Promise)) return;
  telling.catch((error: unknown) =>
    logger.warn("Cannot tell other instances of room for tasks", {
      worker: workerId,
      error: String(error),
    })
  );
}

function tellCanceled(
  { notices, instances }: TellingParts,
  { previous, next }: TaskChange,
): void {
  const { attempt } = previous ?? {};
  if (next?.status !== "canceled" || attempt?.bootId === undefined) return;
  if (attempt.bootId === instances.id) return;
  notices.tell({
    kind: "canceled",
    tenantId: next.tenantId,
    taskId: next.id,
    attemptId: attempt.id,
  });
}

function taskKey(tenantId: string, taskId: string): string {
  return `${tenantId}\n${taskId}`;
}
