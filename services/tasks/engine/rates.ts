/**
 * The rate limit of a worker, for the whole worker or for each group: at most a
 * number of starts within any period; and the limits of groups that several
 * workers of a tenant share. Rounds of such workers take turns, so that no two
 * of them fill the same room.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { ClaimView } from "../store/store.ts";
import type { EngineParts } from "./parts.ts";

/** A limit on starts. */
interface RateBound {
  /** The most starts within the period. */
  readonly count: number;
  /** The length of the period, in milliseconds. */
  readonly periodMs: number;
}

/** The recent starts, as far as they still count for the limit. */
export class RateWindow {
  /** Times of the last starts, oldest first. */
  #starts: number[] = [];

  /** How many starts it remembers. */
  get size(): number {
    return this.#starts.length;
  }

  /**
   * How many tasks may start now.
   *
   * @param kept the bound whose starts are remembered, if others need more
   */
  room(bound: RateBound, nowMs: number, kept = bound): number {
    this.#forget(kept, nowMs);
    return Math.max(0, bound.count - this.#startsWithin(bound, nowMs));
  }

  /**
   * When the next task may start; `nowMs` when it may start now. For `kept` see
   * {@linkcode room}.
   */
  nextAtMs(bound: RateBound, nowMs: number, kept = bound): number {
    this.#forget(kept, nowMs);
    if (this.#startsWithin(bound, nowMs) < bound.count) return nowMs;
    const start = this.#starts[this.#starts.length - bound.count];
    return (start ?? nowMs) + bound.periodMs;
  }

  /** Counts a start, even one beyond the limit. */
  add(bound: RateBound, nowMs: number): void {
    this.#starts.push(nowMs);
    // Only the last `count` starts matter. Older ones are dropped in bulk,
    // since each drop moves all others.
    const excess = this.#starts.length - bound.count;
    if (excess > bound.count) this.#starts.splice(0, excess);
  }

  /** Whether no start counts for the limit. */
  isIdle(bound: RateBound, nowMs: number): boolean {
    this.#forget(bound, nowMs);
    return this.#starts.length === 0;
  }

  #startsWithin({ periodMs }: RateBound, nowMs: number): number {
    const first = this.#starts.findIndex((start) => start > nowMs - periodMs);
    return first < 0 ? 0 : this.#starts.length - first;
  }

  #forget({ periodMs }: RateBound, nowMs: number): void {
    const [first = Infinity] = this.#starts;
    const last = this.#starts.at(-1) ?? -Infinity;
    if (first > nowMs - periodMs && last <= nowMs) return;
    // A start in the future dates from before the clock was set back. It counts
    // as one of now, or the limit would be exceeded.
    this.#starts = this.#starts.filter((start) => start > nowMs - periodMs)
      .map((start) => Math.min(start, nowMs));
  }
}

type WorkerRate = NonNullable<NonNullable<WorkerDefinition["limits"]>["rate"]>;

/**
 * The most groups whose starts are remembered. Beyond that, the group that has
 * started nothing for longest is evicted: it may exceed its rate, but memory is
 * bounded.
 */
const MAX_GROUPS = 10_000;

/**
 * The rate limiter of a worker. It remembers starts in memory only: after a
 * restart the limit counts from zero.
 */
