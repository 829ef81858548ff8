/**
 * Tasks that are under way, as they were last written.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Task } from "../domain/task.ts";

/** Most tasks that are kept. */
const MAX_TASKS = 20_000;
/** Tasks with longer data are not kept. */
const MAX_DATA_CHARS = 4_096;

/**
 * Remembers running tasks, so that their end needs no reading. What is
 * remembered may be out of date: whoever uses it compares versions when writing.
 */
export class RecentTasks {
  readonly #tasks = new BoundedMap<string, Task>({ maxEntries: MAX_TASKS });

  /** Remembers a task that was started. */
  add(task: Task): void {
    if (task.dataJson.length > MAX_DATA_CHARS) return;
    this.#tasks.set(task.id, task);
  }

  /** Takes note of a change; forgets what runs no more. */
  update(task: Task): void {
    if (!this.#tasks.has(task.id)) return;
    if (task.status === "running") this.#tasks.set(task.id, task);
    else this.#tasks.delete(task.id);
  }

  /** The task, if it is remembered. */
  get(id: string): Task | undefined {
    return this.#tasks.get(id);
  }
}
