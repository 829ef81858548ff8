/**
 * The clock that looks at tasks when their instant has come: their date, their
 * expiry, the end of their lease or of their keeping. It asks the store each
 * time and at least once a second, and keeps nothing in memory but when to ask
 * next; so neither a restart nor a clock that jumps makes it lose a task.
 *
 * @module
 */

import type { Timer } from "../../shared/clock.ts";
import { SYSTEM_ACTOR } from "../domain/records.ts";
import { placementOf } from "../domain/placement.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task_event.ts";
import type { EventRequest, TaskChanges } from "./changes.ts";
import type { LeaseClock } from "./lease_clock.ts";
import type { EngineParts } from "./parts.ts";

/** Most tasks that are looked at in one commit. */
const BATCH = 500;
/** How often the store is asked at least. */
const LOOK_AGAIN_MS = 1_000;

/** Options of {@linkcode DueClock}. */
export interface DueClockOptions {
  /** The engine's parts. */
  readonly parts: EngineParts;
  /** Changes tasks. */
  readonly changes: TaskChanges;
  /** Knows when the time of day was set. */
  readonly leaseClock: LeaseClock;
}

/** Looks at tasks when their instant has come. */
export class DueClock {
  readonly #parts: EngineParts;
  readonly #changes: TaskChanges;
  readonly #leaseClock: LeaseClock;
  #timer: Timer | undefined;
  #armedForMs = Infinity;
  /** The earliest instant that was asked for while a round ran. */
  #askedForMs = Infinity;
  #nextMs = Infinity;
  #round: Promise<void> | undefined;
  #isStarted = false;
  #isStopped = false;

  /** A clock that does not run yet. */
  constructor({ parts, changes, leaseClock }: DueClockOptions) {
    this.#parts = parts;
    this.#changes = changes;
    this.#leaseClock = leaseClock;
    changes.onChange((_previous, next) => {
      const wakeAtMs = next === undefined
        ? undefined
        : placementOf(next).wakeAtMs;
      if (wakeAtMs !== undefined) this.#arm(wakeAtMs);
    });
  }

  /** Begins; looks at once. */
  start(): void {
    this.#isStarted = true;
    this.#arm(0);
  }

  /** Ends, after the round that runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#round;
  }

  /**
   * Looks at all tasks whose instant has come. When the time of day was set,
   * the leases under way are set with it first.
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
    while (!this.#isStopped) {
      const { store, clock } = this.#parts;
      const tasks = await store.waking(clock.nowMs(), BATCH);
      if (tasks.length === 0) break;
      const outcomes = await this.#changes.applyAll(
        tasks.map((task): EventRequest => ({
          tenantId: task.tenantId,
          id: task.id,
          event: (now) => this.#eventOf(now),
          actor: SYSTEM_ACTOR,
          known: task,
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

  #arm(atMs: number): void {
    if (!this.#isStarted || this.#isStopped) return;
    if (this.#round !== undefined) {
      // It may have asked the store for the next instant already.
      this.#askedForMs = Math.min(this.#askedForMs, atMs);
      return;
    }
    const { clock } = this.#parts;
    const nowMs = clock.nowMs();
    const fireAtMs = Math.min(Math.max(atMs, nowMs), nowMs + LOOK_AGAIN_MS);
    if (this.#timer !== undefined && this.#armedForMs <= fireAtMs) return;
    this.#timer?.cancel();
    this.#armedForMs = fireAtMs;
    this.#timer = clock.setTimer(() => this.#fire(), fireAtMs - nowMs);
  }

  #fire(): void {
    this.#timer = undefined;
    this.#armedForMs = Infinity;
    this.#round = this.#look().finally(() => {
      this.#round = undefined;
      const atMs = Math.min(this.#nextMs, this.#askedForMs);
      this.#askedForMs = Infinity;
      this.#arm(atMs);
    });
  }

  async #look(): Promise<void> {
    try {
      await this.runOnce();
      this.#nextMs = await this.#parts.store.nextWakeMs() ?? Infinity;
      const nowMs = this.#parts.clock.nowMs();
      // What is overdue after a round could not be moved: not at once again.
      if (this.#nextMs <= nowMs) this.#nextMs = nowMs + LOOK_AGAIN_MS / 10;
    } catch (error) {
      this.#nextMs = Infinity;
      this.#parts.logger.error("Cannot look at due tasks: the store failed", {
        error: String(error),
      });
    }
  }
}
