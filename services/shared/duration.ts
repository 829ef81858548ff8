/**
 * Parses and formats durations, in the one grammar that the API, the command
 * line and files share. A duration has a calendar part, whose length depends on
 * the date it is added to, and an exact part.
 *
 * @module
 */

import { nearest } from "./did_you_mean.ts";
import { parseGoDuration } from "./go_duration.ts";
import { quote } from "./quote.ts";

/** A length of time that is not negative. */
export interface Duration {
  /** Calendar months; a year is twelve. */
  readonly months: number;
  /** Calendar days; a week is seven. */
  readonly days: number;
  /** Milliseconds of elapsed time. */
  readonly ms: number;
}

/** Milliseconds of a day without a clock change. */
export const DAY_MS = 86_400_000;

/**
 * A month's average length in the Gregorian calendar, which repeats every 400
 * years.
 */
const AVERAGE_MONTH_MS = 146_097 * DAY_MS / 4_800;

/** The longest duration that is accepted, about a hundred years. */
const MAX_NOMINAL_MS = 1_200 * AVERAGE_MONTH_MS;

/**
 * The typical length of a duration in milliseconds, for uses without a date: a
 * day has 24 hours, a month its average length of 30.436875 days.
 */
export function nominalMs(duration: Duration): number {
  return duration.months * AVERAGE_MONTH_MS + duration.days * DAY_MS +
    duration.ms;
}

/**
 * The length of a duration in milliseconds, whose days have 24 hours; undefined
 * when it has months, which have no certain length.
 */
export function exactMs(duration: Duration): number | undefined {
  const { months, days, ms } = duration;
  return months === 0 ? days * DAY_MS + ms : undefined;
}

/**
 * Formats a duration as ISO 8601, such as `P1Y2M3DT26H5M0.25S`. Equal durations
 * give the same text. Hours are not turned into days, since days differ in
 * length at clock changes. An empty duration is `PT0S`.
 */
export function formatDuration(duration: Duration): string {
  const date = [
    term(Math.floor(duration.months / 12), "Y"),
    term(duration.months % 12, "M"),
    term(duration.days, "D"),
  ].join("");
  const time = [
    term(Math.floor(duration.ms / 3_600_000), "H"),
    term(Math.floor(duration.ms / 60_000) % 60, "M"),
    term((duration.ms % 60_000) / 1_000, "S"),
  ].join("");
  if (time !== "") return `P${date}T${time}`;
  return date === "" ? "PT0S" : `P${date}`;
}

/** Formats milliseconds as a duration; see {@linkcode formatDuration}. */
export function formatMs(ms: number): string {
  return formatDuration({ months: 0, days: 0, ms });
}

function term(amount: number, unit: string): string {
  return amount === 0 ? "" : `${amount}${unit}`;
}

/** Formats a length of time in words, with its two largest units. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const shown = parts.filter(([count]) => count > 0).slice(0, 2);
  return shown.length === 0
    ? "0 s"
    : shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** The outcome of reading a duration. */
type DurationOutcome =
  | { readonly kind: "ok"; readonly duration: Duration }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/**
 * The units from the largest to the smallest, which is the order of ISO 8601.
 */
export const DURATION_UNITS = [
  "years",
  "months",
  "weeks",
  "days",
  "hours",
  "minutes",
  "seconds",
  "milliseconds",
] as const;

type Unit = typeof DURATION_UNITS[number];

type Amounts = Partial<Record<Unit, number>>;

const EXACT_UNIT_MS: Readonly<Partial<Record<Unit, number>>> = {
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  milliseconds: 1,
};

/** The longest text that is read as a duration, in characters. */
export const MAX_DURATION_CHARS = 100;

/** The forms of a duration, for messages and descriptions. */
export const DURATION_FORMS =
  '"PT1H30M", "P1D", "1h30m", "1500ms", "1d" or {"hours": 1, "seconds": 5}';

const AMOUNT = String.raw`\d+(?:[.,]\d+)?`;

/**
 * Each unit ends with its own letter, so a text matches in one way at most.
 */
const ISO_DURATION = new RegExp(
  `^P(?:(?<years>${AMOUNT})Y)?(?:(?<months>${AMOUNT})M)?` +
    `(?:(?<weeks>${AMOUNT})W)?(?:(?<days>${AMOUNT})D)?` +
    `(?<time>T(?:(?<hours>${AMOUNT})H)?(?:(?<minutes>${AMOUNT})M)?` +
    `(?:(?<seconds>${AMOUNT})S)?)?$`,
  "i",
);

/** Weeks and days, then a duration as Go writes it. */
const SHORT_DURATION = new RegExp(
  `^(?:(?<weeks>${AMOUNT})w)?(?:(?<days>${AMOUNT})d)?(?<exact>.*)$`,
  "s",
);

/**
 * Reads a duration. It accepts three forms:
 *
 * - ISO 8601 text such as `PT30S`, `P1M2DT1H10M5S`, `P2W`; upper and lower case
 *   are the same, and weeks may stand beside the other units.
 * - Text with short units such as `1500ms`, `1h30m`, `2w`, `1d12h`: weeks, days
 *   and what Go reads, in lower case.
 * - An object such as `{hours: 1, seconds: 5}`, with the units from years to
 *   milliseconds, each in the plural or the singular.
 *
 * A number has no unit and is refused, since other systems count seconds or
 * milliseconds.
 *
 * The smallest unit that is given may have a fraction: of a day and below it is
 * elapsed time (half a day is twelve hours), rounded to milliseconds; of a year
 * it must be whole months; of a month it has no meaning. Nothing may be
 * negative, and the whole is at most a hundred years.
 */
