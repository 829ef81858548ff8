/**
 * Counts what a plan limits: the live tasks of tenants, and the attempts that
 * they start.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { isFinal, liveCount, type Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";

/**
 * How long a count is used before the store is asked again, in milliseconds.
 */
const RECOUNT_MS = 60_000;
/** The most tenants whose counts are kept. */
const MAX_TENANTS = 10_000;

interface Count {
  countedAtMs: number;
  /** Live tasks, without those that are just being created. */
  live: number;
  /** Tasks that are just being created. */
  reserved: number;
}

/** A reservation of room for new tasks, made before they are written. */
interface TaskRoom {
  /** How many of the wanted tasks fit. */
  readonly granted: number;
  /** How many live tasks there are. */
  readonly used: number;
  /**
   * Releases the reservation, once the tasks are created and counted, or not
   * created.
   */
  release(): void;
}

/** A change of a task; see `TaskChange`. */
interface Change {
  readonly previous: Task | undefined;
  readonly next: Task | undefined;
}

/** Tells of changes of tasks. */
interface Changes {
  onChange(listen: (change: Change) => void): unknown;
}

/**
 * Counts the live tasks of tenants whose plan limits them: asks the store
 * first, and then follows each change. Where no plan limits them, it follows
 * none.
 */
export class ActiveTasks {
  readonly #store: Pick<Store, "counts">;
  readonly #clock: Clock;
  readonly #counts = new BoundedMap<string, Count>({
    maxEntries: MAX_TENANTS,
  });

  readonly #changes: Changes;
  #isListening = false;

  /** Starts without counts. */
  constructor(
    parts: { readonly store: Pick<Store, "counts">; readonly clock: Clock },
    changes: Changes,
  ) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#changes = changes;
  }

  #heard({ previous, next }: Change): void {
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
    if (!this.#isListening) {
      this.#changes.onChange((change) => this.#heard(change));
      this.#isListening = true;
    }
    const nowMs = this.#clock.nowMs();
    const known = this.#counts.get(tenantId);
    if (known !== undefined && this.#isFresh(known, nowMs)) return known;
    const counted = await this.#store.counts({ tenantId });
    const live = liveCount(counted);
    // Another request may have counted meanwhile, and its count has followed
    // changes since.
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

/** How long counts are gathered before they are written, in milliseconds. */
const GATHER_MS = 1_000;

/** Returns the period of usage counts: the month in UTC, `YYYY-MM`. */
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
 * Counts the attempts that tenants start. It gathers counts for a second and
 * writes them at once; a crash loses the counts of that second, but nothing
 * else.
 */
export class UsageCounter {
  readonly #parts: UsageParts;
  readonly #writing: Periodic;
  #pending = new Map<string, number>();
  /** Counts that are just being written. */
  #underWay = new Map<string, number>();

  /** Starts without counts. */
  constructor(parts: UsageParts) {
    this.#parts = parts;
    this.#writing = new Periodic({
      clock: parts.clock,
      run: () => this.#write(),
      retry: { firstMs: GATHER_MS, maxMs: GATHER_MS },
      onError: (error) => {
        parts.logger.warn("Cannot store counted use: the store failed", {
          error: String(error),
        });
      },
    });
    this.#writing.start();
  }

  /** Counts started attempts of a tenant. */
  count(tenantId: string, executions: number): void {
    add(this.#pending, tenantId, executions);
    this.#writing.wakeIn(GATHER_MS);
  }

  /**
   * The attempts of a tenant in the current period, including those not written
   * yet.
   */
  async executions(tenantId: string): Promise<number> {
    const { store, clock } = this.#parts;
    const period = usagePeriod(clock.nowMs());
    const { executions } = await store.usage(tenantId, period);
    return executions + (this.#underWay.get(tenantId) ?? 0) +
      (this.#pending.get(tenantId) ?? 0);
  }

  /** Writes the remaining counts and stops. */
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
      // The counts are written together with the next ones.
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
