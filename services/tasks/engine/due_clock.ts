/**
 * The clock that wakes tasks when their instant has come: their date, their
 * expiry, the end of their lease or of their retention. It asks the store each
 * time and at least once a second, and keeps only the time of the next query in
 * memory; so neither a restart nor a clock that jumps makes it lose a task.
 *
 * @module
 */

import { Periodic } from "../../shared/periodic.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { LeaseClock } from "./lease_clock.ts";
import type { EngineParts } from "./parts.ts";

/** The most tasks of one commit. */
const BATCH = 500;
/** The longest time between two queries of the store, in milliseconds. */
const LOOK_AGAIN_MS = 1_000;

interface DueClockOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  /** Notices when the machine's clock was set. */
  readonly leaseClock: LeaseClock;
}

/** Wakes tasks when their instant has come. */
export class DueClock {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #leaseClock: LeaseClock;
  readonly #periodic: Periodic;

  /** Creates the clock without starting it. */
  constructor({ parts, changes, leaseClock }: DueClockOptions) {
    this.#parts = parts;
    this.#changes = changes;
    this.#leaseClock = leaseClock;
    this.#periodic = new Periodic({
      clock: parts.clock,
      intervalMs: LOOK_AGAIN_MS,
      run: () => this.#look(),
      onError: (error) => {
        parts.logger.error("Cannot look at due tasks: the store failed", {
          error: String(error),
        });
      },
    });
    changes.onChange(({ placement }) => {
      if (placement?.wakeAtMs !== undefined) this.#wakeAt(placement.wakeAtMs);
    });
  }

  /** Starts the clock; the first query follows at once. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wakeIn(0);
  }

  /** Stops after the round that is running. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /**
   * Wakes all tasks whose instant has come. When the machine's clock was set,
   * running leases are adjusted first.
   *
   * @returns how many tasks changed
   * @throws {Error} when the store fails
   */
  async runOnce(): Promise<number> {
    const settling = this.#leaseClock.settle();
    // When leases cannot be adjusted, they wait; other tasks need not.
    const [settled] = await Promise.allSettled([settling]);
    const changed = await this.#wakeAll();
    if (settled?.status === "rejected") throw settled.reason;
    return changed;
  }

  async #wakeAll(): Promise<number> {
    let changed = 0;
    while (!this.#periodic.signal.aborted) {
      const { store, clock } = this.#parts;
      const tasks = await store.waking(clock.nowMs(), BATCH);
      if (tasks.length === 0) break;
      const outcomes = await this.#changes.applyAll(
        tasks.map((task): EventRequest => ({
          tenantId: task.tenantId,
          id: task.id,
          event: (now) => this.#eventOf(now),
          actor: SYSTEM_ACTOR,
          cachedTask: task,
        })),
      );
      const moved = outcomes.filter(({ kind }) =>
        kind === "changed" || kind === "purged"
      ).length;
      changed += moved;
      // Tasks that did not change would be found again forever.
      if (moved === 0) break;
    }
    return changed;
  }

  /**
   * Leaves running tasks alone while leases are not adjusted: a lease may only
   * seem to have ended because the clock was set.
   */
  #eventOf({ status }: Task): TaskEvent | undefined {
    return status === "running" && this.#leaseClock.isBehind()
      ? undefined
      : { kind: "wake" };
  }

  async #look(): Promise<void> {
    await this.runOnce();
    const { store, clock } = this.#parts;
    const nextMs = await store.nextWakeMs();
    if (nextMs === undefined) return;
    const nowMs = clock.nowMs();
    // A task that is still overdue could not be changed, so the next query
    // waits a little.
    this.#wakeAt(nextMs <= nowMs ? nowMs + LOOK_AGAIN_MS / 10 : nextMs);
  }

  #wakeAt(atMs: number): void {
    const delayMs = atMs - this.#parts.clock.nowMs();
    if (delayMs < LOOK_AGAIN_MS) this.#periodic.wakeIn(delayMs);
  }
}