export function parseDuration(input: unknown): DurationOutcome {
  if (typeof input === "string") return parseText(input);
  if (typeof input === "number") {
    const units = Number.isFinite(input) && input >= 0
      ? `for ${input} milliseconds write "${input}ms", for ${input} seconds ` +
        `"${input}s"; further `
      : "";
    return invalid(
      `Cannot read duration ${input}: a number has no unit; ${units}forms are ` +
        DURATION_FORMS,
    );
  }
  if (
    typeof input === "object" && input !== null && !Array.isArray(input)
  ) {
    return parseObject(input);
  }
  return invalid(
    "Cannot read duration: it is neither text nor an object of units; forms " +
      `are ${DURATION_FORMS}`,
  );
}

function parseText(text: string): DurationOutcome {
  if (text.length > MAX_DURATION_CHARS) {
    return invalid(
      `Cannot read duration ${shownText(text)}: it has more than ` +
        `${MAX_DURATION_CHARS} characters`,
    );
  }
  if (/^-|^P.*(?<!\d)-\d/i.test(text)) {
    return invalid(`Cannot read duration ${shownText(text)}: it is negative`);
  }
  const amounts = isoAmounts(text) ?? shortAmounts(text);
  if (amounts !== undefined) return compose(amounts, text);
  const state = /^[\d.,]+$/.test(text)
    ? "it has no unit"
    : "it has no form of a duration";
  return invalid(
    `Cannot read duration ${shownText(text)}: ${state}; forms are ` +
      DURATION_FORMS,
  );
}

function shownText(text: string): string {
  return quote(text, { maxChars: MAX_DURATION_CHARS });
}

function isoAmounts(text: string): Amounts | undefined {
  const groups = ISO_DURATION.exec(text)?.groups;
  return groups === undefined || /^t$/i.test(groups.time ?? "")
    ? undefined
    : amountsIn(groups);
}

function shortAmounts(text: string): Amounts | undefined {
  const { exact = "", ...groups } = SHORT_DURATION.exec(text)?.groups ?? {};
  const amounts = amountsIn(groups);
  if (exact === "") return text === "" ? undefined : amounts;
  // Go takes a zero without a unit, and signs, which are refused here.
  const milliseconds = /^[\d.]+[^\d.]/.test(exact)
    ? parseGoDuration(exact)
    : undefined;
  return milliseconds === undefined ? undefined : { ...amounts, milliseconds };
}

function amountsIn(
  groups: Readonly<Record<string, string | undefined>>,
): Amounts {
  const amounts: Amounts = {};
  for (const unit of DURATION_UNITS) {
    const written = groups[unit];
    if (written !== undefined) {
      amounts[unit] = Number(written.replace(",", "."));
    }
  }
  return amounts;
}

function parseObject(input: object): DurationOutcome {
  const amounts: Amounts = {};
  for (const [key, amount] of Object.entries(input)) {
    const unit = DURATION_UNITS.find((name) =>
      name === key || name === `${key}s`
    );
    if (unit === undefined) return unknownUnit(key);
    if (typeof amount !== "number") {
      return invalid(`Cannot read duration: "${key}" is not a number`);
    }
    if (amounts[unit] !== undefined) {
      return invalid(`Cannot read duration: "${unit}" is given twice`);
    }
    amounts[unit] = amount;
  }
  return compose(amounts);
}

function unknownUnit(key: string): DurationOutcome {
  const meant = nearest(key, DURATION_UNITS);
  const hint = meant === undefined
    ? `the units are ${DURATION_UNITS.join(", ")}`
    : `did you mean "${meant}"?`;
  return invalid(
    `Cannot read duration: ${quote(key)} is not a unit; ${hint}`,
  );
}

/** @param text the input, if it is short enough for a message */
function compose(amounts: Amounts, text?: string): DurationOutcome {
  const fault = (state: string): DurationOutcome => {
    const subject = text === undefined ? "" : ` ${shownText(text)}`;
    return invalid(`Cannot read duration${subject}: ${state}`);
  };
  const given = DURATION_UNITS.filter((unit) => amounts[unit] !== undefined);
  if (given.length === 0) return fault("it has no unit");
  for (const unit of given) {
    const amount = amounts[unit] ?? 0;
    if (!Number.isFinite(amount)) return fault(`its ${unit} are not finite`);
    if (amount < 0) return fault("it is negative");
    if (!Number.isInteger(amount) && unit !== given.at(-1)) {
      return fault("only its smallest unit may have a fraction");
    }
  }
  if (!Number.isInteger(amounts.months ?? 0)) {
    return fault("a fraction of a month has no length; use days");
  }
  const yearMonths = (amounts.years ?? 0) * 12;
  if (Math.abs(yearMonths - Math.round(yearMonths)) > 1e-9) {
    return fault("its fraction of a year is not a whole number of months");
  }
  const duration = sum(amounts, Math.round(yearMonths));
  // Amounts may be so great that their sum is infinite or not a number.
  return nominalMs(duration) <= MAX_NOMINAL_MS
    ? { kind: "ok", duration }
    : fault("it is longer than 100 years");
}

function sum(amounts: Amounts, yearMonths: number): Duration {
  const allDays = (amounts.weeks ?? 0) * 7 + (amounts.days ?? 0);
  const days = Math.floor(allDays);
  let ms = Math.round((allDays - days) * DAY_MS);
  for (const unit of DURATION_UNITS) {
    const unitMs = EXACT_UNIT_MS[unit];
    const amount = amounts[unit];
    if (unitMs === undefined || amount === undefined) continue;
    ms += Math.round(amount * unitMs);
  }
  return { months: yearMonths + (amounts.months ?? 0), days, ms };
}

function invalid(reason: string): DurationOutcome {
  return { kind: "invalid", reason };
}
