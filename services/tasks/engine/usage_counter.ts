/**
 * Counts the attempts that tenants start.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import type { Store } from "../store/store.ts";

/** How long counts are gathered before they are written. */
const GATHER_MS = 1_000;

/** Returns the period that use is counted in: the month of UTC, `YYYY-MM`. */
export function usagePeriod(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7);
}

/** The parts of the counter. */
interface UsageParts {
  readonly store: Pick<Store, "usage" | "commit">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Gathers counts for a second and writes them in one; a crash loses what was
 * counted within that second, of the counts alone.
 */
export class UsageCounter {
  readonly #parts: UsageParts;
  readonly #writing: Periodic;
  #pending = new Map<string, number>();
  /** Counts that are being written. */
  #underWay = new Map<string, number>();

  /** A counter that has counted nothing. */
  constructor(parts: UsageParts) {
    this.#parts = parts;
    this.#writing = new Periodic({
      clock: parts.clock,
      run: () => this.#write(),
      retry: { firstMs: GATHER_MS, maxMs: GATHER_MS },
      onError: (error) => {
        parts.logger.warn("Cannot write counted use: the store failed", {
          error: String(error),
        });
      },
    });
    this.#writing.start();
  }

  /** Counts attempts. */
  count(tenantId: string, executions: number): void {
    add(this.#pending, tenantId, executions);
    this.#writing.wakeIn(GATHER_MS);
  }

  /** The executions of a tenant in the current period, also those not written yet. */
  async executions(tenantId: string): Promise<number> {
    const { store, clock } = this.#parts;
    const period = usagePeriod(clock.nowMs());
    const { executions } = await store.usage(tenantId, period);
    return executions + (this.#underWay.get(tenantId) ?? 0) +
      (this.#pending.get(tenantId) ?? 0);
  }

  /** Writes the counts that are not written yet. */
  async stop(): Promise<void> {
    await this.#writing.runOnce();
    await this.#writing.stop();
  }

  async #write(): Promise<void> {
    const pending = this.#pending;
    if (pending.size === 0) return;
    this.#pending = new Map();
    this.#underWay = pending;
    const { store, clock } = this.#parts;
    const period = usagePeriod(clock.nowMs());
    try {
      await store.commit(
        [...pending].map(([tenantId, executions]) => ({
          writes: [{ kind: "usage" as const, tenantId, period, executions }],
        })),
      );
    } catch (error) {
      // They are written with the next ones.
      for (const [tenantId, executions] of pending) {
        add(this.#pending, tenantId, executions);
      }
      throw error;
    } finally {
      this.#underWay = new Map();
    }
  }
}

function add(
  counts: Map<string, number>,
  tenantId: string,
  executions: number,
): void {
  counts.set(tenantId, (counts.get(tenantId) ?? 0) + executions);
}
