/**
 * What instances tell each other about their floors: where they have written
 * something that others, who begin their looks higher, would not find. It goes
 * in bundles, and what is lost costs a look without floors.
 *
 * @module
 */

import type { Clock, Timer } from "../../../shared/clock.ts";

/** A task that may be taken, or the instant of one that is to be woken. */
export interface DuePlace {
  /** The worker's number. */
  readonly lane: number;
  /** The job. */
  readonly job: string;
  /** The group. */
  readonly group: string;
  /** The rank. */
  readonly rank: number;
}

/** Lower places than others may know of. */
export interface FloorNotice {
  /** Tells it from notices of the service. */
  readonly kind: "floors";
  /** The lowest place of each worker, job and group. */
  readonly due: readonly DuePlace[];
  /** The earliest instant to wake a task; absent when there is none. */
  readonly wakeAtMs?: number | undefined;
  /** Whether there were too many to name. */
  readonly isAll?: boolean | undefined;
}

/** How long news are gathered. */
const GATHER_MS = 5;
/** The most places that a notice names. */
const MAX_PLACES = 50;

/** Gathers news and tells them. */
export class FloorNews {
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #tell: (notice: FloorNotice) => void;
  #places = new Map<string, DuePlace>();
  #wakeAtMs: number | undefined;
  #timer: Timer | undefined;

  /** Takes what sets timers and what sends a notice. */
  constructor(
    clock: Pick<Clock, "setTimer">,
    tell: (notice: FloorNotice) => void,
  ) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Tells soon that a task may be taken. */
  due(place: DuePlace): void {
    const { lane, job, group, rank } = place;
    const key = JSON.stringify([lane, job, group]);
    const before = this.#places.get(key);
    if (before !== undefined && before.rank <= rank) return;
    this.#places.set(key, place);
    this.#flushSoon();
  }

  /** Tells soon that a task is to be woken. */
  wake(atMs: number): void {
    if (atMs >= (this.#wakeAtMs ?? Infinity)) return;
    this.#wakeAtMs = atMs;
    this.#flushSoon();
  }

  /** Tells what was gathered, at once. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const places = [...this.#places.values()];
    const wakeAtMs = this.#wakeAtMs;
    if (places.length === 0 && wakeAtMs === undefined) return;
    this.#places = new Map();
    this.#wakeAtMs = undefined;
    const isAll = places.length > MAX_PLACES;
    this.#tell({
      kind: "floors",
      due: isAll ? [] : places,
      wakeAtMs,
      ...(isAll ? { isAll } : {}),
    });
  }

  #flushSoon(): void {
    this.#timer ??= this.#clock.setTimer(() => this.flush(), GATHER_MS);
  }
}

/** The news in a notice; undefined when it is another one. */
export function readFloorNotice(notice: unknown): FloorNotice | undefined {
  if (typeof notice !== "object" || notice === null) return undefined;
  const { kind, due, wakeAtMs, isAll } = notice as Partial<FloorNotice>;
  // Every role of the database may notify.
  const isWhole = kind === "floors" && Array.isArray(due) &&
    due.every(isPlace) &&
    (wakeAtMs === undefined || Number.isFinite(wakeAtMs));
  return isWhole ? { kind, due, wakeAtMs, isAll: isAll === true } : undefined;
}

function isPlace(place: unknown): place is DuePlace {
  if (typeof place !== "object" || place === null) return false;
  const { lane, job, group, rank } = place as Partial<DuePlace>;
  return typeof lane === "number" && typeof job === "string" &&
    typeof group === "string" && Number.isFinite(rank);
}
