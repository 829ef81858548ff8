/**
 * Remembers, for each worker, the groups with tasks that may be taken, and the
 * rank at which the tasks of each begin.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { BoundedMap } from "../../../shared/bounded_map.ts";
import { Floor, FLOOR_AGE_MS, REST_PER_LOOK, SHORT_AGE_MS } from "./floor.ts";

/** The most queues that are remembered. */
const MAX_QUEUES = 20_000;
/** The most groups of a queue; with more, each look finds them again. */
const MAX_GROUPS = 1_000;

/** What may be taken of a worker: all of its tasks, or those of one job. */
export interface DueQueue {
  /** The worker's number. */
  readonly lane: number;
  /** The job; undefined for all. */
  readonly job: string | undefined;
}

/** What looks without floors have found below those from before. */
export interface FloorMisses {
  /** How often: a notice of another instance was lost or came late. */
  readonly count: number;
  /** The largest distance in milliseconds of rank; 0 without one. */
  readonly gapMs: number;
}

const NO_MISSES: FloorMisses = { count: 0, gapMs: 0 };

interface Known {
  readonly floors: Map<string, Floor>;
  /** Where floors were before all groups were found again. */
  readonly before: Map<string, number>;
  /** When all groups were last found, by a clock that only goes forward. */
  readonly foundAtMs: number;
  /** How long they are relied on at least. */
  readonly restMs: number;
  /** The names in their order; undefined when they have changed. */
  sorted: readonly string[] | undefined;
}

/** The floors of all groups of all queues. */
export class DueFloors {
  readonly #monotonicMs: () => number;
  readonly #queues = new BoundedMap<string, Known>({ maxEntries: MAX_QUEUES });
  #misses = NO_MISSES;

  /** Takes milliseconds of a clock that only goes forward. */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * The groups of a queue in the order of their bytes; undefined when they have
   * to be found.
   */
  groups(queue: DueQueue): readonly string[] | undefined {
    const known = this.#queues.get(keyOf(queue));
    if (known === undefined || this.#isOlder(known, FLOOR_AGE_MS)) {
      return undefined;
    }
    return known.sorted ??= [...known.floors.keys()].sort(compareBytes);
  }

  /** Whether groups that were found some time ago may lack some. */
  mayLack(queue: DueQueue): boolean {
    const known = this.#queues.get(keyOf(queue));
    return known === undefined || this.#isOlder(known, SHORT_AGE_MS);
  }

  /**
   * Notes that all groups of a queue were looked for, and which there are.
   *
   * @param tookMs how long that took
   */
  found(queue: DueQueue, groups: readonly string[], tookMs: number): void {
    const key = keyOf(queue);
    if (groups.length > MAX_GROUPS) {
      this.#queues.delete(key);
      return;
    }
    const before = new Map<string, number>();
    for (const [group, { at }] of this.#queues.get(key)?.floors ?? []) {
      before.set(group, at);
    }
    this.#queues.set(key, {
      before,
      floors: new Map(groups.map((group) => [group, new Floor(-Infinity)])),
      foundAtMs: this.#monotonicMs(),
      restMs: REST_PER_LOOK * tookMs,
      sorted: undefined,
    });
  }

  /** The floor of a group; a new one where none is remembered. */
  floor(queue: DueQueue, group: string): Floor {
    return this.#queues.get(keyOf(queue))?.floors.get(group) ??
      new Floor(-Infinity);
  }

  /** Notes the first rank that a look at a group has found. */
  looked(queue: DueQueue, group: string, first: number): void {
    const before = this.#queues.get(keyOf(queue))?.before;
    const was = before?.get(group);
    if (was === undefined) return;
    before?.delete(group);
    if (first >= was) return;
    const gapMs = was === Infinity ? 0 : was - first;
    this.#misses = {
      count: this.#misses.count + 1,
      gapMs: Math.max(this.#misses.gapMs, gapMs),
    };
  }

  /** Gives, once each, what looks have found below floors. */
  takeMisses(): FloorMisses {
    const misses = this.#misses;
    this.#misses = NO_MISSES;
    return misses;
  }

  /** Notes that a group has no more tasks, unless some were written. */
  empty(queue: DueQueue, group: string): void {
    const known = this.#queues.get(keyOf(queue));
    if (known?.floors.get(group)?.at !== Infinity) return;
    known.floors.delete(group);
    known.sorted = undefined;
  }

  /** Notes that a task may be taken. */
  lower(
    lane: number,
    { job, group, rank }: {
      readonly job: string;
      readonly group: string;
      readonly rank: number;
    },
  ): void {
    this.#lowerOne({ lane, job: undefined }, group, rank);
    this.#lowerOne({ lane, job }, group, rank);
  }

  /** Forgets everything, as something unknown may have been written. */
  clear(): void {
    this.#queues.clear();
  }

  #lowerOne(queue: DueQueue, group: string, rank: number): void {
    const known = this.#queues.get(keyOf(queue));
    if (known === undefined) return;
    const was = known.before.get(group);
    if (was !== undefined && rank < was) known.before.set(group, rank);
    const floor = known.floors.get(group);
    if (floor !== undefined) return floor.lower(rank);
    if (known.floors.size >= MAX_GROUPS) {
      this.#queues.delete(keyOf(queue));
      return;
    }
    known.floors.set(group, new Floor(rank));
    known.sorted = undefined;
  }

  #isOlder({ foundAtMs, restMs }: Known, ageMs: number): boolean {
    return this.#monotonicMs() - foundAtMs >= Math.max(ageMs, restMs);
  }
}

/** Compares texts as the database does: by their bytes in UTF-8. */
export function compareBytes(left: string, right: string): number {
  return left === right
    ? 0
    : Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function keyOf({ lane, job }: DueQueue): string {
  return job === undefined ? `${lane}` : `${lane} ${job}`;
}
