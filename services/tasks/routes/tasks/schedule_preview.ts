/**
 * The route that shows the next times of a schedule.
 *
 * @module
 */

import {
  excludedIn,
  MAX_EXCLUDED_SHOWN,
  OCCURRENCE_WARNINGS,
  preview,
} from "../../domain/preview.ts";
import { resolveRules } from "../../domain/rules.ts";
import { type Answer, json } from "../../http/answer.ts";
import { type Call, getLimits, getTenant } from "../../http/call.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute, requiredBody } from "../../http/route.ts";
import {
  named,
  said,
  shape,
  shownObject,
  type ValueOf,
} from "../../../shared/schema/schema.ts";
import { dateTime, TIME, timeZone } from "../../domain/value_schemas.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import {
  object,
  settable,
  withDefault,
} from "../../../shared/schema/object.ts";
import { integer } from "../../../shared/schema/values.ts";
import { utcTime } from "../../domain/instant.ts";
import { loadCalendars } from "../../engine/parts.ts";
import {
  DIALECT_WARNINGS,
  dialectWarnings,
} from "../../domain/dialect_warning.ts";
import { runFrom } from "../../domain/coming_run.ts";
import { REPEAT, resolveRepeatRule } from "../../domain/repeat_rule.ts";
import { READS_TASKS, type TasksParts } from "./task_schema.ts";

/** Most times of a preview. */
const MAX_COUNT = 100;

/**
 * Placeholder for a worker's rules; a schedule does not depend on any worker.
 */
const NO_WORKER = { timeoutMs: 0, maxLost: 0 };

const REQUEST = named(
  "PreviewRequest",
  object({
    repeat: REPEAT,
    timezone: settable(
      timeZone(),
      "The IANA time zone of cron and calendar intervals; the tenant's when " +
        "absent",
    ),
    date: settable(
      dateTime(),
      "The date that the task would have; when absent now, or `from` if that " +
        "has passed",
    ),
    from: settable(
      dateTime(),
      "The first instant that counts, in the past as well; the date when absent",
    ),
    count: withDefault(
      integer({ minimum: 1, maximum: MAX_COUNT }),
      10,
      "How many times of the schedule to show",
    ),
  }),
  {
    description: "A schedule, as a task would have it",
    examples: [{
      repeat: { cron: "30 2 * * *" },
      timezone: "Europe/Berlin",
      count: 3,
    }],
  },
);

/** An instant, and what the clock of the zone shows. */
const MOMENT = {
  at: said("The instant, in UTC", TIME),
  local: said("The local time in the zone"),
  offset: said("Such as `+02:00`"),
};

const PREVIEW = named(
  "SchedulePreview",
  shape(shownObject({
    timezone: said("The IANA zone that the schedule was read in"),
    data: {
      type: "array",
      description: "The times of the schedule, in order",
      maxItems: MAX_COUNT,
      items: shownObject({
        ...MOMENT,
        warnings: {
          type: "array",
          items: { enum: OCCURRENCE_WARNINGS },
          description:
            "`gap_moved`: the clock skips the time that was meant. " +
            "`overlap_once`: it shows the time twice, and the run is the " +
            "first of them. `month_short`: the month lacks the day. " +
            "`missed_by_limit`: the time has passed and, as `catch_up` " +
            "and its window have it, does not run",
        },
      }),
    },
    excluded: {
      type: "array",
      maxItems: MAX_EXCLUDED_SHOWN,
      description: "The times between them that the schedule leaves out, the " +
        "first ones if there are many",
      items: shownObject({
        ...MOMENT,
        calendar: {
          type: ["string", "null"],
          description: "The calendar; null for a date of `exclude`",
        },
      }),
    },
    warnings: DIALECT_WARNINGS,
    is_complete: {
      type: "boolean",
      description: "Whether the schedule ends with these",
    },
  })),
  {
    description: "The next times of a schedule",
    examples: [{
      timezone: "Europe/Berlin",
      data: [{
        at: "2027-03-28T01:00:00.000Z",
        local: "2027-03-28T03:00:00",
        offset: "+02:00",
        warnings: ["gap_moved"],
      }],
      excluded: [],
      warnings: [],
      is_complete: false,
    }],
  },
);

/** Makes the route that previews a schedule. */
export function schedulePreviewRoute(parts: TasksParts): AnyRoute {
  return defineRoute({
    method: "POST",
    path: "/v1/schedules/preview",
    hosts: "tenant",
    operationId: "previewSchedule",
    summary: "Preview the next times of a schedule",
    description: "Nothing is kept. The scheduler asks the same functions, so " +
      "a task that is made now with this schedule runs at these very times, " +
      "chance's delay and those that it warns are missed aside.",
    tags: ["schedules"],
    access: READS_TASKS.access,
    body: requiredBody(REQUEST),
    answers: { 200: { description: "The times", shape: PREVIEW } },
    isIdempotent: true,
    problems: ["bad_cron", "never_fires", "bad_timezone"],
    handle: (call) => previewSchedule(parts, call),
  });
}

async function previewSchedule(
  { engine, onTimeMs }: TasksParts,
  call: Call<unknown, ValueOf<typeof REQUEST>>,
): Promise<Answer> {
  const { clock, ruleCache, repositories } = engine.parts;
  const { body } = call;
  const tenant = getTenant(call);
  const calendars = await loadCalendars(
    repositories.calendars,
    tenant.id,
    body.repeat.calendars ?? [],
  );
  const { minIntervalMs } = getLimits(call);
  const timezone = body.timezone ?? tenant.timezone;
  const nowMs = clock.nowMs();
  const dateMs = body.date ?? Math.min(body.from ?? nowMs, nowMs);
  const faults: Fault[] = [];
  const repeat = resolveRepeatRule(body.repeat, {
    timezone,
    calendars,
    coming: runFrom(dateMs),
    minIntervalMs,
    onTimeMs,
    at: "/repeat",
    faults,
  });
  if (repeat === undefined) return invalidRequest(faults);
  const { schedule } = resolveRules({ job: "", timezone, repeat }, NO_WORKER, {
    cache: ruleCache,
    calendars,
  });
  if (schedule === undefined) throw new TypeError("Cannot find schedule");
  const fromMs = Math.max(body.from ?? dateMs, dateMs);
  // One more occurrence is computed, to tell whether the schedule ends within
  // the count.
  const occurrences = preview(schedule, {
    anchorMs: dateMs,
    timezone,
    fromMs,
    count: body.count + 1,
    catchUp: { nowMs, rule: repeat },
  });
  const shown = occurrences.slice(0, body.count);
  const lastMs = shown.at(-1)?.atMs ?? fromMs;
  const excluded = excludedIn(
    schedule,
    { afterMs: fromMs - 1, throughMs: lastMs },
    { anchorMs: dateMs, timezone },
  );
  return json({
    timezone,
    data: shown.map((one) => ({
      at: utcTime(one.atMs),
      local: one.local,
      offset: one.offset,
      warnings: one.warnings,
    })),
    excluded: excluded.map(({ atMs, local, offset, calendar = null }) => ({
      at: utcTime(atMs),
      local,
      offset,
      calendar,
    })),
    warnings: dialectWarnings(repeat),
    is_complete: occurrences.length <= body.count,
  });
}
