/**
 * Proposals for claims by looking at each task.
 *
 * @module
 */

import { placementOf } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import type { Claim } from "../store.ts";

/** What each claim may take; no task is proposed twice. */
export function memoryCandidates(
  tasks: readonly Task[],
  claims: readonly Claim[],
): readonly (readonly Task[])[] {
  const proposed = new Set<string>();
  return claims.map((claim) => {
    const queues = queuesOf(tasks, claim, proposed);
    const found: Task[] = [];
    while (found.length < claim.limit && queues.length > 0) {
      const queue = queues.shift();
      const task = queue?.shift();
      if (queue === undefined || task === undefined) continue;
      found.push(task);
      proposed.add(task.id);
      queues.push(queue);
    }
    return found;
  });
}

/** The tasks of each group by rank, the group whose turn it is first. */
function queuesOf(
  tasks: readonly Task[],
  claim: Claim,
  proposed: ReadonlySet<string>,
): Task[][] {
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const { group } = task;
    const isWanted = task.tenantId === claim.tenantId &&
      task.workerId === claim.workerId && !proposed.has(task.id) &&
      placementOf(task).rank !== undefined &&
      (claim.jobs?.includes(task.job) ?? true);
    if (!isWanted) continue;
    if (group !== "" && claim.fullGroups?.has(group) === true) continue;
    groups.set(group, [...groups.get(group) ?? [], task]);
  }
  const sorted = [...groups].sort(([left], [right]) => left < right ? -1 : 1);
  const { afterGroup, room } = claim;
  const turn = afterGroup === undefined
    ? 0
    : sorted.findIndex(([group]) => group > afterGroup);
  const rotated = turn <= 0
    ? sorted
    : [...sorted.slice(turn), ...sorted.slice(0, turn)];
  return rotated.map(([group, queue]) =>
    queue.sort(compareRank).slice(
      0,
      group === "" || room === undefined ? undefined : Math.max(0, room(group)),
    )
  );
}

function compareRank(left: Task, right: Task): number {
  const [leftRank, rightRank] = [rankOf(left), rankOf(right)];
  return leftRank === rightRank
    ? (left.id < right.id ? -1 : 1)
    : leftRank - rightRank;
}

function rankOf(task: Task): number {
  return placementOf(task).rank ?? Infinity;
}
