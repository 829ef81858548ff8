/**
 * Limits of groups that several workers of a tenant share: how many tasks of a
 * group run at all of them, and when tasks of it were last started.
 *
 * Rounds of such workers take turns, so that no two of them fill the same room.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import type { EngineParts } from "./parts.ts";
import { MAX_GROUPS, type RateBound, RateWindow } from "./rates.ts";

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
  { store, workers }: Pick<EngineParts, "store" | "workers">,
): Promise<ReadonlyMap<string, number>> {
  const groups = new Map<string, number>();
  for (
    const { workerId, group, count } of await store.runningGroups(tenantId)
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
