/**
 * Reads and shows how a task repeats: the JSON of clients, and the rule that is
 * stored.
 *
 * @module
 */

import { CRON_DIALECTS, MAX_CRON_CHARS } from "./cron_expression.ts";
import { parseDay, utcTime } from "./instant.ts";
import { DAY_MS, formatDuration, formatMs } from "../../shared/duration.ts";
import { quote } from "../../shared/quote.ts";
import { guided, REPEAT_WORDS } from "./other_words.ts";
import type { RepeatRule } from "./task.ts";
import { list, type Parsed, parsed } from "../../shared/schema/composite.ts";
import {
  type JsonSchema,
  named,
  said,
  type Schema,
  shownObject,
} from "../../shared/schema/schema.ts";
import { choice, integer, text } from "../../shared/schema/values.ts";
import {
  CALENDAR_NAME,
  COUNT,
  dateTime,
  duration,
  durationMs,
  TEXT,
  TIME,
} from "./value_schemas.ts";
import { object, type ObjectOf, settable } from "../../shared/schema/object.ts";
import {
  type Calendars,
  nextOccurrence,
  parseTiming,
  shortestSpacingMs,
  type TimingOutcome,
} from "./schedule.ts";
import { type Fault, report } from "../../shared/schema/fault.ts";
import type { ComingRun } from "./coming_run.ts";
import { getOnTimeMs } from "./transitions/repetition.ts";

/** The catch-up window of a task that sets no other. */
const DEFAULT_CATCH_UP_WINDOW_MS: number = DAY_MS;

/** The shortest `on_time`; a task is handed out some milliseconds late. */
export const MIN_ON_TIME_MS = 1_000;

/** Any form of duration, converted to its ISO 8601 text. */
const DURATION_TEXT = parsed(
  duration(),
  (value) => ({ kind: "ok", value: formatDuration(value) }),
);

/** Most dates that a rule leaves out by itself. */
const MAX_EXCLUDED = 366;
/** Most calendars of a rule. */
const MAX_CALENDARS = 5;

const DATE = parsed(
  text({ maxLength: 10, format: "date" }),
  (value): Parsed<string> =>
    parseDay(value) === undefined
      ? {
        kind: "invalid",
        code: "bad_date",
        reason: `Cannot read date ${quote(value)}: it is not a day such as ` +
          "2030-01-31",
      }
      : { kind: "ok", value },
);

const FIELDS = {
  interval: settable(
    DURATION_TEXT,
    "The distance of the slots, counted from the first date; months and days " +
      "by the calendar of the time zone",
  ),
  cron: settable(
    text({ maxLength: MAX_CRON_CHARS }),
    "Five fields, or six with seconds first, or a nickname such as " +
      "@daily; instead of an interval",
  ),
  dialect: settable(
    choice(CRON_DIALECTS),
    "The dialect of the expression in `cron`: `quartz` and `eventbridge` " +
      "count days of the week from Sunday as 1. When absent it is `cron`, " +
      "that of crontab, and the answer warns if another dialect has other " +
      "times",
  ),
  exclude: settable(
    list(DATE, { maxItems: MAX_EXCLUDED, isUnique: true }),
    "Dates in the time zone that have no slots",
  ),
  calendars: settable(
    list(CALENDAR_NAME, { maxItems: MAX_CALENDARS, isUnique: true }),
    "Names of calendars whose events have no slots",
  ),
  limit: settable(
    integer({ minimum: 0, maximum: 1_000_000_000 }),
    "Repetitions after the first run; no limit when absent",
  ),
  until: settable(
    dateTime(),
    "The last instant at which a run may be due; no limit when absent",
  ),
  catch_up: settable(
    choice(["one", "all", "none"]),
    "Action for slots that passed while no worker could run them; `one` when " +
      "absent. `one` runs once for all, `all` runs all within the window, " +
      "`none` runs the latest if it is on time. With `all` the mode `spawn` " +
      "creates the latest 10,000. With `none` its tasks expire if they do " +
      "not begin on time",
  ),
  catch_up_window: settable(
    durationMs({ maximumMs: 366 * DAY_MS }),
    "The maximum age of a slot for `all`; a day when absent",
  ),
  on_time: settable(
    durationMs({ minimumMs: MIN_ON_TIME_MS, maximumMs: DAY_MS }),
    "How long after its date a run is still on time, so that no `catch_up` " +
      "misses it; the service's setting when absent",
  ),
  jitter: settable(
    durationMs({ maximumMs: DAY_MS }),
    "The maximum random delay of a run, which keeps its slot; none when " +
      "absent, and at most the distance of the slots",
  ),
  mode: settable(
    choice(["same", "spawn"]),
    "`same` runs this task again, `spawn` creates a task for each slot; " +
      "`same` when absent. Slots are missed when the plan has no room for " +
      "their tasks",
  ),
  on_failure: settable(
    choice(["stop", "continue"]),
    "Whether a failed run ends the schedule after its retries; when absent " +
      "yes for an interval, no for cron. A run by hand never does",
  ),
};