export class WorkerRates {
  readonly #all = new RateWindow();
  readonly #groups = new BoundedMap<string, RateWindow>({
    maxEntries: MAX_GROUPS,
  });
  #rate: WorkerRate | undefined;

  /** How many tasks of the worker may start now. */
  room(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    this.#rate = rate;
    if (rate === undefined || rate.per !== "worker") return Infinity;
    return this.#all.room(rate, nowMs);
  }

  /** How many tasks of a group may start now. */
  groupRoom(worker: WorkerDefinition, group: string, nowMs: number): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "group") return Infinity;
    return this.#groups.peek(group)?.room(rate, nowMs) ?? rate.count;
  }

  /**
   * When the next task of the worker may start; `nowMs` when no limit holds it
   * back.
   */
  nextAtMs(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "worker") return nowMs;
    return this.#all.nextAtMs(rate, nowMs);
  }

  /**
   * When the next task of a group may start; `nowMs` when no limit holds it
   * back.
   */
  groupNextAtMs(
    worker: WorkerDefinition,
    group: string,
    nowMs: number,
  ): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "group") return nowMs;
    return this.#groups.peek(group)?.nextAtMs(rate, nowMs) ?? nowMs;
  }

  /** Counts a start. */
  add(group: string, nowMs: number): void {
    const rate = this.#rate;
    if (rate === undefined) return;
    this.#all.add(rate, nowMs);
    if (rate.per === "worker") return;
    let window = this.#groups.get(group);
    if (window === undefined) {
      window = new RateWindow();
      this.#groups.set(group, window);
    }
    window.add(rate, nowMs);
  }

  /** Whether no start counts for the limit. */
  isIdle(nowMs: number): boolean {
    return this.#rate === undefined || this.#all.isIdle(this.#rate, nowMs);
  }
}

/** Tells whether a worker shares the limits of its groups. */
export function isSharing({ limits }: WorkerDefinition): boolean {
  return limits?.groupScope === "tenant";
}

/**
 * How many tasks of each group are running, at all workers of the tenant that
 * share their limits.
 */
export async function sharedRunning(
  tenantId: string,
  { view, workers }: Pick<EngineParts, "workers"> & {
    readonly view: Pick<ClaimView, "runningGroups">;
  },
): Promise<ReadonlyMap<string, number>> {
  const groups = new Map<string, number>();
  for (
    const { workerId, group, count } of await view.runningGroups(tenantId)
  ) {
    const worker = await workers.get(tenantId, workerId);
    if (worker === undefined || !isSharing(worker)) continue;
    groups.set(group, (groups.get(group) ?? 0) + count);
  }
  return groups;
}

/** The claims of a worker that shares the limits of its groups. */
interface Member {
  /** Starts a round if there are waiters. */
  trigger(): void;
}

/** The groups that workers of one tenant share. */
export class SharedGroups {
  readonly #members = new Set<Member>();
  readonly #windows = new BoundedMap<string, RateWindow>({
    maxEntries: MAX_GROUPS,
  });
  /** The bound that covers those of all members. */
  #widest: RateBound = { count: 0, periodMs: 0 };
  #turn: Promise<unknown> = Promise.resolve();

  /** Whether no worker is known that shares. */
  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** Adds a worker's claims, and what its rate needs to be remembered. */
  join(member: Member, { limits }: WorkerDefinition): void {
    this.#members.add(member);
    const { count = 0, periodMs = 0 } = limits?.rate ?? {};
    this.#widest = {
      count: Math.max(count, this.#widest.count),
      periodMs: Math.max(periodMs, this.#widest.periodMs),
    };
  }

  /** Removes a worker's claims. */
  leave(member: Member): void {
    this.#members.delete(member);
  }

  /** Runs a round when those before it have ended. */
  async inTurn<Result>(round: () => Promise<Result>): Promise<Result> {
    const before = this.#turn;
    const turn = before.then(round, round);
    this.#turn = turn.catch(() => {});
    return await turn;
  }

  /** Starts rounds of the other members, since tasks of a group have ended. */
  triggerOthers(ended: Member | undefined): void {
    for (const member of this.#members) if (member !== ended) member.trigger();
  }

  /** How many tasks of a group may start by a rate. */
  room(group: string, rate: RateBound, nowMs: number): number {
    return this.#windows.peek(group)?.room(rate, nowMs, this.#widest) ??
      rate.count;
  }

  /** When the next task of a group may start by a rate. */
  nextAtMs(group: string, rate: RateBound, nowMs: number): number {
    return this.#windows.peek(group)?.nextAtMs(rate, nowMs, this.#widest) ??
      nowMs;
  }

  /** Counts a start. */
  add(group: string, nowMs: number): void {
    if (this.#widest.count === 0 || group === "") return;
    let window = this.#windows.get(group);
    if (window === undefined) {
      window = new RateWindow();
      this.#windows.set(group, window);
    }
    window.add(this.#widest, nowMs);
  }
}
