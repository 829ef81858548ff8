/**
 * Creates tasks in tests as their owner does through the API.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../../shared/slices.ts";
import type { Actor } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { Write } from "../../store/store.ts";
import { calendarsOfRule } from "../calendars.ts";
import type { CreateOutcome } from "../creation.ts";
import type { Engine } from "../engine.ts";
import type { CreateRequest } from "../create_request.ts";

/** A task of a test. */
export interface TaskOfTest
  extends Omit<CreateRequest, "onConflict" | "calendars" | "states" | "at"> {
  /** The tenant. */
  readonly tenantId: string;
  /** Who creates it. */
  readonly actor: Actor;
  /**
   * What happens when a live task has its key.
   *
   * @default {"reject"}
   */
  readonly onConflict?: CreateRequest["onConflict"] | undefined;
}

/**
 * Creates tasks of one tenant, all of them or none, whatever its plan allows.
 */
export async function createTasks(
  { parts, creation }: Pick<Engine, "parts" | "creation">,
  tasks: readonly TaskOfTest[],
  inSameCommit: readonly Write[] = [],
): Promise<CreateOutcome> {
  const [first] = tasks;
  if (first === undefined) return { kind: "ok", results: [] };
  const { tenantId, actor } = first;
  const { retentionMs } = await parts.limitsOf(tenantId);
  const requests = await Promise.all(tasks.map(async (task) => ({
    ...task,
    onConflict: task.onConflict ?? "reject",
    calendars: await calendarsOfRule(parts.repositories.calendars, {
      tenantId,
      repeat: task.definition.repeat,
    }),
    states: await parts.store.tasks(tenantId, task.definition.dependencies),
    at: "",
  })));
  return await creation.create(requests, {
    tenantId,
    actor,
    limits: { retentionMs, activeTasks: null, executionsPerMonth: null },
    isAtomic: true,
    inSameCommit: () => inSameCommit,
    client: { pausing: NEVER_PAUSING, onGone: () => () => {} },
  });
}

/**
 * Creates a task.
 *
 * @throws {Error} when the task is refused
 */
export async function createTask(
  engine: Pick<Engine, "parts" | "creation">,
  task: TaskOfTest,
): Promise<Task> {
  const outcome = await createTasks(engine, [task]);
  const [result] = outcome.kind === "ok" ? outcome.results : [];
  if (result?.kind === "created") return result.task;
  throw new Error(`Cannot create task: ${outcome.kind}`);
}
