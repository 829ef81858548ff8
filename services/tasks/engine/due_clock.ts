/**
 * The clock that looks at tasks when their instant has come: their date, their
 * expiry, the end of their lease or of their keeping. It asks the store each
 * time and at least once a second, and keeps nothing in memory but when to ask
 * next; so neither a restart nor a clock that jumps makes it lose a task.
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

/** Most tasks of one commit. */
const BATCH = 500;
/** How often the store is asked at least. */
const LOOK_AGAIN_MS = 1_000;

interface DueClockOptions {
  readonly parts: EngineParts;
  readonly changes: TaskChanges;
  /** Notices when the time of day was set. */
  readonly leaseClock: LeaseClock;
}

/** Looks at tasks when their instant has come. */
export class DueClock {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #leaseClock: LeaseClock;
  readonly #periodic: Periodic;

  /** A clock that does not run yet. */
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

  /** Starts; looks at once. */
  start(): void {
    this.#periodic.start();
    this.#periodic.wakeIn(0);
  }

  /** Ends, after the round that runs. */
  async stop(): Promise<void> {
    await this.#periodic.stop();
  }

  /**
   * Looks at all tasks whose instant has come. When the time of day was set,
   * running leases are adjusted first.
   *
   * @returns how many changed
   * @throws {Error} when the store fails
   */
  async runOnce(): Promise<number> {
    const settling = this.#leaseClock.settle();
    // Leases that cannot be set wait; nothing else has to.
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
      // Tasks that stay where they are would be found again for ever.
      if (moved === 0) break;
    }
    return changed;
  }

  /** A lease that seems to have ended may only seem so since the clock was set. */
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
    // What is overdue after a round could not be moved: not at once again.
    this.#wakeAt(nextMs <= nowMs ? nowMs + LOOK_AGAIN_MS / 10 : nextMs);
  }

  #wakeAt(atMs: number): void {
    const delayMs = atMs - this.#parts.clock.nowMs();
    if (delayMs < LOOK_AGAIN_MS) this.#periodic.wakeIn(delayMs);
  }
}
