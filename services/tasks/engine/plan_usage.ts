/**
 * What tenants use of what their plan limits: their live tasks, and the attempts
 * that they start.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { isFinal, liveCount, type Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";

/** How long a count is used before the tasks are counted again. */
const RECOUNT_MS = 60_000;
/** How many tenants have a count. */
const MAX_TENANTS = 10_000;

interface Count {
  countedAtMs: number;
  /** Live tasks; without those that are being created. */
  live: number;
  /** Tasks that are being created. */
  reserved: number;
}

/** Room for new tasks, taken before they are written. */
interface TaskRoom {
  /** How many of the wanted tasks have room. */
  readonly granted: number;
  /** How many live tasks there are. */
  readonly used: number;
  /** Returns the room, once the tasks were created, and so counted, or not. */
  release(): void;
}

/**
 * Counts live tasks of tenants whose plan limits them: in the store at first, then
 * by each change.
 */
export class ActiveTasks {
  readonly #store: Pick<Store, "counts">;
  readonly #clock: Clock;
  readonly #counts = new BoundedMap<string, Count>({
    maxEntries: MAX_TENANTS,
  });

  /** Counts nothing yet; it has to hear of all changes from then on. */
  constructor(
    parts: { readonly store: Pick<Store, "counts">; readonly clock: Clock },
  ) {
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  /** Hears of a task that changed; one side is absent when it is new or gone. */
  heard(previous: Task | undefined, next: Task | undefined): void {
    const task = next ?? previous;
    const count = task && this.#counts.get(task.tenantId);
    if (count === undefined) return;
    const was = previous !== undefined && !isFinal(previous.status);
    const is = next !== undefined && !isFinal(next.status);
    count.live += Number(is) - Number(was);
  }

  /** Reserves room for as many of `wanted` new tasks as the limit allows. */
  async reserve(
    tenantId: string,
    { wanted, limit }: { readonly wanted: number; readonly limit: number },
  ): Promise<TaskRoom> {
    const count = await this.#count(tenantId);
    const room = Math.max(0, limit - count.live - count.reserved);
    const granted = Math.min(wanted, room);
    count.reserved += granted;
    let isReleased = false;
    return {
      granted,
      used: count.live,
      release() {
        if (isReleased) return;
        isReleased = true;
        count.reserved -= granted;
      },
    };
  }

  async #count(tenantId: string): Promise<Count> {
    const nowMs = this.#clock.nowMs();
    const known = this.#counts.get(tenantId);
    if (known !== undefined && this.#isFresh(known, nowMs)) return known;
    const counted = await this.#store.counts({ tenantId });
    const live = liveCount(counted);
    // Another request may have counted by now, and its count has changed since.
    const there = this.#counts.get(tenantId);
    if (there !== undefined) {
      if (!this.#isFresh(there, nowMs)) {
        there.live = live;
        there.countedAtMs = nowMs;
      }
      return there;
    }
    const count = { countedAtMs: nowMs, live, reserved: 0 };
    this.#counts.set(tenantId, count);
    return count;
  }

  #isFresh({ countedAtMs }: Count, nowMs: number): boolean {
    const ageMs = nowMs - countedAtMs;
    return ageMs >= 0 && ageMs < RECOUNT_MS;
  }
}

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
 * Counts the attempts that tenants start. Gathers counts for a second and writes them in one; a crash loses what was
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
