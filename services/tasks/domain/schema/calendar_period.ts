/**
 * Times written less exactly than to the millisecond: a year, a month, a day,
 * a second. Each stands for all of its instants.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import { readWall } from "../time_zone.ts";
import { dayMs, daysOfMonth, parseInstant } from "./instant.ts";

/** The instants a written time stands for. */
export type PeriodOutcome =
  | {
    readonly kind: "ok";
    /** The first of them. */
    readonly firstMs: number;
    /**
     * The last of them; before the first one when the zone had no such day (a
     * few islands have passed over one).
     */
    readonly lastMs: number;
  }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/;

/**
 * Reads a year, a month or a day of a zone's calendar, or an RFC 3339 time with
 * a zone of its own, down to milliseconds.
 */
export function parsePeriod(input: string, timezone: string): PeriodOutcome {
  const match = DATE.exec(input);
  if (match === null) return instantPeriod(input);
  const year = Number(match[1]);
  const month = Number(match[2] ?? 1);
  const day = Number(match[3] ?? 1);
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) {
    const shown = quote(input, { maxChars: 64 });
    return {
      kind: "invalid",
      reason: `Cannot read time ${shown}: the calendar has no such ${
        match[3] === undefined ? "month" : "day"
      }`,
    };
  }
  const next = match[2] === undefined
    ? dayMs({ year: year + 1, month: 1, day: 1 })
    : match[3] === undefined
    ? dayMs({ year, month: month + 1, day: 1 })
    : dayMs({ year, month, day: day + 1 });
  return {
    kind: "ok",
    firstMs: startOf(dayMs({ year, month, day }), timezone),
    lastMs: startOf(next, timezone) - 1,
  };
}

function instantPeriod(input: string): PeriodOutcome {
  const outcome = parseInstant(input);
  if (outcome.kind === "invalid") {
    const isTime = /[Tt ]\d\d:/.test(input);
    return isTime ? outcome : {
      kind: "invalid",
      reason:
        `Cannot read time ${quote(input, { maxChars: 64 })}: it is none ` +
        "of YYYY, YYYY-MM, YYYY-MM-DD and RFC 3339 with a zone",
    };
  }
  if (outcome.fractionDigits > 3) {
    return {
      kind: "invalid",
      reason: `Cannot read time ${quote(input, { maxChars: 64 })}: ` +
        "milliseconds are the smallest unit",
    };
  }
  const lengthMs = 10 ** (3 - outcome.fractionDigits);
  return {
    kind: "ok",
    firstMs: outcome.atMs,
    lastMs: outcome.atMs + lengthMs - 1,
  };
}

/** The first instant at which the zone's clock shows a wall time or a later one. */
function startOf(wallMs: number, timezone: string): number {
  if (timezone === "UTC") return wallMs;
  const reading = readWall(wallMs, timezone);
  return reading.kind === "gap" ? reading.endMs : reading.atMs;
}
