/**
 * Lets blocked tasks continue when their dependencies are settled.
 *
 * The instance that writes the end of a task looks for those that it has
 * blocked, and the one that blocks a task judges it after its commit; so one of
 * the two sees what the other wrote. If the first one dies in between, the
 * reconciler looks at all blocked tasks.
 *
 * @module
 */

import type { Timer } from "../../shared/clock.ts";
import { BackgroundWork, pause } from "../../shared/periodic.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import {
  type DependencyVerdict,
  isBlocked,
  judgeDependencies,
} from "../domain/dependency_rules.ts";
import type { TaskChanges } from "./changes.ts";
import type { EngineParts } from "./parts.ts";

/** How many dependents are read at once. */
const PAGE = 100;
/** How many tasks are read without a change before other work gets its turn. */
const READS = 100;
/** The pause for other work, in milliseconds. */
const PAUSE_MS = 1;
/**
 * After how long the ended tasks of tenants without known blocked tasks are
 * looked at all the same, since another instance may have blocked some and its
 * notice may be lost.
 */
const LOOK_MS = 1_000;
/** The most such tasks that are kept. */
const MAX_KEPT = 10_000;

/** Watches the tasks that others depend on, and unblocks those others. */
export class Dependents {
  /**
   * The tenants that may have blocked tasks; the tasks of other tenants need no
   * query. The reconciler counts them, since it reads all tasks anyway.
   */
  readonly census = new BlockedCensus();
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #work: BackgroundWork;
  /**
   * Tasks that have ended and whose dependents still have to be found, by
   * tenant.
   */
  readonly #ended = new Map<string, string[]>();
  /** Ended tasks of other tenants, which are looked at later. */
  readonly #kept = new Map<string, Set<string>>();
  #keptCount = 0;
  #keptTimer: Timer | undefined;
  readonly #stopping = new AbortController();

