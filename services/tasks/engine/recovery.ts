/**
 * What an earlier start of the server left under way.
 *
 * @module
 */

import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { ScanPosition } from "../store/store.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";

/** Tasks of one commit. */
const PAGE = 500;

/**
 * Gives back the push calls of earlier starts: whoever made them is gone, and
 * nobody will tell how they ended. Leases of pull workers are left to their
 * holders and to their end.
 *
 * @returns how many were given back
 */
export async function recoverAttempts(
  parts: EngineParts,
  changes: TaskChanges,
): Promise<number> {
  let recovered = 0;
  let after: ScanPosition | undefined;
  do {
    const page = await parts.store.scan({
      status: "running",
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    const requests = page.tasks.flatMap((task) => requestOf(task, parts));
    const outcomes = await changes.applyAll(requests);
    recovered += outcomes.filter(({ kind }) => kind === "changed").length;
    after = page.next;
  } while (after !== undefined);
  return recovered;
}

function requestOf(task: Task, parts: EngineParts): readonly EventRequest[] {
  const { attempt } = task;
  if (attempt?.bootId === undefined || attempt.bootId === parts.bootId) {
    return [];
  }
  return [{
    tenantId: task.tenantId,
    id: task.id,
    event: {
      kind: "lose",
      lease: { id: attempt.id },
      reason: "the server was restarted",
    },
    actor: SYSTEM_ACTOR,
    known: task,
  }];
}
