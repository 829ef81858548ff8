/**
 * Instants as clients write them: RFC 3339.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";

/** What reading an instant comes to. */
export type InstantOutcome =
  | {
    readonly kind: "ok";
    /** Milliseconds since the epoch; what is beyond milliseconds is cut off. */
    readonly atMs: number;
    /** Digits of the fraction of a second as they were written. */
    readonly fractionDigits: number;
    /** Whether the fraction had anything beyond milliseconds. */
    readonly isCut: boolean;
  }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** The last instant of the year 9999, the last that RFC 3339 can write. */
export const LAST_INSTANT_MS = 253_402_300_799_999;

/** A time without a zone, which is the most frequent mistake. */
const ZONELESS = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?$/;

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days of a month, 1 to 12, in the Gregorian calendar; 0 for no month. */
export function daysOfMonth(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && isLeap ? 29 : DAYS[month - 1] ?? 0;
}

/** A day of the Gregorian calendar. */
export interface CalendarDay {
  /** The year, 0 to 10000. */
  readonly year: number;
  /** The month, from 1; 13 is the first one of the next year. */
  readonly month: number;
  /** The day of the month, from 1; one too many is the next month's first. */
  readonly day: number;
}

/** Milliseconds since the epoch at the beginning of a day in UTC. */
export function dayMs({ year, month, day }: CalendarDay): number {
  // Date.UTC() takes years below 100 for those of the last century.
  return year >= 100
    ? Date.UTC(year, month - 1, day)
    : new Date(0).setUTCFullYear(year, month - 1, day);
}

/**
 * Reads an instant with its zone, which may be an offset (RFC 3339, 5.6): `T`
 * and `Z` in any case, a space for `T`. A space before the offset is what a plus
 * sign becomes in a query. A second 60 is not taken, since milliseconds since
 * the epoch cannot tell it.
 */
export function parseInstant(input: string): InstantOutcome {
  const zoneAt = zoneOffset(input);
  const offsetMinutes = offsetOf(input, zoneAt);
  const century = pairAt(input, 0);
  const yearOfCentury = pairAt(input, 2);
  const year = century * 100 + yearOfCentury;
  const month = pairAt(input, 5);
  const day = pairAt(input, 8);
  const hour = pairAt(input, 11);
  const minute = pairAt(input, 14);
  const second = pairAt(input, 17);
  const isFormed = century >= 0 && yearOfCentury >= 0 && month >= 0 &&
    day >= 0 && hour >= 0 &&
    minute >= 0 && second >= 0 && input[4] === "-" && input[7] === "-" &&
    isOneOf(input[10], "Tt ") && input[13] === ":" && input[16] === ":" &&
    zoneAt !== -1 && offsetMinutes !== undefined;
  if (!isFormed) return invalid(input, formOf(input));
  if (day < 1 || day > daysOfMonth(year, month)) {
    return invalid(input, "the calendar has no such day");
  }
  if (
    hour > 23 || minute > 59 || second > 59 || Number.isNaN(offsetMinutes)
  ) {
    return invalid(input, "the clock has no such time");
  }
  const fraction = zoneAt === 19 ? "" : input.slice(20, zoneAt);
  const minutes = hour * 60 + minute - offsetMinutes;
  return {
    kind: "ok",
    atMs: dayMs({ year, month, day }) + minutes * 60_000 + second * 1_000 +
      (fraction === "" ? 0 : Number(fraction.slice(0, 3).padEnd(3, "0"))),
    fractionDigits: fraction.length,
    isCut: fraction.length > 3 && /[1-9]/.test(fraction.slice(3)),
  };
}

/** Where the zone begins, behind seconds and fraction; -1 when it cannot. */
function zoneOffset(input: string): number {
  if (input[19] !== ".") return 19;
  let end = 20;
  while (isDigit(input, end)) end++;
  return end > 20 && end <= 29 ? end : -1;
}

/** Minutes; NaN for those that no clock has, `undefined` for no offset. */
function offsetOf(input: string, at: number): number | undefined {
  const sign = input[at];
  if (isOneOf(sign, "Zz")) return input.length === at + 1 ? 0 : undefined;
  const hours = pairAt(input, at + 1);
  const minutes = pairAt(input, at + 4);
  const isFormed = isOneOf(sign, "+- ") && hours >= 0 && minutes >= 0 &&
    input[at + 3] === ":" && input.length === at + 6;
  if (!isFormed) return undefined;
  if (hours > 23 || minutes > 59) return NaN;
  return (sign === "-" ? -1 : 1) * (hours * 60 + minutes);
}

/** The number that two digits are; -1 for anything else. */
function pairAt(input: string, at: number): number {
  return isDigit(input, at) && isDigit(input, at + 1)
    ? (input.charCodeAt(at) - 48) * 10 + input.charCodeAt(at + 1) - 48
    : -1;
}

function isDigit(input: string, at: number): boolean {
  // NaN behind the end, which is no digit either.
  const code = input.charCodeAt(at);
  return code >= 48 && code <= 57;
}

function isOneOf(character: string | undefined, characters: string): boolean {
  return character !== undefined && characters.includes(character);
}

function formOf(input: string): string {
  return ZONELESS.test(input)
    ? 'it has no zone; add "Z" for UTC or an offset such as "+02:00"'
    : "it is not of the form 2030-01-31T08:30:00Z (RFC 3339)";
}

function invalid(input: string, state: string): InstantOutcome {
  const shown = quote(input, { maxChars: 64 });
  return { kind: "invalid", reason: `Cannot read time ${shown}: ${state}` };
}
