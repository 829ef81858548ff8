/**
 * Reading a list to its end.
 *
 * @module
 */

import { assert } from "@std/assert";
import type { Task } from "../../../domain/task.ts";
import type { TaskPage, TaskPosition, TaskQuery } from "../../queries.ts";
import type { Store } from "../../store.ts";

/** What {@linkcode readList} gives. */
export interface WholeList {
  /** The tasks of all pages. */
  readonly tasks: readonly Task[];
  /** What the first page said of their number. */
  readonly count: TaskPage["count"];
}

/** Reads all pages of a list, calling `between` behind each. */
export async function readList(
  store: Store,
  query: TaskQuery,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<WholeList> {
  const tasks: Task[] = [];
  let count: TaskPage["count"];
  let after: TaskPosition | undefined;
  for (let pages = 0;; pages++) {
    assert(pages < 1_000, "The list has no end");
    const page = await store.listTasks(
      after === undefined ? query : { ...query, after },
    );
    assert(page.tasks.length <= query.limit, "A page is too long");
    tasks.push(...page.tasks);
    count ??= page.count;
    after = page.next;
    if (after === undefined) return { tasks, count };
    await between();
  }
}
