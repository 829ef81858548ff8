/**
 * Finds the occurrences of simple cron expressions the slow way, by looking at
 * every minute of a span, to check the fast way. It reads the zone's clock
 * through `Intl`, so that it shares no code with what is tested.
 *
 * @module
 */

const MINUTE_MS = 60_000;

/** A span of whole minutes that includes both ends. */
export interface MinuteSpan {
  /** The first minute, in milliseconds since the epoch. */
  readonly fromMs: number;
  /** The last minute. */
  readonly throughMs: number;
}

/** What a clock shows at an instant. */
export interface ClockReading {
  /** The instant. */
  readonly atMs: number;
  /** The wall time, as the instant at which a clock in UTC shows it. */
  readonly wallMs: number;
}

/** The times of a cron expression that fires every day. */
export interface DailyTimes {
  /** Matching hours. */
  readonly hours: readonly number[];
  /** Matching minutes. */
  readonly minutes: readonly number[];
  /** Whether they are fixed times. */
  readonly isFixedTime: boolean;
}

/**
 * Returns the occurrences within the clock readings of a span, in rising order.
 * A clock change shortly before the span is not taken into account.
 */
export function slowOccurrences(
  times: DailyTimes,
  clock: readonly ClockReading[],
): readonly number[] {
  const matches = ({ wallMs }: ClockReading): boolean => {
    const minute = Math.floor(wallMs / MINUTE_MS);
    return times.minutes.includes(minute % 60) &&
      times.hours.includes(Math.floor(minute / 60) % 24);
  };
  if (!times.isFixedTime) {
    return clock.filter(matches).map(({ atMs }) => atMs);
  }
  const seen = new Set<number>();
  const found = new Set<number>();
  let highestMs = clock[0]?.wallMs ?? 0;
  for (const reading of clock) {
    // The clock was set forward: the times that it skipped fire now.
    for (
      let wallMs = highestMs + MINUTE_MS;
      wallMs < reading.wallMs;
      wallMs += MINUTE_MS
    ) {
      if (matches({ wallMs, atMs: 0 })) found.add(reading.atMs);
    }
    if (matches(reading) && !seen.has(reading.wallMs)) found.add(reading.atMs);
    seen.add(reading.wallMs);
    highestMs = Math.max(highestMs, reading.wallMs);
  }
  return [...found].sort((left, right) => left - right);
}

/** Reads a zone's clock at every minute of a span. */
export function readClock(
  span: MinuteSpan,
  timezone: string,
): readonly ClockReading[] {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const readings: ClockReading[] = [];
  for (let atMs = span.fromMs; atMs <= span.throughMs; atMs += MINUTE_MS) {
    const parts = new Map(
      format.formatToParts(atMs).map(({ type, value }) => [type, +value]),
    );
    const part = (name: Intl.DateTimeFormatPartTypes): number =>
      parts.get(name) ?? 0;
    const wallMs = Date.UTC(
      part("year"),
      part("month") - 1,
      part("day"),
      part("hour"),
      part("minute"),
    );
    readings.push({ atMs, wallMs });
  }
  return readings;
}