/** How a task repeats, as a client writes it; null counts as absent. */
type RepeatInput = ObjectOf<typeof FIELDS>;

/**
 * The schema of how a task repeats. Rules that span several fields are checked
 * later, with the whole task.
 */
export const REPEAT: Schema<RepeatInput> = named(
  "Repeat",
  guided(object(FIELDS), REPEAT_WORDS),
  {
    description: "How a task repeats: by an interval or by cron",
    examples: [{ interval: "P1D" }],
  },
);

/** What a repeat rule is checked against. */
interface RepeatRuleOptions {
  /** The zone of its calendar. */
  readonly timezone: string;
  /** The coming run of the task. */
  readonly coming: ComingRun;
  /** The shortest spacing that the plan allows, in milliseconds. */
  readonly minIntervalMs: number;
  /** How late a run may begin and be on time when the rule does not say it. */
  readonly onTimeMs: number;
  /** The calendars that the rule may name; it has to name those there are. */
  readonly calendars: Calendars;
  /** The pointer of the rule within the body. */
  readonly at: string;
  /** The list that faults are added to. */
  readonly faults: Fault[];
}

/**
 * Returns the rule with its defaults; undefined when something is wrong with
 * the rule, which is then added to the faults.
 */
export function resolveRepeatRule(
  input: RepeatInput,
  options: RepeatRuleOptions,
): RepeatRule | undefined {
  const { at, faults, timezone, calendars } = options;
  const { anchorMs, afterMs, isFixed } = options.coming;
  const interval = input.interval ?? undefined;
  const cron = input.cron ?? undefined;
  const outcome = parseTiming(input, { timezone, afterMs, calendars });
  if (outcome.kind === "invalid") return refuse(outcome, options);
  const { timing } = outcome;
  const field = timing.kind;
  const spacingMs = shortestSpacingMs(timing);
  if (spacingMs < options.minIntervalMs) {
    return report(faults, {
      pointer: `${at}/${field}`,
      code: "too_frequent",
      detail: `Cannot repeat every ${formatMs(spacingMs)}: the plan allows ` +
        `${formatMs(options.minIntervalMs)} at the least`,
    });
  }
  if (cron === undefined && typeof input.dialect === "string") {
    return report(faults, {
      pointer: `${at}/dialect`,
      code: "needs_cron",
      detail: "Cannot use a dialect: the task has no cron expression",
    });
  }
  const unknown = (input.calendars ?? []).findIndex((name) =>
    !calendars.has(name)
  );
  if (unknown !== -1) {
    return report(faults, {
      pointer: `${at}/calendars/${unknown}`,
      code: "unknown_calendar",
      detail:
        `Cannot use calendar ${quote(input.calendars?.[unknown] ?? "")}: ` +
        "there is none of that name; PUT /v1/calendars/{name} makes one",
    });
  }
  const jitterMs = input.jitter ?? 0;
  if (jitterMs > spacingMs) {
    return report(faults, {
      pointer: `${at}/jitter`,
      code: "too_large",
      detail: "Cannot accept jitter: it is longer than the spacing of the " +
        `slots, ${formatMs(spacingMs)}`,
    });
  }
  const untilMs = input.until ?? undefined;
  const grid = { anchorMs, timezone, afterMs };
  const first = nextOccurrence({ timing, untilMs }, grid);
  // A run at a fixed date happens anyway, and may be the last one.
  if (first === undefined && !isFixed) {
    return report(faults, {
      pointer: untilMs === undefined ? `${at}/${field}` : `${at}/until`,
      code: "never_fires",
      detail: "Cannot repeat: there is no slot between its date and its end" +
        (timing.closed === undefined ? "" : " that is not left out"),
    });
  }
  return {
    interval,
    cron,
    dialect: input.dialect ?? undefined,
    exclude: given(input.exclude),
    calendars: given(input.calendars),
    limit: input.limit ?? undefined,
    untilMs,
    catchUp: input.catch_up ?? "one",
    catchUpWindowMs: input.catch_up_window ?? DEFAULT_CATCH_UP_WINDOW_MS,
    onTimeMs: input.on_time ?? options.onTimeMs,
    jitterMs,
    mode: input.mode ?? "same",
    onFailure: input.on_failure ??
      (timing.kind === "cron" ? "continue" : "stop"),
  };
}