  /** Listens to changes of tasks. */
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
    changes.onChange(
      ({ previous, next }) => this.#heard(previous, next),
      ["blocked", "stopped", "settled", "reopened"],
    );
    parts.notices.on("blocked", ({ tenantId }) => {
      this.census.add(tenantId);
      this.#lookAt(tenantId);
    });
    parts.notices.on("gap", () => {
      this.census.forget();
      this.#lookAtKept();
    });
  }

  /** Stops after the current work. The reconciler finds the rest. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#keptTimer?.cancel();
    await this.#work.settled();
  }

  /**
   * Reads a blocked task's dependencies, and unblocks or fails the task as they
   * demand.
   *
   * @returns whether the task changed
   */
  async judge(task: Task): Promise<boolean> {
    const event = await this.findEvent(task);
    if (event === undefined) return false;
    const outcome = await this.#changes.apply({
      tenantId: task.tenantId,
      id: task.id,
      // If the dependencies changed meanwhile, that change has the task judged
      // again.
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
  async findEvent(task: Task): Promise<TaskEvent | undefined> {
    const { store } = this.#parts;
    const states = await store.tasks(task.tenantId, task.dependencies);
    const verdict = judgeDependencies(task, states);
    switch (verdict.kind) {
      case "ready":
        return { kind: "unblock" };
      case "failed": {
        const { dependency, isRemoved } = verdict;
        return { kind: "dependency_failed", dependency, isRemoved };
      }
      case "waits":
        return undefined;
    }
  }

  /**
   * The ids of those tasks, of some that have succeeded and are to be removed,
   * that blocked tasks depend on. They are kept, since the blocked tasks would
   * fail for want of them, and their results go to these.
   *
   * @throws {Error} when the store fails
   */
  async needed(tasks: readonly Task[]): Promise<ReadonlySet<string>> {
    const needed = new Set<string>();
    // The census knows nothing of blocked tasks that are paused.
    const ended = tasks.filter(({ status }) => status === "complete");
    const byTenant = Map.groupBy(ended, ({ tenantId }) => tenantId);
    for (const [tenantId, ofTenant] of byTenant) {
      const ids = new Set(ofTenant.map(({ id }) => id));
      for await (const page of this.#dependents(tenantId, [...ids])) {
        for (const { dependencies } of page.filter(isBlocked)) {
          for (const id of dependencies) if (ids.has(id)) needed.add(id);
        }
      }
    }
    return needed;
  }

  /** The tasks that are linked to some tasks, page by page. */
  async *#dependents(
    tenantId: string,
    ids: readonly string[],
  ): AsyncGenerator<readonly Task[]> {
    const { store } = this.#parts;
    let afterId: string | undefined;
    let found: readonly string[];
    do {
      found = await store.dependents({ tenantId, ids, limit: PAGE, afterId });
      const tasks = await store.tasks(tenantId, found);
      yield tasks.filter((task) => task !== undefined);
      afterId = found.at(-1);
    } while (found.length === PAGE);
  }

  #heard(previous: Task | undefined, next: Task | undefined): void {
    if (next?.status === "blocked") {
      this.census.add(next.tenantId);
      // A dependency may have been settled while the task was being created,
      // was paused or had other dependencies.
      const isNews = previous?.status !== "blocked" ||
        !hasSameDependencies(previous, next);
      if (isNews) this.#work.run(() => this.judge(next));
      return;
    }
    const task = next ?? previous;
    if (task === undefined || previous === undefined) return;
    const isKnown = this.census.mayHave(task.tenantId);
    if (!isKnown && !this.#parts.notices.areNeeded) return;
    const now = judgeState(next);
    // That a failed task is removed is news for those that wait for a retry.
    const isNews = next === undefined || now !== judgeState(previous);
    if (now === "waits" || !isNews) return;
    const { tenantId, id } = task;
    if (isKnown) this.#note(tenantId, [id]);
    else this.#keep(tenantId, id);
  }

  #note(tenantId: string, ids: readonly string[]): void {
    const ended = this.#ended.get(tenantId);
    if (ended !== undefined) return void ended.push(...ids);
    this.#ended.set(tenantId, [...ids]);
    this.#work.run(() => this.#settle(tenantId));
  }

  /** Keeps an ended task, to look a second later for tasks that it blocks. */
  #keep(tenantId: string, id: string): void {
    if (this.#stopping.signal.aborted) return;
    const kept = this.#kept.get(tenantId) ?? new Set();
    this.#kept.set(tenantId, kept.add(id));
    if (++this.#keptCount >= MAX_KEPT) return this.#lookAtKept();
    const { clock } = this.#parts;
    this.#keptTimer ??= clock.setTimer(() => this.#lookAtKept(), LOOK_MS);
  }

  #lookAtKept(): void {
    this.#keptTimer?.cancel();
    this.#keptTimer = undefined;
    this.#keptCount = 0;
    for (const tenantId of [...this.#kept.keys()]) this.#lookAt(tenantId);
  }

  #lookAt(tenantId: string): void {
    const kept = this.#kept.get(tenantId);
    if (kept === undefined) return;
    this.#kept.delete(tenantId);
    this.#note(tenantId, [...kept]);
  }

  /** Handles all tasks of a tenant that ended in the same commit together. */
  async #settle(tenantId: string): Promise<void> {
    await Promise.resolve();
    const ended = this.#ended.get(tenantId) ?? [];
    this.#ended.delete(tenantId);
    const { signal } = this.#stopping;
    let reads = 0;
    for await (const page of this.#dependents(tenantId, ended)) {
      for (const dependent of page) {
        if (signal.aborted) return;
        reads++;
        if (dependent.status === "blocked") {
          this.census.add(tenantId);
          reads += dependent.dependencies.length;
          // Other work had its turn while the change was written.
          if (await this.judge(dependent)) reads = 0;
        }
        if (reads < READS) continue;
        await pause(PAUSE_MS, { clock: this.#parts.clock, signal });
        reads = 0;
      }
    }
  }
}

/** What a task's state means for the tasks that depend on it. */
function judgeState(state: Task | undefined): DependencyVerdict["kind"] {
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
 * The set of tenants that may have blocked tasks, so that the end of another
 * tenant's task needs no query. Until the first count, every tenant may have
 * some. Of several instances, the one that reconciles counts; the others ask
 * for each end.
 */
export class BlockedCensus {
  #tenants: Set<string> | undefined;
  /** Tenants that were added since the running count began. */
  #since: Set<string> | undefined;

  /** Tells whether a tenant may have blocked tasks. */
  mayHave(tenantId: string): boolean {
    return this.#tenants === undefined || this.#tenants.has(tenantId);
  }

  /** Adds a tenant, because a task of it was blocked. */
  add(tenantId: string): void {
    this.#tenants?.add(tenantId);
    this.#since?.add(tenantId);
  }

  /** Forgets the last count: again every tenant may have some. */
  forget(): void {
    this.#tenants = undefined;
  }

  /** Begins a count of all blocked tasks. */
  begin(): void {
    this.#since = new Set();
  }

  /** Ends the count, with the tenants of which blocked tasks were found. */
  end(found: Iterable<string>): void {
    this.#tenants = new Set([...found, ...this.#since ?? []]);
    this.#since = undefined;
  }
}
