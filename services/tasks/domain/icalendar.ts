/**
 * Reads the times of the events of an iCalendar file (RFC 5545), such as a
 * calendar of holidays. Whole days, times of a zone and times that mean any
 * zone are read; what an event is about is not.
 *
 * @module
 */

import { DAY_MS, nominalMs, parseDuration } from "../../shared/duration.ts";
import { type ClosedTimes, joinSpans } from "./closed_times.ts";
import {
  findFirst,
  LineFault,
  type Property,
  type RawEvent,
  readEvents,
  shown,
} from "./icalendar_lines.ts";
import { daysOfRule, parseRule } from "./recurrence.ts";
import { parseDay } from "./instant.ts";
import { offsetMsAt, parseTimeZone, readWall } from "./time_zone.ts";

/** The longest file, in characters. */
export const MAX_ICALENDAR_CHARS = 262_144;
/** The most spans of time that the events of a file may cover. */
export const MAX_SPANS = 2_000;
/** The first year that rules without an end do not reach. */
export const RULES_END_YEAR = 2_100;

/** The outcome of reading a file. */
type CalendarOutcome =
  | {
    readonly kind: "ok";
    /** The times of its events. */
    readonly closed: ClosedTimes;
    /** How many events it has, those that were canceled aside. */
    readonly events: number;
  }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** The most times that all rules together are tried for. */
const MAX_STEPS = 100_000;
/** Reads a file. */
export function readICalendar(text: string): CalendarOutcome {
  try {
    const events = [...readEvents(text)];
    return { kind: "ok", ...closedBy(events) };
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    return { kind: "invalid", reason: error.message };
  }
}

/**
 * A time of an event: the wall time of its frame, which is a zone, or `date`
 * for whole days, or `floating` for times that mean any zone.
 */
interface Moment {
  readonly frame: string;
  readonly wallMs: number;
}

const DATE = "date";
const FLOATING = "floating";

function parseMoment(text: string, { line, name, params }: Property): Moment {
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/i.exec(text);
  const [, year, month, date, hour, minute = "", second = "", utc] = match ??
    [];
  const day = parseDay(`${year}-${month}-${date}`);
  const isClock = Number(hour ?? 0) <= 23 && Number(minute) <= 59 &&
    Number(second) <= 60;
  if (day === undefined || !isClock) {
    const form = "it is not a time such as 20270131 or 20270131T083000Z";
    throw new LineFault(line, `${name} ${shown(text)} cannot be read: ${form}`);
  }
  if (hour === undefined) return { frame: DATE, wallMs: day * DAY_MS };
  const seconds = Number(hour) * 3_600 + Number(minute) * 60 +
    Math.min(Number(second), 59);
  const wallMs = day * DAY_MS + seconds * 1_000;
  if (utc !== "") return { frame: "UTC", wallMs };
  const tzid = params.get("TZID");
  if (tzid === undefined) return { frame: FLOATING, wallMs };
  const zone = parseTimeZone(tzid);
  if (zone.kind === "ok") return { frame: zone.value, wallMs };
  throw new LineFault(
    line,
    `the zone ${shown(tzid)} is not one of the IANA database, such as ` +
      '"Europe/Berlin"',
  );
}

/** The times of a property that may have several. */
function parseMoments(properties: readonly Property[] = []): readonly Moment[] {
  return properties.flatMap((property) =>
    property.value.split(",").map((text) => parseMoment(text, property))
  );
}

/** What the clock of a frame shows at a time of another frame. */
function wallIn(frame: string, { frame: own, wallMs }: Moment): number {
  const isZone = (name: string): boolean => name !== DATE && name !== FLOATING;
  if (frame === own || !isZone(frame) || !isZone(own)) return wallMs;
  const atMs = toInstant(wallMs, own);
  return atMs + offsetMsAt(atMs, frame);
}

function toInstant(wallMs: number, timezone: string): number {
  const reading = readWall(wallMs, timezone);
  return reading.kind === "gap" ? reading.shiftedMs : reading.atMs;
}

/** A span of time, as its beginning and its end. */
type Pair = readonly [number, number];

/** Finds the times of events, and counts those that were not canceled. */
function closedBy(
  all: readonly RawEvent[],
): { readonly closed: ClosedTimes; readonly events: number } {
  const budget = { left: MAX_STEPS };
  const walls: Pair[] = [];
  const instants: Pair[] = [];
  const moved = movedTimes(all);
  let events = 0;
  for (const event of all) {
    if (findFirst(event, "STATUS")?.value.toUpperCase() === "CANCELLED") {
      continue;
    }
    events++;
    const { frame, lengthMs, starts } = readTimes(event, { moved, budget });
    for (const startMs of starts) {
      const endMs = startMs + lengthMs;
      if (endMs <= 0) continue;
      if (frame === DATE || frame === FLOATING) walls.push([startMs, endMs]);
      else instants.push([toInstant(startMs, frame), toInstant(endMs, frame)]);
      if (walls.length + instants.length > 2 * MAX_SPANS) {
        throw tooMany(event.line);
      }
    }
  }
  const closed = { walls: joinSpans(walls), instants: joinSpans(instants) };
  if (closed.walls.length + closed.instants.length > 2 * MAX_SPANS) {
    throw tooMany(1);
  }
  return { closed, events };
}

