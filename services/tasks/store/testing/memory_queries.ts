/**
 * Lists and claims of the store in memory, which look at every task.
 *
 * @module
 */

import { computePlacement } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import type { Claim, TaskPage, TaskPosition, TaskQuery } from "../queries.ts";

/**
 * The page of a list that a query asks for; all `tasks` belong to its tenant.
 */
export function memoryPage(
  tasks: readonly Task[],
  query: TaskQuery,
): TaskPage {
  const sign = query.order === "asc" ? 1 : -1;
  function compare(left: TaskPosition, right: TaskPosition): number {
    const byTime = left.sortMs - right.sortMs;
    return sign * (byTime !== 0 ? byTime : left.id < right.id ? -1 : 1);
  }
  const { after } = query;
  const wanted = tasks
    .filter((task) => isWanted(task, query))
    .map((task) => ({ task, id: task.id, sortMs: getSortMs(task, query) }))
    .sort(compare);
  const behind = after === undefined
    ? wanted
    : wanted.filter((one) => one.id !== after.id && compare(one, after) > 0);
  const page = behind.slice(0, query.limit);
  const last = page.at(-1);
  return {
    tasks: page.map(({ task }) => task),
    next: behind.length > page.length && last !== undefined
      ? { sortMs: last.sortMs, id: last.id }
      : undefined,
    count: query.count === true
      ? { value: wanted.length, isExact: true }
      : undefined,
  };
}

function getSortMs(task: Task, query: TaskQuery): number {
  return query.sort === "date" ? task.dateMs : task.createdAtMs;
}

function isWanted(task: Task, query: TaskQuery): boolean {
  const isDue = computePlacement(task).rank !== undefined;
  return isInTime(task, query) &&
    (query.workerIds?.includes(task.workerId) ?? true) &&
    (query.statuses?.includes(task.status) ?? true) &&
    task.job === (query.job ?? task.job) &&
    task.group === (query.group ?? task.group) &&
    task.key === (query.key ?? task.key) &&
    isDue === (query.isDue ?? isDue) &&
    (task.repeat !== undefined) ===
      (query.repeats ?? task.repeat !== undefined) &&
    task.wait?.for?.kind === (query.awaits ?? task.wait?.for?.kind) &&
    task.error?.code === (query.errorCode ?? task.error?.code) &&
    (query.tags ?? []).every((tag) => task.tags.includes(tag)) &&
    Object.entries(query.metadata ?? {}).every(([name, value]) =>
      Object.hasOwn(task.metadata, name) && task.metadata[name] === value
    );
}

function isInTime(task: Task, query: TaskQuery): boolean {
  const { fromMs, toMs } = query;
  if (fromMs === undefined && toMs === undefined) return true;
  const ms = query.by === "date"
    ? task.dateMs
    : query.by === "created_at"
    ? task.createdAtMs
    : task.finishedAtMs;
  return ms !== undefined && ms >= (fromMs ?? -Infinity) &&
    ms <= (toMs ?? Infinity);
}

/** The tasks that a claim may take. */
export function memoryCandidates(
  tasks: readonly Task[],
  claim: Claim,
): readonly Task[] {
  const queues = listQueues(tasks, claim);
  const found: Task[] = [];
  while (found.length < claim.limit && queues.length > 0) {
    const queue = queues.shift();
    const task = queue?.shift();
    if (queue === undefined || task === undefined) continue;
    found.push(task);
    queues.push(queue);
  }
  return found;
}

/**
 * The tasks of each group in the order of their rank, beginning with the group
 * whose turn it is.
 */
function listQueues(tasks: readonly Task[], claim: Claim): Task[][] {
  const groups = new Map<string, Task[]>();
  for (const task of tasks) {
    const { group } = task;
    const isWanted = task.tenantId === claim.tenantId &&
      task.workerId === claim.workerId &&
      computePlacement(task).rank !== undefined &&
      (claim.jobs?.includes(task.job) ?? true);
    if (!isWanted) continue;
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
  const [leftRank, rightRank] = [getRank(left), getRank(right)];
  return leftRank === rightRank
    ? (left.id < right.id ? -1 : 1)
    : leftRank - rightRank;
}

function getRank(task: Task): number {
  return computePlacement(task).rank ?? Infinity;
}
