/**
 * Counts the attempts that tenants start.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Store } from "../store/store.ts";

/** How long counts are gathered before they are written. */
const GATHER_MS = 1_000;

/** Returns the period that use is counted in: the month of UTC, `YYYY-MM`. */
export function usagePeriod(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7);
}

/**
 * Gathers counts for a second and writes them in one; a crash loses what was
 * counted within that second, of the counts alone.
 */
export class UsageCounter {
  readonly #parts: {
    readonly store: Store;
    readonly clock: Clock;
    readonly logger: Logger;
  };
  #pending = new Map<string, number>();
  /** What is being written. */
  #underWay = new Map<string, number>();
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** A counter that has counted nothing. */
  constructor(
    parts: {
      readonly store: Store;
      readonly clock: Clock;
      readonly logger: Logger;
    },
  ) {
    this.#parts = parts;
  }

  /** Counts attempts. */
  count(tenantId: string, executions: number): void {
    const pending = this.#pending.get(tenantId) ?? 0;
    this.#pending.set(tenantId, pending + executions);
    this.#arm();
  }

  /** What a tenant has used in the period of now, with what is not written yet. */
  async executions(tenantId: string): Promise<number> {
    const { store, clock } = this.#parts;
    const period = usagePeriod(clock.nowMs());
    const { executions } = await store.usage(tenantId, period);
    return executions + (this.#underWay.get(tenantId) ?? 0) +
      (this.#pending.get(tenantId) ?? 0);
  }

  /** Writes what is not written yet. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#writing;
    await this.#write();
  }

  #arm(): void {
    this.#timer ??= this.#parts.clock.setTimer(() => {
      this.#timer = undefined;
      this.#writing = this.#writing.then(() => this.#write());
    }, GATHER_MS);
  }

  async #write(): Promise<void> {
    const pending = this.#pending;
    if (pending.size === 0) return;
    this.#pending = new Map();
    this.#underWay = pending;
    const { store, clock, logger } = this.#parts;
    const period = usagePeriod(clock.nowMs());
    try {
      await store.commit(
        [...pending].map(([tenantId, executions]) => ({
          writes: [{ kind: "usage" as const, tenantId, period, executions }],
        })),
      );
    } catch (error) {
      // Counted again with the next ones.
      for (const [tenantId, executions] of pending) {
        this.#pending.set(
          tenantId,
          (this.#pending.get(tenantId) ?? 0) + executions,
        );
      }
      if (!this.#isStopped) this.#arm();
      logger.warn("Cannot write counted use: the store failed", {
        error: String(error),
      });
    } finally {
      this.#underWay = new Map();
    }
  }
}
