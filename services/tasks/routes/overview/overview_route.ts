/**
 * The route of the overview: what waits, runs and fails, what was done in the
 * last day, and what needs attention, in one answer.
 *
 * @module
 */

import { asGiven, list, nullable } from "../../../shared/schema/composite.ts";
import { object } from "../../../shared/schema/object.ts";
import { described, named, type Shape } from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import { getScopes } from "../../access/caller.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import { dateTime, TASK_ERROR } from "../../domain/value_schemas.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import {
  type Lateness,
  MAX_FAILING,
  MAX_QUEUES,
  type QueueState,
  Surveys,
  type UnaskedQueue,
} from "../../engine/overview.ts";
import { json } from "../../http/answer.ts";
import { type CallContext, getCaller, getTenant } from "../../http/call.ts";
import { type AnyRoute, defineRoute } from "../../http/route.ts";
import { LIMIT_NAMES, readUse } from "../account/account_reports.ts";
import type { ApiParts } from "../api_parts.ts";
import { shownTime } from "../record_table.ts";
import { READS_TASKS } from "../tasks/task_schema.ts";
import { viewError } from "../tasks/task_view.ts";
import {
  ACTIVITY,
  ACTIVITY_EXAMPLE,
  pickWindow,
  viewActivity,
} from "./activity_route.ts";

/** From which part of a limit on it is told of. */
const NEAR = 0.8;

const WHOLE = integer({ minimum: 0 });
const NAME = text({ maxLength: 200 });

const WORKER = {
  worker: described(NAME, "Its name; the id when it was removed"),
  worker_id: described(NAME, "Begins with `wrk_`; stays when it is renamed"),
};
const JOB = { job: described(NAME, "The handler within the worker") };
const LATE = {
  late: described(WHOLE, "Tasks that should have begun a minute ago"),
  late_is_exact: described(boolean(), "Whether `late` is all of them"),
  late_since: described(nullable(dateTime()), "The earliest date of those"),
};
const QUEUE = {
  waiting: described(WHOLE, "Tasks that are due and not taken"),
  running: described(WHOLE, "Tasks under way"),
  retry: described(WHOLE, "Tasks that failed and are tried again"),
  failed: described(WHOLE, "Tasks that have failed for good"),
  ...LATE,
};
const SEEN = {
  last_seen_at: described(
    nullable(dateTime()),
    "When it last asked for them, since the service was started",
  ),
};

const WORKER_EXAMPLE = {
  worker: "mailer",
  worker_id: "wrk_06f1cdq1s5n0q2v4x7z9b3d5f8",
};
const LATE_EXAMPLE = {
  late: 9,
  late_is_exact: true,
  late_since: "2027-01-15T08:02:20.000Z",
};
const QUEUE_EXAMPLE = {
  ...{ waiting: 12, running: 3, retry: 0, failed: 1 },
  ...LATE_EXAMPLE,
};

const OVERVIEW: Shape = named(
  "Overview",
  object({
    at: shownTime("When it was read"),
    counts: described(
      object(
        Object.fromEntries(
          TASK_STATUSES.map((status) => [
            status,
            described(WHOLE, `How many are \`${status}\``),
          ]),
        ),
      ),
      "How many tasks are in each status",
    ),
    ...LATE,
    workers: described(
      list(object({ ...WORKER, ...QUEUE }), { maxItems: MAX_QUEUES }),
      "The workers with the most tasks, the most first",
    ),
    jobs: described(
      list(object({ ...WORKER, ...JOB, ...QUEUE }), { maxItems: MAX_QUEUES }),
      "The jobs with the most tasks, the most first",
    ),
    approvals: described(WHOLE, "Tasks that wait for the approval of a person"),
    approvals_is_exact: described(
      boolean(),
      "Whether `approvals` is all of them",
    ),
    activity: described(ACTIVITY, "The last 24 hours in steps of 5 minutes"),
    failing_schedules: described(
      list(
        object({
          id: described(NAME, "The id of the task"),
          ...WORKER,
          ...JOB,
          key: described(nullable(text()), "By which its owner knows it"),
          status: described(
            choice(TASK_STATUSES),
            "`failed` if it has ended by that",
          ),
          failed_at: shownTime("When its last run failed"),
          error: described(nullable(asGiven(TASK_ERROR)), "Why"),
          next: described(nullable(dateTime()), "When it runs next"),
        }),
        { maxItems: MAX_FAILING },
      ),
      "Tasks that repeat and whose last run failed, the latest failure first",
    ),
    silent_workers: described(
      list(object({ ...WORKER, ...LATE, ...SEEN }), { maxItems: MAX_QUEUES }),
      "Pull workers that have asked for nothing for a minute although tasks " +
        "are late",
    ),
    unasked_jobs: described(
      list(
        object({ ...WORKER, ...JOB, ...LATE, ...SEEN }),
        { maxItems: MAX_QUEUES },
      ),
      "Jobs with late tasks of which no process of the worker asks for any",
    ),
    near_limits: described(
      nullable(list(
        object({
          limit: described(choice(LIMIT_NAMES), "Which limit of the plan"),
          allowed: described(WHOLE, "What the plan allows"),
          used: described(WHOLE, "How much of it is used"),
        }),
        { maxItems: LIMIT_NAMES.length },
      )),
      "Limits of the plan of which 80 % or more are used; null for a caller " +
        "who may not read the usage",
    ),
  }),
  {
    description: "What the tasks do, and what needs attention",
    examples: [{
      at: "2027-01-15T08:07:30.000Z",
      counts: {
        ...Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])),
        waiting: 12,
        running: 3,
      },
      ...LATE_EXAMPLE,
      workers: [{ ...WORKER_EXAMPLE, ...QUEUE_EXAMPLE }],
      jobs: [{ ...WORKER_EXAMPLE, job: "welcome", ...QUEUE_EXAMPLE }],
      approvals: 2,
      approvals_is_exact: true,
      activity: ACTIVITY_EXAMPLE,
      failing_schedules: [{
        id: "tsk_37efnd0000749gadqcbm8b2hrm",
        ...WORKER_EXAMPLE,
        job: "report",
        key: "daily report",
        status: "scheduled",
        failed_at: "2027-01-15T06:00:02.000Z",
        error: {
          code: "timed_out",
          message: "The attempt took longer than 30 s",
          at: "2027-01-15T06:00:02.000Z",
        },
        next: "2027-01-16T06:00:00.000Z",
      }],
      silent_workers: [{
        ...WORKER_EXAMPLE,
        ...LATE_EXAMPLE,
        last_seen_at: "2027-01-15T08:02:11.000Z",
      }],
      unasked_jobs: [],
      near_limits: [{ limit: "active_tasks", allowed: 1_000, used: 870 }],
    }],
  },
);

