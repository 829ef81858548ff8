/**
 * The command `tasks preview`, which shows the next times of a schedule. It
 * computes them with the scheduler's own functions and needs no running
 * service.
 *
 * @module
 */

import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  choiceOption,
  integerOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import {
  excludedIn,
  MAX_PREVIEW,
  type OccurrenceWarning,
  preview,
  type PreviewedOccurrence,
} from "../domain/preview.ts";
import type { ClosedTimes } from "../domain/closed_times.ts";
import { dialectWarnings } from "../domain/dialect_warning.ts";
import { readICalendar } from "../domain/icalendar.ts";
import { parseDay, parseInstant } from "../domain/instant.ts";
import { parseTimeZone } from "../domain/time_zone.ts";
import { type Calendars, parseTiming } from "../domain/schedule.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

const FLAGS = {
  timezone: textOption({
    default: "UTC",
    aliases: ["tz"],
    help: "IANA time zone of the schedule.",
  }),
  count: integerOption({
    default: 10,
    min: 1,
    max: MAX_PREVIEW,
    aliases: ["n"],
    help: "The number of times to show.",
  }),
  from: textOption({
    help: "The first instant, such as 2030-01-31T08:30:00Z, at which an " +
      "interval begins. Default: now.",
  }),
  dialect: choiceOption({
    values: { cron: "cron", quartz: "quartz", eventbridge: "eventbridge" },
    help: "The dialect of the cron expression.",
  }),
  exclude: repeatedOption({
    help: "A date without times, such as 2030-12-25.",
  }),
  calendar: repeatedOption({
    help: "An iCalendar file at whose events there are no times; may come " +
      "several times.",
  }),
  json: switchOption({ help: "Write one JSON object a line." }),
} as const;

const COMMAND = {
  usage: 'tasks preview "CRON" | tasks preview INTERVAL',
  about: "Shows the next times of a cron expression or of an interval such " +
    "as P1M or 5m, with their peculiarities. Exit codes: 0 success, 1 " +
    "invalid schedule, 2 invalid arguments.",
  positionals: 1,
} as const;

const MEANINGS: Readonly<Record<OccurrenceWarning, string>> = {
  gap_moved: "the clock skips the time that was meant",
  overlap_once: "the clock shows the time twice, it runs once",
  month_short: "the month lacks the day that was meant",
  missed_by_limit: "it has passed; only the latest such time is caught up",
};

/** Options of {@linkcode runPreview}. */
interface RunPreviewOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** The present, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Reads a text file. */
  readonly readText: (path: string) => Promise<string>;
}

/**
 * Runs the command.
 *
 * @returns 0; 1 when the schedule is invalid, 2 when the arguments are wrong.
 */
export async function runPreview(
  args: readonly string[],
  { io, nowMs, readText }: RunPreviewOptions,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals } = read;
  const { timezone: zoneName, count, from, json, dialect, exclude } = values;
  const fail = (problem: string): number =>
    wrongArguments(problem, { io, command: COMMAND }).exitCode;
  const zone = parseTimeZone(zoneName);
  if (zone.kind !== "ok") return fail(zone.reason);
  const begin = from === undefined
    ? { kind: "ok", atMs: nowMs } as const
    : parseInstant(from);
  if (begin.kind !== "ok") return fail(begin.reason);
  const { atMs: fromMs } = begin;
  const [text = ""] = positionals;
  const isInterval = /^(?:p|[\d.]+[a-z])/i.test(text);
  const { value: timezone } = zone;
  const noDay = exclude.find((date) => parseDay(date) === undefined);
  if (noDay !== undefined) {
    return fail(
      `Cannot exclude ${quote(noDay)}: it is not a day such as 2030-12-25`,
    );
  }
  const calendars = await readCalendars(values.calendar, readText);
  if (calendars.kind === "fault") {
    io.err(calendars.reason);
    return 1;
  }
  const written = isInterval ? { interval: text } : { cron: text, dialect };
  const outcome = parseTiming(
    { ...written, exclude, calendars: values.calendar },
    { timezone, afterMs: fromMs - 1, calendars: calendars.found },
  );
  if (outcome.kind !== "ok") {
    io.err(outcome.reason);
    return 1;
  }
  const schedule = { timing: outcome.timing };
  const grid = { anchorMs: fromMs, timezone };
  const occurrences = preview(schedule, {
    ...grid,
    fromMs,
    count,
    // The catch-up that a task has unless its owner sets another.
    catchUp: { nowMs, rule: { catchUp: "one", catchUpWindowMs: 0 } },
  });
  const throughMs = occurrences.at(-1)?.atMs ?? fromMs;
  const excluded = excludedIn(
    schedule,
    { afterMs: fromMs - 1, throughMs },
    grid,
  );
  if (json) {
    for (const occurrence of occurrences) io.out(formatJson(occurrence));
  } else {
    const lines = [
      ...occurrences.map((one) => ({
        ...one,
        notes: one.warnings.map((warning) => MEANINGS[warning]),
      })),
      ...excluded.map((one) => ({
        ...one,
        notes: [`left out by ${one.calendar ?? "--exclude"}`],
      })),
    ].sort((one, other) => one.atMs - other.atMs);
    for (const line of lines) io.out(formatLine(line, timezone));
  }
  for (const { detail } of dialectWarnings(isInterval ? {} : written)) {
    io.err(`warning: ${detail}`);
  }
  return 0;
}

/** Reads the files of calendars; their paths are their names. */
async function readCalendars(
  paths: readonly string[],
  readText: RunPreviewOptions["readText"],
): Promise<
  | { readonly kind: "ok"; readonly found: Calendars }
  | { readonly kind: "fault"; readonly reason: string }
> {
  const found = new Map<string, ClosedTimes>();
  for (const path of paths) {
    let text;
    try {
      text = await readText(path);
    } catch (error) {
      const reason = `Cannot read ${quote(path)}: ${describeError(error)}`;
      return { kind: "fault", reason };
    }
    const outcome = readICalendar(text);
    if (outcome.kind === "invalid") {
      return { kind: "fault", reason: `${path}: ${outcome.reason}` };
    }
    found.set(path, { ...outcome.closed, calendar: path });
  }
  return { kind: "ok", found };
}

function formatJson(occurrence: PreviewedOccurrence): string {
  const { atMs, local, offset, warnings } = occurrence;
  const at = new Date(atMs).toISOString();
  return JSON.stringify({ at, local, offset, warnings });
}

/** A time to show, and what is odd about it. */
interface Line extends Omit<PreviewedOccurrence, "warnings"> {
  readonly notes: readonly string[];
}

function formatLine(line: Line, timezone: string): string {
  const { atMs, local, offset, notes } = line;
  const note = notes.length === 0 ? "" : `  (${notes.join("; ")})`;
  const at = new Date(atMs).toISOString();
  return `${at}  ${local}${offset} ${timezone}${note}`;
}
