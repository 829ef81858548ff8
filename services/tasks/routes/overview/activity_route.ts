/**
 * The route of activity over time: what tasks did, by minute, by five minutes
 * or by hour.
 *
 * @module
 */

import { list } from "../../../shared/schema/composite.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { querySchema } from "../../../shared/schema/query.ts";
import {
  described,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import { choice, integer } from "../../../shared/schema/values.ts";
import { dateTime, JOB_NAME } from "../../domain/value_schemas.ts";
import { utcTime } from "../../domain/instant.ts";
import { ACTIVITY_STEPS, floorTo } from "../../engine/activity.ts";
import { json } from "../../http/answer.ts";
import { getTenant } from "../../http/call.ts";
import { invalidRequest } from "../../http/problem_answer.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import type {
  ActivityCounts,
  ActivityPoint,
  ActivitySeries,
} from "../../store/kept_counts.ts";
import type { ApiParts } from "../api_parts.ts";
import { shownTime } from "../record_table.ts";
import { READS_TASKS, WORKER_REFERENCE } from "../tasks/task_schema.ts";

/** The lengths of spans, as the API writes them, the shortest first. */
const STEPS = ["PT1M", "PT5M", "PT1H"] as const;

const DAY_MS = 86_400_000;
/** The most points of an answer; no kept time has so many. */
const MAX_POINTS = 400;

const NUMBERS = list(integer({ minimum: 0 }), { maxItems: MAX_POINTS });

/** The counts of an answer with what each means, by their names in the API. */
const COUNTS = {
  created: described(NUMBERS, "Tasks that were made"),
  started: described(NUMBERS, "Attempts that began"),
  succeeded: described(NUMBERS, "Attempts that succeeded"),
  failed: described(NUMBERS, "Attempts that failed"),
  lost: described(NUMBERS, "Attempts that were lost with their worker"),
  completed: described(NUMBERS, "Tasks that ended as `complete`"),
  missed: described(NUMBERS, "Slots of schedules that were missed"),
  lag_sum: described(
    NUMBERS,
    "How many milliseconds after their dates attempts began, in sum; divided " +
      "by `started`, the average",
  ),
  lag_max: described(NUMBERS, "The largest of these"),
  duration_sum: described(
    NUMBERS,
    "How many milliseconds the attempts took that ended, in sum",
  ),
} as const;

const NAMES = {
  created: "created",
  started: "started",
  succeeded: "succeeded",
  failed: "failed",
  lost: "lost",
  completed: "completed",
  missed: "missed",
  lag_sum: "lagSumMs",
  lag_max: "lagMaxMs",
  duration_sum: "runSumMs",
} as const satisfies Record<keyof typeof COUNTS, keyof ActivityCounts>;

/** An example of {@linkcode ACTIVITY}. */
export const ACTIVITY_EXAMPLE = {
  from: "2027-01-15T08:00:00.000Z",
  to: "2027-01-15T08:10:00.000Z",
  step: "PT5M",
  ...Object.fromEntries(
    Object.keys(COUNTS).map((name, index) => [name, [0, 10 - index]]),
  ),
};

/** The schema of activity over time. */
export const ACTIVITY: Schema<unknown> = named(
  "Activity",
  object({
    from: shownTime("When the first span begins"),
    to: shownTime("When the last span ends; it may still go on"),
    step: described(choice(STEPS), "How long each span is"),
    ...COUNTS,
  }),
  {
    description:
      "Counts of tasks over time: each is a list with a number for " +
      "each span, the earliest first",
    examples: [ACTIVITY_EXAMPLE],
  },
);

/** A time of spans of one length. */
export interface ActivityWindow {
  /** When the first span begins. */
  readonly fromMs: number;
  /** When the last span ends. */
  readonly toMs: number;
  /** The length of the spans. */
  readonly stepMs: number;
}

/**
 * The spans that cover a time as far as it is kept. Without a step they are the
 * shortest of which all are kept.
 */
export function pickWindow(
  nowMs: number,
  { fromMs, toMs = nowMs, step }: {
    readonly fromMs?: number | undefined;
    readonly toMs?: number | undefined;
    readonly step?: typeof STEPS[number] | undefined;
  },
): ActivityWindow {
  const wantedMs = fromMs ?? toMs - DAY_MS;
  const kept = step === undefined
    ? ACTIVITY_STEPS.find(({ keptMs }) => wantedMs >= nowMs - keptMs) ??
      ACTIVITY_STEPS[2]
    : ACTIVITY_STEPS[STEPS.indexOf(step)] ?? ACTIVITY_STEPS[2];
  const { stepMs, keptMs } = kept;
  const endMs = floorTo(Math.min(toMs, nowMs), stepMs) + stepMs;
  const startMs = floorTo(Math.max(wantedMs, nowMs - keptMs), stepMs);
  return { fromMs: Math.min(startMs, endMs), toMs: endMs, stepMs };
}

/** Shows points, of which there is one for each span. */
export function viewActivity(
  { fromMs, toMs, stepMs }: ActivityWindow,
  points: readonly ActivityPoint[],
): Readonly<Record<string, unknown>> {
  return {
    from: utcTime(fromMs),
    to: utcTime(toMs),
    step: STEPS[ACTIVITY_STEPS.findIndex((one) => one.stepMs === stepMs)],
    ...Object.fromEntries(
      Object.entries(NAMES).map(([name, count]) => [
        name,
        points.map((point) => point[count]),
      ]),
    ),
  };
}

/** Makes the route of activity. */
export function activityRoute({ engine }: ApiParts): AnyRoute {
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/activity",
    operationId: "getActivity",
    summary: "Read what tasks did over time",
    description: "Counted as it happens and written every five seconds, so " +
      "the answer takes as long with any number of tasks. Minutes are kept " +
      "for two hours, five minutes for 25 hours, and hours for eight days; " +
      "what is older is left out. Beyond 500 workers and jobs of an hour, " +
      "others count as `*`. A crash of the service loses five seconds of it.",
    query: querySchema({
      from: optional(dateTime(), "The first instant; a day before `to`"),
      to: optional(dateTime(), "The last instant; now when absent"),
      step: optional(
        choice(STEPS),
        "How long a span is; when absent, the shortest that is kept for all " +
          "of it",
      ),
      worker: optional(WORKER_REFERENCE, "Only that of this worker"),
      job: optional(JOB_NAME, "Only that of this job of the worker"),
    }),
    answers: { 200: { description: "The activity", shape: ACTIVITY } },
    problems: [],
    handle: async (call) => {
      const { from: fromMs, to: toMs, step, worker, job } = call.query;
      if (job !== undefined && worker === undefined) {
        return invalidRequest([{
          parameter: "worker",
          code: "required",
          detail: "Cannot read activity of a job: its worker is not given",
        }]);
      }
      if (fromMs !== undefined && fromMs > (toMs ?? call.nowMs)) {
        return invalidRequest([{
          parameter: "from",
          code: "end_before_start",
          detail: "Cannot read activity: its end is before its beginning",
        }]);
      }
      const { id: tenantId } = getTenant(call);
      const found = worker === undefined
        ? undefined
        : await engine.parts.workers.find(tenantId, worker);
      const series: ActivitySeries = {
        // The activity of a removed worker is known by its id.
        workerId: found?.id ?? worker ?? "",
        job: job ?? "",
      };
      const window = pickWindow(call.nowMs, { fromMs, toMs, step });
      const points = await engine.activity.read({
        ...{ tenantId, series, ...window },
      });
      return json(viewActivity(window, points));
    },
  });
}