function tooMany(line: number): LineFault {
  return new LineFault(
    line,
    `the events cover more than ${MAX_SPANS} spans of time up to the year ` +
      `${RULES_END_YEAR}; give rules an end (UNTIL)`,
  );
}

/** The times of repeating events that events of their own replace, by UID. */
function movedTimes(
  events: readonly RawEvent[],
): ReadonlyMap<string, readonly Moment[]> {
  const moved = new Map<string, Moment[]>();
  for (const event of events) {
    const replaced = findFirst(event, "RECURRENCE-ID");
    if (replaced === undefined) continue;
    if (replaced.params.has("RANGE")) {
      throw new LineFault(replaced.line, "RANGE cannot be read");
    }
    const uid = findFirst(event, "UID")?.value ?? "";
    const moment = parseMoment(replaced.value, replaced);
    const same = moved.get(uid);
    if (same === undefined) moved.set(uid, [moment]);
    else same.push(moment);
  }
  return moved;
}

/** The times of an event in its frame. */
interface EventTimes {
  readonly frame: string;
  readonly lengthMs: number;
  readonly starts: Iterable<number>;
}

/** What the times of an event depend on, besides the event. */
interface TimesOptions {
  /** The times that other events replace. */
  readonly moved: ReturnType<typeof movedTimes>;
  /** How many further times may be tried. */
  readonly budget: { left: number };
}

function readTimes(event: RawEvent, options: TimesOptions): EventTimes {
  const { line, properties } = event;
  const property = findFirst(event, "DTSTART");
  if (property === undefined) {
    throw new LineFault(line, "the event has no DTSTART");
  }
  const start = parseMoment(property.value, property);
  const { frame } = start;
  const isSingle = properties.has("RECURRENCE-ID");
  const uid = findFirst(event, "UID")?.value ?? "";
  const left = [
    ...parseMoments(properties.get("EXDATE")),
    ...isSingle ? [] : options.moved.get(uid) ?? [],
  ];
  // A date among times leaves out the whole day.
  const times = new Set(left.map((moment) => wallIn(frame, moment)));
  const days = new Set(
    left.flatMap((moment) => moment.frame === DATE ? moment.wallMs : []),
  );
  const starts = new Set([
    ...listStarts(event, { start, budget: options.budget }),
    ...parseMoments(properties.get("RDATE")).map((moment) =>
      wallIn(frame, moment)
    ),
  ]);
  for (const wallMs of starts) {
    const dayMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
    if (times.has(wallMs) || days.has(dayMs)) starts.delete(wallMs);
  }
  return { frame, lengthMs: computeLength(event, start), starts };
}

/** The length of an event; that of one without any is a moment. */
function computeLength(event: RawEvent, start: Moment): number {
  const least = start.frame === DATE ? DAY_MS : 1;
  const end = findFirst(event, "DTEND");
  const written = findFirst(event, "DURATION");
  let lengthMs = 0;
  if (end !== undefined) {
    lengthMs = wallIn(start.frame, parseMoment(end.value, end)) - start.wallMs;
  } else if (written !== undefined) {
    const outcome = parseDuration(written.value.replace(/^\+/, ""));
    if (outcome.kind === "invalid") {
      throw new LineFault(written.line, outcome.reason);
    }
    lengthMs = nominalMs(outcome.duration);
  }
  if (lengthMs >= 0) return Math.max(least, lengthMs);
  throw new LineFault(event.line, "the event ends before it begins");
}

/** The beginnings of an event: the first one, and those of its rule. */
function* listStarts(
  event: RawEvent,
  { start, budget }: Pick<TimesOptions, "budget"> & { readonly start: Moment },
): Generator<number> {
  yield start.wallMs;
  const property = findFirst(event, "RRULE");
  if (property === undefined) return;
  const outcome = parseRule(property.value);
  if (outcome.kind === "invalid") {
    throw new LineFault(property.line, outcome.state);
  }
  const { rule } = outcome;
  const until = rule.until === undefined
    ? undefined
    : parseMoment(rule.until, property);
  const untilMs = until === undefined
    ? Infinity
    : until.frame === DATE
    ? until.wallMs + DAY_MS - 1
    : wallIn(start.frame, until);
  const firstDay = Math.floor(start.wallMs / DAY_MS);
  const endDay = Date.UTC(RULES_END_YEAR, 0) / DAY_MS;
  for (const day of daysOfRule(rule, { firstDay, endDay, sinceDay: 0 })) {
    if (--budget.left < 0) throw tooMany(event.line);
    if (day === undefined) continue;
    const startMs = start.wallMs + (day - firstDay) * DAY_MS;
    if (startMs > untilMs) return;
    yield startMs;
  }
}
