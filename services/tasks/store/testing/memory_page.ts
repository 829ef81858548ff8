/**
 * Pages of tasks by looking at each of them.
 *
 * @module
 */

import { placementOf } from "../../domain/placement.ts";
import type { Task } from "../../domain/task.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../queries.ts";

/** The page of `tasks` that a query wants; all of them belong to its tenant. */
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
    .map((task) => ({ task, id: task.id, sortMs: sortMsOf(task, query) }))
    .sort(compare);
  const behind = after === undefined
    ? wanted
    : wanted.filter((one) => one.id !== after.id && compare(one, after) > 0);
  const page = behind.slice(0, query.limit);
  const last = page.at(-1);
  return {
    tasks: page.map(({ task }) => task),
    ...(behind.length > page.length && last !== undefined
      ? { next: { sortMs: last.sortMs, id: last.id } }
      : {}),
    ...(query.count === true
      ? { count: { value: wanted.length, isExact: true } }
      : {}),
  };
}

function sortMsOf(task: Task, query: TaskQuery): number {
  return query.sort === "date" ? task.dateMs : task.createdAtMs;
}

function isWanted(task: Task, query: TaskQuery): boolean {
  const isDue = placementOf(task).rank !== undefined;
  return isInTime(task, query) &&
    (query.workerIds?.includes(task.workerId) ?? true) &&
    (query.statuses?.includes(task.status) ?? true) &&
    task.job === (query.job ?? task.job) &&
    task.group === (query.group ?? task.group) &&
    task.key === (query.key ?? task.key) &&
    isDue === (query.isDue ?? isDue) &&
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
