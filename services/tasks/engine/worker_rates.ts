/**
 * The rate limit of a worker, for all of it or for each group.
 *
 * @module
 */

import { BoundedMap } from "../../shared/bounded_map.ts";
import type { WorkerDefinition } from "../domain/records.ts";
import { RateWindow } from "./rate_window.ts";

type WorkerRate = NonNullable<NonNullable<WorkerDefinition["limits"]>["rate"]>;

/**
 * Most groups whose starts are remembered. Rather a group that may go faster than
 * memory without a bound: the one that started nothing for longest is forgotten.
 */
const MAX_GROUPS = 10_000;

/**
 * Counts starts. They are remembered by this process alone: after a restart the
 * limit begins anew.
 */
export class WorkerRates {
  readonly #all = new RateWindow();
  readonly #groups = new BoundedMap<string, RateWindow>({
    maxEntries: MAX_GROUPS,
  });
  #bound: WorkerRate | undefined;

  /** How many tasks of the worker may start now. */
  room(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    this.#bound = rate;
    if (rate === undefined || rate.per !== "worker") return Infinity;
    return this.#all.room(rate, nowMs);
  }

  /** How many tasks of a group may start now. */
  groupRoom(
    worker: WorkerDefinition,
    { group, nowMs }: { readonly group: string; readonly nowMs: number },
  ): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "group") return Infinity;
    return this.#groups.peek(group)?.room(rate, nowMs) ?? rate.count;
  }

  /** When the next task may start, where a limit holds it back. */
  nextAtMs(worker: WorkerDefinition, nowMs: number): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "worker") return nowMs;
    return this.#all.nextAtMs(rate, nowMs);
  }

  /** When the next task of a group may start, where a limit holds it back. */
  groupNextAtMs(
    worker: WorkerDefinition,
    { group, nowMs }: { readonly group: string; readonly nowMs: number },
  ): number {
    const rate = worker.limits?.rate;
    if (rate === undefined || rate.per !== "group") return nowMs;
    return this.#groups.peek(group)?.nextAtMs(rate, nowMs) ?? nowMs;
  }

  /** Counts a start. */
  add(group: string, nowMs: number): void {
    if (this.#bound === undefined) return;
    this.#all.add(1, nowMs);
    if (this.#bound.per === "worker") return;
    let window = this.#groups.get(group);
    if (window === undefined) {
      window = new RateWindow();
      this.#groups.set(group, window);
    }
    window.add(1, nowMs);
  }

  /** Whether nothing would change if this were thrown away. */
  isIdle(nowMs: number): boolean {
    return this.#bound === undefined || this.#all.isIdle(this.#bound, nowMs);
  }
}
