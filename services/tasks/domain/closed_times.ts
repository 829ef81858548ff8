/**
 * Times at which a schedule has no slots, such as the days of a holiday
 * calendar, and the search for slots outside of them. A slot is left out when
 * its instant is closed, or when the zone's clock shows a closed time then.
 *
 * @module
 */

import { DAY_MS } from "../../shared/duration.ts";
import type { Span } from "./cron_schedule.ts";
import { lastOffsetChange, nextOffsetChange, offsetMsAt } from "./time_zone.ts";

/**
 * Spans of time as their beginnings and ends in turn, rising; a span does not
 * include its end, and none touches another.
 */
export type Spans = readonly number[];

/** Closed times that belong together, of a calendar or of a list of dates. */
export interface ClosedTimes {
  /** The name of the calendar; undefined for dates of the task itself. */
  readonly calendar?: string | undefined;
  /**
   * What clocks show, as the instants at which a clock in UTC shows it: whole
   * days, and times that mean any zone.
   */
  readonly walls: Spans;
  /** Instants, in milliseconds since the epoch. */
  readonly instants: Spans;
}

/** Puts spans in order, and joins those that overlap or touch. */
export function joinSpans(
  pairs: readonly (readonly [number, number])[],
): Spans {
  const spans: number[] = [];
  let lastMs = -Infinity;
  for (const [startMs, endMs] of [...pairs].sort(([a], [b]) => a - b)) {
    if (endMs <= startMs) continue;
    if (startMs > lastMs) spans.push(startMs, endMs);
    else if (endMs > lastMs) spans[spans.length - 1] = endMs;
    lastMs = Math.max(lastMs, endMs);
  }
  return spans;
}

/** The closed times of dates, given as days since the epoch. */
export function closedDays(days: readonly number[]): ClosedTimes {
  const walls = joinSpans(
    days.map((day) => [day * DAY_MS, (day + 1) * DAY_MS]),
  );
  return { walls, instants: [] };
}

/** A closed span that holds an instant; it may touch further ones. */
interface ClosedSpan extends Pick<ClosedTimes, "calendar"> {
  /** The first closed instant, in milliseconds since the epoch. */
  readonly startMs: number;
  /** The instant after the last closed one. */
  readonly endMs: number;
}

/** An occurrence at a closed time. */
export interface ClosedOccurrence extends Pick<ClosedTimes, "calendar"> {
  /** The instant, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** A span of time in which the offset of a zone stays the same. */
interface Stretch {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
}

/** A list of closed times in a zone. */
export class Closures {
  readonly #closed: readonly ClosedTimes[];
  readonly #timezone: string;
  #stretch: Stretch = { startMs: NaN, endMs: NaN, offsetMs: NaN };

  /** Takes the closed times, and the zone whose clock tells the days. */
  constructor(closed: readonly ClosedTimes[], timezone: string) {
    this.#closed = closed;
    this.#timezone = timezone;
  }

  /** The closed span that holds an instant; undefined when it is open. */
  at(atMs: number): ClosedSpan | undefined {
    for (const { calendar, walls, instants } of this.#closed) {
      const found = holding(instants, atMs) ?? this.#wallSpan(walls, atMs);
      if (found !== undefined) return { calendar, ...found };
    }
    return undefined;
  }

  /**
   * The first occurrence after an instant that is open.
   *
   * @param find the first occurrence after an instant, open or not
   */
  firstOpen(
    afterMs: number,
    find: (afterMs: number) => number | undefined,
  ): number | undefined {
    let atMs = find(afterMs);
    while (atMs !== undefined) {
      const span = this.at(atMs);
      if (span === undefined) return atMs;
      atMs = find(span.endMs - 1);
    }
    return undefined;
  }

  /**
   * The last occurrence of a span that is open.
   *
   * @param find the last occurrence of a span, open or not
   */
  lastOpen(
    { afterMs, throughMs }: Span,
    find: (span: Span) => number | undefined,
  ): number | undefined {
    let atMs = find({ afterMs, throughMs });
    while (atMs !== undefined) {
      const span = this.at(atMs);
      if (span === undefined) return atMs;
      if (span.startMs - 1 <= afterMs) return undefined;
      atMs = find({ afterMs, throughMs: span.startMs - 1 });
    }
    return undefined;
  }

