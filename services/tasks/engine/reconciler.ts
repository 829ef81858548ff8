/**
 * Finds and repairs stuck tasks: once a minute, when an instance has died, and
 * at the start. Each repair is recorded in the task's history. One instance
 * does it; a repair that two find is made once, since the task's version
 * differs after it.
 *
 * @module
 */

import { steadyMs } from "../../shared/clock.ts";
import { pause } from "../../shared/periodic.ts";
import { type CheckOptions, checkTask } from "../domain/placement.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { WatchedStatus } from "../store/queries.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { Dependents } from "./dependents.ts";
import type { LeaseClock } from "./lease_clock.ts";
import { Maintainer } from "./maintainer.ts";
import { findGoneCallers } from "./recovery.ts";
import type { EngineParts } from "./parts.ts";

/** Milliseconds between two rounds. */
const INTERVAL_MS = 60_000;
/**
 * How long a blocked task that could continue is left alone: normally the
 * change of its dependency is about to unblock it.
 */
const PATIENCE_MS = 1_000;
/**
 * The most stuck blocked tasks of one round; the next round handles the others.
 */
const MAX_SUSPECTS = 1_000;
/** How many tasks are read before other work gets its turn. */
const PAGE = 100;
/** How many dependencies are read before other work gets its turn. */
const DEPENDENCIES = 100;
/**
 * The pause after each step, as a multiple of the step's duration; so the
 * reconciler works at most a fifth of the time.
 */
const REST = 4;
/**
 * The statuses in which a task may be stuck. In all others it has a date at
 * which the clock wakes it.
 */
const LOOKED_AT: readonly WatchedStatus[] = ["running", "blocked"];

/** The findings of a round. */
interface ReconcilerReport {
  /** When the round ended, in milliseconds since the epoch. */
  readonly atMs: number;
  /** How many tasks were checked. */
  readonly checked: number;
  /** How many tasks were repaired. */
  readonly repaired: number;
  /** How many tasks are still overdue. */
  readonly stuck: number;
  /**
   * How many counts of tasks, by worker and status, were wrong and have been
   * corrected.
   */
  readonly miscounted: number;
}

interface ReconcilerOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  /** Judges blocked tasks. */
  readonly dependents: Dependents;
  /** Notices when the machine's clock was set. */
  readonly leaseClock: LeaseClock;
}

/** Finds and repairs tasks that are stuck. */
export class Reconciler extends Maintainer {
  readonly #options: ReconcilerOptions;
  #report: ReconcilerReport | undefined;

  /** Creates the reconciler without starting it. */
  constructor(options: ReconcilerOptions) {
    super({
      parts: options.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot reconcile: the store failed",
      duty: "reconcile",
    });
    this.#options = options;
    options.parts.instances.onChange((change) => {
      // What was blocked by a task that ended there goes on.
      if (change.kind === "answered" && change.gone.length > 0 && this.isMine) {
        this.wake();
      }
    });
  }

  /**
   * The findings of the last round; undefined before the first one has ended.
   */
  get report(): ReconcilerReport | undefined {
    return this.#report;
  }

  /**
   * Runs a single round.
   *
   * @throws {Error} when the store fails
   */
  override async runOnce(): Promise<ReconcilerReport> {
    const { parts, leaseClock } = this.#options;
    await leaseClock.settle();
    let checked = 0;
    let repaired = 0;
    const suspects: Task[] = [];
    const { census } = this.#options.dependents;
    const blocked = new Set<string>();
    census.begin();
    for (const status of LOOKED_AT) {
      for await (const tasks of this.#pages(status)) {
        checked += tasks.length;
        if (status === "blocked") {
          for (const { tenantId } of tasks) blocked.add(tenantId);
        }
        repaired += await this.#repair(tasks);
        if (status === "blocked" && suspects.length < MAX_SUSPECTS) {
          suspects.push(...await this.#suspects(tasks));
        }
      }
    }
    if (!this.stopping.aborted) census.end(blocked);
    const miscounted = await parts.store.proveCounts();
    repaired += await this.#release(suspects);
    const nowMs = parts.clock.nowMs();
    const sinceMs = nowMs - INTERVAL_MS;
    // A task that just went on with a date in the past is about to be woken.
    const overdue = (await parts.store.waking(sinceMs, PAGE))
      .filter(({ updatedAtMs }) => updatedAtMs <= sinceMs);
    this.#report = {
      atMs: nowMs,
      checked,
      repaired,
      stuck: overdue.length,
      miscounted,
    };
    if (miscounted > 0) {
      parts.logger.warn(
        "The reconciler found counts of tasks that were wrong, and has put " +
          "them right",
        { miscounted },
      );
    }
    if (repaired > 0 || overdue.length > 0) {
      parts.logger.warn("The reconciler found tasks that were stuck", {
        repaired,
        overdue: overdue.length,
      });
    }
    return this.#report;
  }

