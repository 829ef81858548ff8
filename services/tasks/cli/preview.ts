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
  integerOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import {
  MAX_PREVIEW,
  type OccurrenceWarning,
  preview,
  type PreviewedOccurrence,
} from "../domain/preview.ts";
import { parseInstant } from "../domain/instant.ts";
import { parseTimeZone } from "../domain/time_zone.ts";
import { parseTiming } from "../domain/schedule.ts";

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
    help: "How many times are shown.",
  }),
  from: textOption({
    help: "First instant that counts, as 2030-01-31T08:30:00Z; where an " +
      "interval begins. Now when not given.",
  }),
  json: switchOption({ help: "Write one JSON object a line." }),
} as const;

const COMMAND = {
  usage: 'tasks preview "CRON" | tasks preview INTERVAL',
  about: "Shows the next times of a cron expression or of an ISO 8601 " +
    "interval such as P1M, with what is odd about them. Exits with 0, with 1 " +
    "when the schedule is invalid, 2 for wrong arguments.",
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
}

/**
 * Runs the command.
 *
 * @returns 0; 1 when the schedule is invalid, 2 when the arguments are wrong.
 */
export function runPreview(
  args: readonly string[],
  { io, nowMs }: RunPreviewOptions,
): number {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals } = read;
  const { timezone: zoneName, count, from, json } = values;
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
  const isInterval = /^p/i.test(text);
  const { value: timezone } = zone;
  const outcome = parseTiming(
    isInterval ? { interval: text } : { cron: text },
    {
      timezone,
      afterMs: fromMs - 1,
    },
  );
  if (outcome.kind !== "ok") {
    io.err(outcome.reason);
    return 1;
  }
  const occurrences = preview({ timing: outcome.timing }, {
    anchorMs: fromMs,
    timezone,
    fromMs,
    count,
    // The catch-up that a task has unless its owner sets another.
    catchUp: { nowMs, rule: { catchUp: "one", catchUpWindowMs: 0 } },
  });
  for (const occurrence of occurrences) {
    io.out(json ? jsonOf(occurrence) : lineOf(occurrence, timezone));
  }
  return 0;
}

function jsonOf(occurrence: PreviewedOccurrence): string {
  const { atMs, local, offset, warnings } = occurrence;
  const at = new Date(atMs).toISOString();
  return JSON.stringify({ at, local, offset, warnings });
}

function lineOf(occurrence: PreviewedOccurrence, timezone: string): string {
  const { atMs, local, offset, warnings } = occurrence;
  const notes = warnings.map((warning) => MEANINGS[warning]);
  const note = notes.length === 0 ? "" : `  (${notes.join("; ")})`;
  const at = new Date(atMs).toISOString();
  return `${at}  ${local}${offset} ${timezone}${note}`;
}