  /**
   * Counts the occurrences of a span that are open.
   *
   * @param count counts the occurrences of a span, open or not
   */
  countOpen(
    { afterMs, throughMs }: Span,
    count: (span: Span) => number,
  ): number {
    let open = count({ afterMs, throughMs });
    let startMs = this.#nextClosed(afterMs + 1);
    while (startMs <= throughMs) {
      const endMs = this.at(startMs)?.endMs ?? startMs + 1;
      open -= count({
        afterMs: startMs - 1,
        throughMs: Math.min(endMs - 1, throughMs),
      });
      startMs = this.#nextClosed(endMs);
    }
    return open;
  }

  /**
   * The first occurrences of a span that are closed, at most `limit`.
   *
   * @param find the first occurrence after an instant, open or not
   */
  closedIn(
    { afterMs, throughMs }: Span,
    { limit, find }: {
      readonly limit: number;
      readonly find: (afterMs: number) => number | undefined;
    },
  ): readonly ClosedOccurrence[] {
    const found: ClosedOccurrence[] = [];
    let startMs = this.#nextClosed(afterMs + 1);
    while (startMs <= throughMs && found.length < limit) {
      const span = this.at(startMs);
      const endMs = Math.min(span?.endMs ?? startMs + 1, throughMs + 1);
      let atMs = find(startMs - 1);
      while (atMs !== undefined && atMs < endMs && found.length < limit) {
        found.push({ atMs, calendar: span?.calendar });
        atMs = find(atMs);
      }
      if (atMs === undefined) break;
      startMs = this.#nextClosed(
        Math.max(endMs, Math.min(atMs, throughMs + 1)),
      );
    }
    return found;
  }

  /** The first closed instant from an instant on; Infinity when none is. */
  #nextClosed(fromMs: number): number {
    let firstMs = Infinity;
    for (const { walls, instants } of this.#closed) {
      const index = findIndex(instants, fromMs);
      const startMs = instants[index] ?? Infinity;
      firstMs = Math.min(
        firstMs,
        Math.max(startMs, fromMs),
        this.#nextWall(walls, fromMs),
      );
    }
    return firstMs;
  }

  /** The instants around `atMs` at which the clock shows a time of a span. */
  #wallSpan(
    walls: Spans,
    atMs: number,
  ): { readonly startMs: number; readonly endMs: number } | undefined {
    if (walls.length === 0) return undefined;
    const { startMs, endMs, offsetMs } = this.#stretchAt(atMs);
    const found = holding(walls, atMs + offsetMs);
    return found && {
      startMs: Math.max(found.startMs - offsetMs, startMs),
      endMs: Math.min(found.endMs - offsetMs, endMs),
    };
  }

  #nextWall(walls: Spans, fromMs: number): number {
    // A clock that is set back may show a span again shortly after its end.
    const lastMs = (walls.at(-1) ?? -Infinity) + MARGIN_MS;
    let atMs = fromMs;
    for (;;) {
      const { endMs, offsetMs } = this.#stretchAt(atMs);
      const wallMs = atMs + offsetMs;
      if (wallMs > lastMs) return Infinity;
      const startMs = walls[findIndex(walls, wallMs)] ?? Infinity;
      const foundMs = Math.max(wallMs, startMs) - offsetMs;
      if (foundMs < endMs || endMs === Infinity) return foundMs;
      atMs = endMs;
    }
  }

  /** The instants around `atMs` between two changes of the zone's offset. */
  #stretchAt(atMs: number): Stretch {
    // A search stays within a few stretches.
    const { startMs, endMs } = this.#stretch;
    if (startMs <= atMs && atMs < endMs) return this.#stretch;
    const timezone = this.#timezone;
    return this.#stretch = {
      startMs: lastOffsetChange(atMs, timezone) ?? -Infinity,
      endMs: nextOffsetChange(atMs, timezone) ?? Infinity,
      offsetMs: offsetMsAt(atMs, timezone),
    };
  }
}

/** An upper bound on how far a clock is ever set back. */
const MARGIN_MS = 2 * DAY_MS;

/** The span that holds a time; undefined when none does. */
function holding(
  spans: Spans,
  timeMs: number,
): { readonly startMs: number; readonly endMs: number } | undefined {
  const index = findIndex(spans, timeMs);
  const [startMs = Infinity, endMs = Infinity] = spans.slice(index, index + 2);
  return startMs <= timeMs ? { startMs, endMs } : undefined;
}

/** The index of the first span that ends after a time. */
function findIndex(spans: Spans, timeMs: number): number {
  let [low, high] = [0, spans.length / 2];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((spans[middle * 2 + 1] ?? Infinity) > timeMs) high = middle;
    else low = middle + 1;
  }
  return low * 2;
}
