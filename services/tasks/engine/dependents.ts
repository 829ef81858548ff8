/**
 * Lets blocked tasks continue when their dependencies are settled.
 *
 * @module
 */

import { BackgroundWork, pause } from "../../shared/periodic.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import {
  type DependencyVerdict,
  judgeDependencies,
} from "../domain/dependency_rules.ts";
import type { TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";

/** Dependents that are read at once. */
const PAGE = 100;
/** Tasks that are read in vain before other work gets its turn. */
const READS = 100;
/** The turn of the others. */
const PAUSE_MS = 1;

/** Follows the tasks that others depend on. */
export class Dependents {
  /**
   * Which tenants have blocked tasks, as far as is known: most have none to look
   * for. The reconciler, which reads them all, counts them.
   */
  readonly census = new BlockedCensus();
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #work: BackgroundWork;
  /**
   * Tasks that have ended and whose dependents are still to be looked for, by
   * tenant.
   */
  readonly #ended = new Map<string, string[]>();
  readonly #stopping = new AbortController();

  /** Listens to what changes. */
  constructor(parts: EngineParts, changes: TaskChanges) {
    this.#parts = parts;
    this.#changes = changes;
    this.#work = new BackgroundWork((error) => {
      parts.logger.error(
        "Cannot unblock dependent tasks: the store failed; " +
          "the reconciler tries again",
        { error: String(error) },
      );
    });
    changes.onChange(({ previous, next }) => this.#heard(previous, next));
  }

  /** Stops, after the work under way. The reconciler finds the rest. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#work.settled();
  }

  /**
   * Reads a blocked task's dependencies, and unblocks or fails the task as they
   * demand.
   *
   * @returns whether it changed
   */
  async judge(task: Task): Promise<boolean> {
    const event = await this.eventOf(task);
    if (event === undefined) return false;
    const outcome = await this.#changes.apply({
      tenantId: task.tenantId,
      id: task.id,
      // With other dependencies it is judged again, by the change that set
      // them.
      event: (now) =>
        now.status === "blocked" && hasSameDependencies(now, task)
          ? event
          : undefined,
      actor: SYSTEM_ACTOR,
    });
    return outcome.kind === "changed";
  }

  /**
   * The event that a blocked task's dependencies demand; undefined when it has
   * to wait.
   */
  async eventOf(task: Task): Promise<TaskEvent | undefined> {
    const { store } = this.#parts;
    const states = await store.tasks(task.tenantId, task.dependencies);
    const verdict = judgeDependencies(task, states);
    switch (verdict.kind) {
      case "ready":
        return { kind: "unblock" };
      case "failed":
        return { kind: "dependency_failed", dependency: verdict.dependency };
      case "waits":
        return undefined;
    }
  }

  #heard(previous: Task | undefined, next: Task | undefined): void {
    if (next?.status === "blocked") {
      this.census.add(next.tenantId);
      // A dependency may have been settled while the task was being made, was
      // paused or had others.
      const isNews = previous?.status !== "blocked" ||
        !hasSameDependencies(previous, next);
      if (isNews) this.#work.run(() => this.judge(next));
      return;
    }
    const task = next ?? previous;
    if (task === undefined || previous === undefined) return;
    if (!this.census.mayHave(task.tenantId)) return;
    const now = meaningOf(next);
    if (now === "waits" || now === meaningOf(previous)) return;
    const { tenantId, id } = task;
    const ended = this.#ended.get(tenantId);
    if (ended !== undefined) return void ended.push(id);
    this.#ended.set(tenantId, [id]);
    this.#work.run(() => this.#settle(tenantId));
  }

  /** Handles tasks together that ended in one commit. */
  async #settle(tenantId: string): Promise<void> {
    await Promise.resolve();
    const { store } = this.#parts;
    const ended = this.#ended.get(tenantId) ?? [];
    this.#ended.delete(tenantId);
    const { signal } = this.#stopping;
    let afterId: string | undefined;
    let reads = 0;
    while (!signal.aborted) {
      const ids = await store.dependents({
        tenantId,
        ids: ended,
        limit: PAGE,
        afterId,
      });
      const dependents = await store.tasks(tenantId, ids);
      for (const dependent of dependents) {
        reads++;
        if (dependent?.status === "blocked") {
          reads += dependent.dependencies.length;
          // Others have their turn while a change is written.
          if (await this.judge(dependent)) reads = 0;
        }
        if (reads < READS) continue;
        await pause(PAUSE_MS, { clock: this.#parts.clock, signal });
        reads = 0;
      }
      afterId = ids.at(-1);
      if (ids.length < PAGE) return;
    }
  }
}

/** The verdict of a task for those that depend on it. */
function meaningOf(state: Task | undefined): DependencyVerdict["kind"] {
  const dependencies = [state?.id ?? ""];
  return judgeDependencies({ dependencies, onDependencyFailure: "fail" }, [
    state,
  ]).kind;
}

function hasSameDependencies(left: Task, right: Task): boolean {
  return left.onDependencyFailure === right.onDependencyFailure &&
    left.dependencies.length === right.dependencies.length &&
    left.dependencies.every((id, index) => id === right.dependencies[index]);
}

/**
 * Counts which tenants may have blocked tasks, so that the end of a task of
 * another tenant needs no query. Until the first count everybody may.
 */
export class BlockedCensus {
  #tenants: Set<string> | undefined;
  /** Tenants that were added since the current count began. */
  #since: Set<string> | undefined;

  /** Whether a tenant may have blocked tasks. */
  mayHave(tenantId: string): boolean {
    return this.#tenants === undefined || this.#tenants.has(tenantId);
  }

  /** A task of a tenant is blocked. */
  add(tenantId: string): void {
    this.#tenants?.add(tenantId);
    this.#since?.add(tenantId);
  }

  /** A count of all blocked tasks begins. */
  begin(): void {
    this.#since = new Set();
  }

  /** It has ended, and found blocked tasks of these tenants. */
  end(found: Iterable<string>): void {
    this.#tenants = new Set([...found, ...this.#since ?? []]);
    this.#since = undefined;
  }
}