  /** Reads all tasks of a status page by page, with pauses in between. */
  async *#pages(status: WatchedStatus): AsyncGenerator<readonly Task[]> {
    const { store } = this.#options.parts;
    let after: string | undefined;
    do {
      const beginMs = this.#monotonicMs();
      const page = await store.scan({ status, limit: PAGE, after });
      yield page.tasks;
      after = page.next;
      if (after !== undefined) await this.#restSince(beginMs);
    } while (after !== undefined && !this.stopping.aborted);
  }

  /** Finds the blocked tasks that could continue. */
  async #suspects(tasks: readonly Task[]): Promise<readonly Task[]> {
    const { dependents } = this.#options;
    const suspects: Task[] = [];
    let beginMs = this.#monotonicMs();
    let read = 0;
    for (const task of tasks) {
      if (this.stopping.aborted) break;
      if (await dependents.findEvent(task) !== undefined) suspects.push(task);
      read += task.dependencies.length;
      if (read < DEPENDENCIES) continue;
      await this.#restSince(beginMs);
      beginMs = this.#monotonicMs();
      read = 0;
    }
    return suspects;
  }

  #monotonicMs(): number {
    return steadyMs(this.#options.parts.clock);
  }

  /** Pauses for longer than the step took. */
  async #restSince(beginMs: number): Promise<void> {
    const workedMs = this.#monotonicMs() - beginMs;
    await this.#wait(Math.max(1, Math.ceil(workedMs * REST)));
  }

  /** Waits, or returns at once when the reconciler stops. */
  #wait(delayMs: number): Promise<void> {
    return pause(delayMs, {
      clock: this.#options.parts.clock,
      signal: this.stopping,
    });
  }

  /** Unblocks the suspects that no other change has unblocked meanwhile. */
  async #release(suspects: readonly Task[]): Promise<number> {
    if (suspects.length === 0) return 0;
    const { dependents } = this.#options;
    await this.#wait(PATIENCE_MS);
    let released = 0;
    for (const task of suspects) {
      if (this.stopping.aborted) break;
      if (await dependents.judge(task)) released++;
    }
    return released;
  }

  /** Repairs running tasks. */
  async #repair(tasks: readonly Task[]): Promise<number> {
    const { changes, parts, leaseClock } = this.#options;
    const gone = await findGoneCallers(tasks, parts.instances);
    const nowMs = parts.clock.nowMs();
    const isGone = (id: string): boolean => gone.has(id);
    const requests = tasks.flatMap((task): EventRequest[] => {
      const event = findRepair(task, { nowMs, isGone });
      return event === undefined ? [] : [{
        tenantId: task.tenantId,
        id: task.id,
        event: (now) =>
          now.version === task.version && !leaseClock.isBehind()
            ? event
            : undefined,
        actor: SYSTEM_ACTOR,
      }];
    });
    const outcomes = await changes.applyAll(requests);
    return outcomes.filter(({ kind }) => kind === "changed").length;
  }
}

/** The event that repairs a task; undefined when nothing is wrong with it. */
function findRepair(task: Task, now: CheckOptions): TaskEvent | undefined {
  const { attempt } = task;
  const reason = checkTask(task, now);
  if (attempt === undefined) {
    return reason === undefined ? undefined : { kind: "repair", reason };
  }
  const lease = { id: attempt.id };
  if (reason !== undefined) return { kind: "lose", lease, reason };
  // The clock was set back before this start of the server. The lease is
  // counted from now, or it would last longer by as much as the clock was set.
  const { startedAtMs, expiresAtMs, leaseMs } = attempt;
  const isOfLater = startedAtMs > now.nowMs &&
    expiresAtMs > now.nowMs + leaseMs;
  return isOfLater ? { kind: "heartbeat", lease } : undefined;
}
