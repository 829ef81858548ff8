/**
 * Plans what a retry does to other tasks: those that have failed because the
 * task had failed wait for it again, and so do those that have failed by them.
 *
 * @module
 */

import type { Actor } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { Write } from "../store/store.ts";
import type { TaskChanges } from "./changes.ts";
import type { Plan, Settled } from "./event_plan.ts";
import type { EngineParts } from "./parts.ts";

/** The most tasks that a retry revives, in the commit of the retry. */
export const MAX_REVIVED = 1_000;

/** How many dependents are read at once. */
const PAGE = 100;

/** The components of the engine that plan a revival. */
interface Reviver {
  /** The parts that all components share. */
  readonly parts: EngineParts;
  /** Plans the events of tasks. */
  readonly changes: TaskChanges;
}

/** The tasks that a retry revives; nothing is written yet. */
export interface Revival {
  /** The ids of the tasks. */
  readonly ids: readonly string[];
  /** Whether these are all; beyond {@linkcode MAX_REVIVED} others stay. */
  readonly isComplete: boolean;
  /** The writes, to be committed together with the retry. */
  readonly writes: readonly Write[];
  /** Notifies the listeners; has to be called after the commit. */
  readonly announce: () => void;
  /**
   * Releases the tasks' reservation in the tenant's plan; has to be called
   * after the commit, whether it succeeded or not.
   */
  readonly release: () => void;
}

/** The outcome of {@linkcode planRevival}. */
type RevivalOutcome =
  | { readonly kind: "planned"; readonly revival: Revival }
  /** The plan has no room for the tasks. */
  | Extract<Settled, { readonly code: "quota_exceeded" }>;

/**
 * Plans the revival of the tasks that have failed by a task. A task whose
 * worker is gone, or whose key another live task has by now, stays as it is.
 *
 * @throws {Error} when the store fails
 */
export async function planRevival(
  engine: Reviver,
  { task, actor }: {
    /** The task that is tried again. */
    readonly task: Task;
    /** Who tries it again. */
    readonly actor: Actor;
  },
): Promise<RevivalOutcome> {
  const { changes } = engine;
  const plans: Plan[] = [];
  const release = (): void => {
    for (const { releaseRoom } of plans) releaseRoom?.();
  };
  let isComplete = true;
  try {
    for await (const one of failedBy(engine, task)) {
      if (plans.length === MAX_REVIVED) {
        isComplete = false;
        break;
      }
      const { tenantId, id, error } = one;
      const { dependency = "" } = error ?? {};
      const plan = await changes.plan({
        tenantId,
        id,
        event: { kind: "revive", dependency },
        actor,
      }, one);
      plans.push(plan);
      const { settled } = plan;
      if (settled.kind === "refused" && settled.code === "quota_exceeded") {
        release();
        return settled;
      }
    }
  } catch (error) {
    release();
    throw error;
  }
  const done = plans.filter(({ settled }) => settled.kind === "changed");
  return {
    kind: "planned",
    revival: {
      ids: done.flatMap(({ settled }) =>
        settled.kind === "changed" ? [settled.task.id] : []
      ),
      isComplete,
      writes: done.flatMap(({ writes }) => writes),
      announce: () => {
        for (const plan of done) changes.announcePlan(plan);
      },
      release,
    },
  };
}

/**
 * The tasks that can be revived: those that have failed by the task, then those
 * that have failed by these, and so on.
 */
async function* failedBy(
  { parts }: Reviver,
  { tenantId, id }: Task,
): AsyncGenerator<Task> {
  const keys = new Set<string>();
  let causes: readonly string[] = [id];
  while (causes.length > 0) {
    const next: string[] = [];
    let afterId: string | undefined;
    let found: readonly string[];
    do {
      found = await parts.store.dependents({
        ...{ tenantId, ids: causes, limit: PAGE, afterId },
      });
      for (const task of await parts.store.tasks(tenantId, found)) {
        const cause = task?.status === "failed" ? task.error?.dependency : "";
        if (task === undefined || !causes.includes(cause ?? "")) continue;
        if (!await mayLive(parts, { task, keys })) continue;
        next.push(task.id);
        yield task;
      }
      afterId = found.at(-1);
    } while (found.length === PAGE);
    causes = next;
  }
}

/** Tells whether a task has its worker, and no other task has its key. */
async function mayLive(
  { workers, store }: EngineParts,
  { task, keys }: { readonly task: Task; readonly keys: Set<string> },
): Promise<boolean> {
  const { tenantId, workerId, key } = task;
  if (await workers.get(tenantId, workerId) === undefined) return false;
  if (key === undefined) return true;
  const name = `${workerId}\n${key}`;
  if (keys.has(name)) return false;
  if (await store.taskByKey({ tenantId, workerId, key })) return false;
  keys.add(name);
  return true;
}
