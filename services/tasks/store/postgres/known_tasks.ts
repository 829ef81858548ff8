/**
 * Remembers tasks as they were read or changed, so that a write need not send
 * what it does not change.
 *
 * @module
 */

import type { Task } from "../../domain/task.ts";
import { DEFINITION_FIELDS } from "../task_body.ts";

/**
 * Tasks as the database has them, or had. A task that is changed keeps the object
 * of who made it, by which it is found, for as long as it is held. Only
 * the version that was read or written tells what the database has, so another
 * one is not found.
 */
export class KnownTasks {
  readonly #tasks = new WeakMap<object, Task>();

  /** Remembers a task as the database has it. */
  note(task: Task): void {
    this.#tasks.set(task.createdBy, task);
  }

  /** The task that a write replaces; undefined when it was not read here. */
  before(next: Task, expectedVersion: number): Task | undefined {
    const task = this.#tasks.get(next.createdBy);
    return task?.version === expectedVersion && task.id === next.id &&
        task.tenantId === next.tenantId
      ? task
      : undefined;
  }
}

/** Whether two versions of a task differ in nothing that its owner decides. */
export function isSameDefinition(one: Task, other: Task): boolean {
  return one.dataJson === other.dataJson &&
    DEFINITION_FIELDS.every((field) => one[field] === other[field]);
}
