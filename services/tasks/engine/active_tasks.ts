/**
 * How many live tasks tenants have, for plans that bound them.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { isFinal, LIVE_STATUSES, type Task } from "../domain/task.ts";
import type { Store } from "../store/store.ts";

/** After how long a count is made anew, whatever was heard since. */
const RECOUNT_MS = 60_000;
/** Most tenants whose counts are kept. */
const MAX_TENANTS = 10_000;

interface Count {
  countedAtMs: number;
  /** Live tasks; those that are being made are not among them. */
  live: number;
  /** Tasks that are being made. */
  reserved: number;
}

/** Room for new tasks, taken before they are written. */
export interface Reservation {
  /** How many of the wanted tasks there is room for. */
  readonly granted: number;
  /** Live tasks that there were. */
  readonly used: number;
  /** Gives the room back: the tasks are made by now and counted, or are not. */
  release(): void;
}

/**
 * Counts live tasks of tenants that have a bound: in the store at first, then by
 * what is heard of changes.
 */
export class ActiveTasks {
  readonly #store: Pick<Store, "counts">;
  readonly #clock: Clock;
  readonly #counts = new BoundedMap<string, Count>({
    maxEntries: MAX_TENANTS,
  });

  /** Counts nothing yet; it has to hear of all changes from now on. */
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

  /** Takes room for as many of `wanted` new tasks as the limit allows. */
  async reserve(
    tenantId: string,
    { wanted, limit }: { readonly wanted: number; readonly limit: number },
  ): Promise<Reservation> {
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
    const live = LIVE_STATUSES.reduce(
      (sum, status) => sum + (counted[status] ?? 0),
      0,
    );
    // Somebody else may have counted meanwhile, and has heard more since.
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