/** Makes the route of the overview. */
export function overviewRoute({ engine, plans }: ApiParts): AnyRoute {
  const surveys = new Surveys(engine);
  return defineRoute({
    ...READS_TASKS,
    path: "/v1/overview",
    operationId: "getOverview",
    summary: "See what tasks do and what needs attention",
    description: "Read from counts that are kept as tasks change, at most " +
      "once a second, so it takes as long with any number of tasks.",
    answers: { 200: { description: "The overview", shape: OVERVIEW } },
    problems: [],
    handle: async (call) => {
      const { nowMs } = call;
      const { id: tenantId } = getTenant(call);
      const window = pickWindow(nowMs, {});
      const [survey, points, nearLimits] = await Promise.all([
        surveys.read(tenantId),
        engine.activity.read({
          ...{ tenantId, series: { workerId: "", job: "" }, ...window },
        }),
        findNearLimits(call, { engine, plans }),
      ]);
      return json({
        at: utcTime(survey.atMs),
        counts: Object.fromEntries(
          TASK_STATUSES.map((status) => [status, survey.counts[status] ?? 0]),
        ),
        ...viewLate(survey.late),
        workers: survey.workers.map(viewQueue),
        jobs: survey.jobs.map(viewQueue),
        approvals: survey.approvals.value,
        approvals_is_exact: survey.approvals.isExact,
        activity: viewActivity(window, points),
        failing_schedules: await Promise.all(survey.failing.map(
          async (task) => {
            const { workerId } = task;
            const worker = await engine.parts.workers.get(tenantId, workerId);
            return {
              id: task.id,
              worker: worker?.name ?? workerId,
              worker_id: workerId,
              job: task.job,
              key: task.key ?? null,
              status: task.status,
              failed_at: utcTime(task.error?.atMs ?? task.updatedAtMs),
              error: task.error === undefined ? null : viewError(task.error),
              next: task.finishedAtMs === undefined
                ? utcTime(task.dateMs)
                : null,
            };
          },
        )),
        silent_workers: survey.silent.map(viewUnasked),
        unasked_jobs: survey.unasked.map(viewUnasked),
        near_limits: nearLimits,
      });
    },
  });
}

/** The limits that are nearly used up; null for who may not know. */
async function findNearLimits(
  call: CallContext,
  { engine, plans }: Pick<ApiParts, "engine" | "plans">,
): Promise<unknown> {
  if (!getScopes(getCaller(call)).has("account:read")) return null;
  const { id: tenantId, plan } = getTenant(call);
  const { limits } = plans.plan(plan);
  const use = await readUse(engine, {
    ...{ tenantId, limits, nowMs: call.nowMs },
    isUnlimitedCounted: false,
  });
  return LIMIT_NAMES.flatMap((name) => {
    const { limit: allowed, used } = use[name];
    return allowed !== null && allowed > 0 && used >= allowed * NEAR
      ? [{ limit: name, allowed, used }]
      : [];
  });
}

function viewName(
  { worker, workerId, job }: QueueState,
): Readonly<Record<string, unknown>> {
  return {
    worker: worker?.name ?? workerId,
    worker_id: workerId,
    ...job === undefined ? {} : { job },
  };
}

function viewLate(
  { count, isExact, sinceMs }: Lateness,
): Readonly<Record<string, unknown>> {
  return {
    late: count,
    late_is_exact: isExact,
    late_since: optionalTime(sinceMs),
  };
}

function viewQueue(queue: QueueState): Readonly<Record<string, unknown>> {
  const { waiting = 0, running = 0, retry = 0, failed = 0 } = queue.counts;
  return {
    ...viewName(queue),
    ...{ waiting, running, retry, failed },
    ...viewLate(queue.late),
  };
}

function viewUnasked(queue: UnaskedQueue): Readonly<Record<string, unknown>> {
  return {
    ...viewName(queue),
    ...viewLate(queue.late),
    last_seen_at: optionalTime(queue.seenAtMs),
  };
}
