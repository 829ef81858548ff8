/**
 * Counts what a plan limits: the live tasks of tenants, and the attempts that
 * they start.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { Periodic } from "../../shared/periodic.ts";
import { isFinal, liveCount, type Task } from "../domain/task.ts";
import type { Store, Write } from "../store/store.ts";

/**
 * How long a count is used before the store is asked again, in milliseconds.
 */
const RECOUNT_MS = 60_000;
/**
 * How old a count may be by which a task is refused, in milliseconds: other
 * instances may have ended tasks since, of which this one does not hear.
 */
const REFUSING_MS = 1_000;
/** The most tenants whose counts are kept. */
const MAX_TENANTS = 10_000;

interface Count {
  /** When it was counted, by a steady clock; it is not used when it is stale. */
  countedAtMs: number;
  /** The reading of the store that is under way, which all share. */
  reading?: Promise<void> | undefined;
  /** Live tasks, without those that are just being created. */
  live: number;
  /** Tasks that are just being created. */
  reserved: number;
}

/** A reservation of room for new tasks, made before they are written. */
export interface TaskRoom {
  /** How many of the wanted tasks fit. */
  readonly granted: number;
  /** How many live tasks there are. */
  readonly used: number;
  /**
   * Writes that make a commit conflict when there is no room for so many of the
   * tasks, since other instances may have filled it meanwhile. The commit's
   * sender calls {@linkcode ActiveTasks.recount} then, and begins again.
   */
  require(adds: number): readonly Write[];
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
 *
 * Other instances make and end tasks, too, so the count only proposes: it tells
 * how many tasks of a request fit, and spares the store commits that it would
 * refuse. The commit decides, by the write of {@linkcode TaskRoom.require}, so
 * that there are never more tasks than the limit.
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
    this.#clock = steadyClock(parts.clock);
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
    const roomIn = ({ live, reserved }: Count): number =>
      Math.max(0, limit - live - reserved);
    let count = await this.#count(tenantId, RECOUNT_MS);
    if (roomIn(count) < wanted) {
      count = await this.#count(tenantId, REFUSING_MS);
    }
    const granted = Math.min(wanted, roomIn(count));
    count.reserved += granted;
    let isReleased = false;
    return {
      granted,
      used: count.live,
      require: (adds) =>
        adds === 0 ? [] : [{ kind: "quota", tenantId, adds, limit }],
      release() {
        if (isReleased) return;
        isReleased = true;
        count.reserved -= granted;
      },
    };
  }

  /**
   * Asks the store before the tenant's count is used again, since a commit has
   * shown that it is out of date.
   */
  recount(tenantId: string): void {
    const count = this.#counts.get(tenantId);
    if (count !== undefined) count.countedAtMs = -Infinity;
  }

  /** The count of a tenant, which is at most so old. */
  async #count(tenantId: string, maxAgeMs: number): Promise<Count> {
    if (!this.#isListening) {
      this.#changes.onChange((change) => this.#heard(change));
      this.#isListening = true;
    }
    let count = this.#counts.get(tenantId);
    if (count === undefined) {
      count = { countedAtMs: -Infinity, live: 0, reserved: 0 };
      this.#counts.set(tenantId, count);
    }
    const nowMs = this.#clock.nowMs();
    // A stale count is read once for all requests that come meanwhile; it
    // follows changes from the moment on at which it was read.
    if (nowMs - count.countedAtMs >= maxAgeMs) {
      count.reading ??= this.#read(tenantId, count)
        .finally(() => delete count.reading);
      await count.reading;
    }
    return count;
  }

  async #read(tenantId: string, count: Count): Promise<void> {
    const nowMs = this.#clock.nowMs();
    count.live = liveCount(await this.#store.counts({ tenantId }));
    count.countedAtMs = nowMs;
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
 * else. Instances add to one sum, so none is lost; what others have started in
 * the last second is not seen yet, so a tenant may exceed its monthly limit by
 * that much.
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
