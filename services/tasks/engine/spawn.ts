/**
 * The tasks that a schedule makes, one for each of its slots.
 *
 * @module
 */

import { definitionOf, type Task } from "../domain/task.ts";
import { newTask } from "../domain/new_task.ts";
import type { TaskRules } from "../domain/task_event.ts";
import type { Write } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";

/** What a schedule makes. */
export interface SpawnOptions {
  /** The dates of the tasks. */
  readonly slotsMs: readonly number[];
  /** The rules of the schedule's task, which hold for them too. */
  readonly rules: TaskRules;
  /** The engine's parts. */
  readonly parts: Pick<EngineParts, "clock" | "newId" | "sealer">;
}

/** New tasks and the writes that put them. */
export interface Spawned {
  /** The tasks. */
  readonly tasks: readonly Task[];
  /** A write for each. */
  readonly writes: readonly Write[];
}

/**
 * Makes the tasks of a schedule's slots. They have what the schedule has but its
 * repetition and its key, which it keeps itself.
 */
export function spawnedWrites(task: Task, options: SpawnOptions): Spawned {
  const { slotsMs, rules, parts } = options;
  const tasks: Task[] = [];
  const writes: Write[] = [];
  for (const dateMs of slotsMs) {
    const definition = {
      ...definitionOf(task),
      repeat: undefined,
      key: undefined,
    };
    const { schedule: _schedule, ...plainRules } = rules;
    const made = newTask(definition, {
      tenantId: task.tenantId,
      id: parts.newId("tsk"),
      nowMs: parts.clock.nowMs(),
      dateMs,
      createdBy: task.createdBy,
      isBlocked: false,
      parentId: task.id,
      rules: plainRules,
    });
    const sealed = parts.sealer.seal(made.task, {
      drafts: made.history,
      expectedVersion: 0,
    });
    tasks.push(sealed.task);
    writes.push(sealed.write);
  }
  return { tasks, writes };
}