function given(
  list: readonly string[] | null | undefined,
): readonly string[] | undefined {
  return list === null || list?.length === 0 ? undefined : list;
}

/** Tells whether a stored rule has a slot for the coming run of the task. */
export function hasSlot(
  rule: RepeatRule,
  { timezone, coming, calendars }: Pick<
    RepeatRuleOptions,
    "timezone" | "coming" | "calendars"
  >,
): boolean {
  const { anchorMs, afterMs, isFixed } = coming;
  if (isFixed) return true;
  const outcome = parseTiming(rule, { timezone, afterMs, calendars });
  if (outcome.kind === "invalid") return outcome.code !== "never_fires";
  const schedule = { timing: outcome.timing, untilMs: rule.untilMs };
  const grid = { anchorMs, timezone, afterMs };
  return nextOccurrence(schedule, grid) !== undefined;
}

/**
 * Returns a stored rule as a client would write it, to check it again in
 * another time zone.
 */
export function toRepeatInput(rule: RepeatRule): RepeatInput {
  return {
    interval: rule.interval ?? null,
    cron: rule.cron ?? null,
    dialect: rule.dialect ?? null,
    exclude: rule.exclude ?? null,
    calendars: rule.calendars ?? null,
    limit: rule.limit ?? null,
    until: rule.untilMs ?? null,
    catch_up: rule.catchUp,
    catch_up_window: rule.catchUpWindowMs,
    on_time: getOnTimeMs(rule),
    jitter: rule.jitterMs,
    mode: rule.mode,
    on_failure: rule.onFailure,
  };
}

function refuse(
  { field, code, reason }: Extract<TimingOutcome, { kind: "invalid" }>,
  { at, faults }: RepeatRuleOptions,
): undefined {
  return report(faults, {
    pointer: field === undefined ? at : `${at}/${field}`,
    code: code === "invalid" ? "bad_repeat" : code,
    detail: reason,
  });
}

/** What clients are told of a field, in answers too. */
function asWritten(
  name: keyof typeof FIELDS,
  schema: JsonSchema = TEXT,
): JsonSchema {
  const { description = "" } = FIELDS[name].schema.json;
  return said(description, schema);
}

/** A duration in answers: ISO 8601, where seconds may have a fraction. */
function durationShown(name: keyof typeof FIELDS): JsonSchema {
  return said(`${asWritten(name).description}. ISO 8601`);
}

/** The schema of how a task repeats in answers. */
export const REPEAT_SHOWN: JsonSchema = {
  ...shownObject({
    interval: durationShown("interval"),
    cron: asWritten("cron"),
    dialect: asWritten("dialect", { enum: CRON_DIALECTS }),
    exclude: asWritten("exclude", { type: "array", items: TEXT }),
    calendars: asWritten("calendars", { type: "array", items: TEXT }),
    limit: asWritten("limit", COUNT),
    until: asWritten("until", TIME),
    catch_up: asWritten("catch_up", { enum: ["one", "all", "none"] }),
    catch_up_window: durationShown("catch_up_window"),
    on_time: durationShown("on_time"),
    jitter: durationShown("jitter"),
    mode: asWritten("mode", { enum: ["same", "spawn"] }),
    on_failure: asWritten("on_failure", { enum: ["stop", "continue"] }),
  }, ["interval", "cron", "dialect", "exclude", "calendars", "limit", "until"]),
  type: ["object", "null"],
};

/** A rule as answers show it. */
export function showRepeat(
  rule: RepeatRule,
): Readonly<Record<string, unknown>> {
  const { interval, cron, dialect, exclude, calendars, limit, untilMs } = rule;
  return {
    interval,
    cron,
    dialect,
    exclude,
    calendars,
    limit,
    until: untilMs === undefined ? undefined : utcTime(untilMs),
    catch_up: rule.catchUp,
    catch_up_window: formatMs(rule.catchUpWindowMs),
    on_time: formatMs(getOnTimeMs(rule)),
    jitter: formatMs(rule.jitterMs),
    mode: rule.mode,
    on_failure: rule.onFailure,
  };
}
