/**
 * IANA time zones: checks their names and converts between wall time and
 * elapsed time.
 *
 * A wall time is a number here as well: the milliseconds since the epoch at
 * which a clock in UTC shows the same time.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";

/** The outcome of reading the name of a time zone. */
type TimeZoneOutcome =
  | {
    readonly kind: "ok";
    /** The name as the IANA database spells it. */
    readonly value: string;
  }
  | {
    readonly kind: "invalid";
    /** The code of the problem. */
    readonly code: "bad_timezone";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** The instants at which a zone's clock shows a wall time. */
type WallReading =
  | {
    /** The clock shows the wall time once. */
    readonly kind: "single";
    /** The instant at which the clock shows it. */
    readonly atMs: number;
  }
  | {
    /** The clock is set back and shows the wall time twice. */
    readonly kind: "overlap";
    /** The instant at which the clock shows it first. */
    readonly atMs: number;
    /** The instant at which the clock shows it again. */
    readonly secondMs: number;
    /** The wall time at which the clock is set back. */
    readonly endWallMs: number;
  }
  | {
    /** The clock is set forward and skips the wall time. */
    readonly kind: "gap";
    /** The first instant after the gap. */
    readonly endMs: number;
    /**
     * The instant as far after the end of the gap as the wall time is after its
     * beginning.
     */
    readonly shiftedMs: number;
  };

/** Names begin with a letter; this keeps offsets such as `+02:00` out. */
const NAME = /^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/;

const UTC = "UTC";

const NS_PER_MS = 1_000_000;

/**
 * Parses the name of an IANA time zone, in any case. Offsets such as `+02:00`
 * are refused, since they have no clock changes; `Etc/GMT-2` has the same
 * effect.
 */
export function parseTimeZone(input: unknown): TimeZoneOutcome {
  if (typeof input !== "string") {
    return invalid("Cannot read time zone: it is not text");
  }
  const shown = quote(input, { maxChars: 64 });
  if (!NAME.test(input)) {
    return invalid(
      `Cannot read time zone ${shown}: it is no name of the IANA database, ` +
        `such as "Europe/Stockholm"`,
    );
  }
  // UTC is the default and the zone of most tasks; with this shortcut the time
  // zone database need not be loaded.
  if (input.toUpperCase() === UTC) return { kind: "ok", value: UTC };
  try {
    return {
      kind: "ok",
      value: new Temporal.ZonedDateTime(0n, input).timeZoneId,
    };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const meant = suggestion(input);
    const hint = meant === undefined ? "" : `; did you mean "${meant}"?`;
    return invalid(
      `Cannot read time zone ${shown}: the IANA database has no such name${hint}`,
    );
  }
}

/** The zone's offset from UTC at an instant, in milliseconds. */
export function offsetMsAt(atMs: number, timezone: string): number {
  return zoned(atMs, timezone).offsetNanoseconds / NS_PER_MS;
}

/**
 * The first instant after `atMs` at which the zone's offset changes, if any.
 */
export function nextOffsetChange(
  atMs: number,
  timezone: string,
): number | undefined {
  return zoned(atMs, timezone).getTimeZoneTransition("next")
    ?.epochMilliseconds;
}

/** The last instant up to `atMs` at which the zone's offset changed, if any. */
export function lastOffsetChange(
  atMs: number,
  timezone: string,
): number | undefined {
  return zoned(atMs + 1, timezone).getTimeZoneTransition("previous")
    ?.epochMilliseconds;
}

/** Finds out when a zone's clock shows a wall time. */
export function readWall(wallMs: number, timezone: string): WallReading {
  const wall = plain(wallMs);
  const earlier = wall.toZonedDateTime(timezone, { disambiguation: "earlier" });
  const later = wall.toZonedDateTime(timezone, { disambiguation: "later" });
  const atMs = earlier.epochMilliseconds;
  if (atMs === later.epochMilliseconds) return { kind: "single", atMs };
  const changeMs = earlier.getTimeZoneTransition("next")?.epochMilliseconds ??
    atMs;
  if (!earlier.toPlainDateTime().equals(wall)) {
    return {
      kind: "gap",
      endMs: changeMs,
      shiftedMs: later.epochMilliseconds,
    };
  }
  return {
    kind: "overlap",
    atMs,
    secondMs: later.epochMilliseconds,
    endWallMs: changeMs + earlier.offsetNanoseconds / NS_PER_MS,
  };
}

/** The wall time of an instant as ISO 8601 text without offset. */
export function formatWall(atMs: number, timezone: string): string {
  return zoned(atMs, timezone).toPlainDateTime().toString();
}

/** The offset of an instant as text, such as `+02:00`. */
export function formatOffset(atMs: number, timezone: string): string {
  return zoned(atMs, timezone).offset;
}

function zoned(atMs: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(atMs)
    .toZonedDateTimeISO(timezone);
}

function plain(wallMs: number): Temporal.PlainDateTime {
  return zoned(wallMs, "UTC").toPlainDateTime();
}

/** Suggests a zone when its city was written alone, or its name misspelled. */
function suggestion(name: string): string | undefined {
  const zones = Intl.supportedValuesOf("timeZone");
  const city = `/${name.toLowerCase()}`;
  return zones.find((zone) => zone.toLowerCase().endsWith(city)) ??
    nearest(name, zones);
}

function invalid(reason: string): TimeZoneOutcome {
  return { kind: "invalid", code: "bad_timezone", reason };
}
