/**
 * Removing a task, whoever asks for it.
 *
 * @module
 */

import type { Actor } from "../../domain/records.ts";
import { isFinal, type Task } from "../../domain/task.ts";
import type { Engine } from "../../engine/engine.ts";
import { removalOf } from "../../engine/sealer.ts";
import type { Write } from "../../store/store.ts";

/** A task to be removed, as it was read. */
export interface RemovalOptions {
  /** The task. */
  readonly task: Task;
  /** Who removes it. */
  readonly actor: Actor;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
}

/**
 * Cancels a task if it is live, then removes it with a line in the audit log.
 *
 * @returns false when it changed meanwhile or is gone
 * @throws {Error} when the store fails
 */
export async function removeTask(
  { parts, changes }: Engine,
  { task, actor, nowMs }: RemovalOptions,
): Promise<boolean> {
  let last = task;
  if (!isFinal(task.status)) {
    const { tenantId, id, version } = task;
    const outcome = await changes.apply({
      tenantId,
      id,
      // What is canceled is what was looked at.
      event: (now) =>
        now.version === version
          ? { kind: "cancel", reason: "it is removed" }
          : undefined,
      actor,
      known: task,
    });
    if (outcome.kind !== "changed") return false;
    last = outcome.task;
  }
  const [result] = await parts.store.commit([{
    writes: [removalOf(last), auditOf(last, { actor, nowMs })],
  }]);
  if (result?.kind !== "ok") return false;
  changes.announce(last, undefined);
  return true;
}

function auditOf(
  task: Task,
  { actor, nowMs }: Omit<RemovalOptions, "task">,
): Write {
  const { tenantId, id, workerId, job, status, run, executions } = task;
  return {
    kind: "audit",
    tenantId,
    entry: {
      atMs: nowMs,
      action: "task.removed",
      text: JSON.stringify({
        actor,
        target: id,
        detail: { worker_id: workerId, job, status, run, executions },
      }),
    },
  };
}
