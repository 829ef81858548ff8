/**
 * Creates tasks in tests as their owner does through the API.
 *
 * @module
 */

import { NEVER_PAUSING } from "../../../shared/slices.ts";
import type { Actor } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { Write } from "../../store/store.ts";
import { calendarsOfRule } from "../parts.ts";
import {
  type CreateRequest,
  type CreateResult,
  isRefusal,
} from "../create_request.ts";
import type { WriteOutcome } from "../creation.ts";
import type { Engine } from "../engine.ts";

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
): Promise<
  | Exclude<WriteOutcome, { readonly kind: "again" }>
  | { readonly kind: "refused"; readonly results: readonly CreateResult[] }
> {
  const [first] = tasks;
  if (first === undefined) return { kind: "ok", results: [] };
  const { tenantId, actor } = first;
  const { retentionMs } = await parts.findLimits(tenantId);
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
  using creating = await creation.begin(requests, {
    tenantId,
    actor,
    limits: { retentionMs, activeTasks: null, executionsPerMonth: null },
    isOneCommit: true,
    client: { pausing: NEVER_PAUSING, onGone: () => () => {} },
  });
  if (creating === undefined) return { kind: "busy" };
  while (true) {
    const results = await creating.place();
    if (results.some(isRefusal)) return { kind: "refused", results };
    const outcome = await creating.write(inSameCommit);
    if (outcome.kind !== "again") return outcome;
  }
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
