/**
 * The bodies of lease requests and their answers: how tasks are leased, and
 * what a lease's holder may report. Losing a report would be worse than a text
 * that is too long, so long texts are cut later and not refused here.
 *
 * @module
 */

import { anyJson } from "../../../shared/schema/json_value.ts";
import {
  asGiven,
  list,
  nullable,
  oneOf,
  parsed,
  record,
} from "../../../shared/schema/composite.ts";
import {
  described,
  isJsonObject,
  named,
  said,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  literal,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import {
  type Fields,
  object,
  type ObjectOf,
  optional,
  withDefault,
} from "../../../shared/schema/object.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import { dateTime, durationMs, JOB_NAME } from "../../domain/value_schemas.ts";
import { RESUMED, WAIT_FOR } from "../../domain/wait_schema.ts";
import { MAX_TASK_RESULT_CHARS } from "../../engine/dependency_results.ts";
import {
  MAX_SECRET_VALUE_BYTES,
  MAX_SECRETS_PER_WORKER,
} from "../../secrets/secret_rules.ts";
import { PROBLEM_SHAPE } from "../../http/problem_answer.ts";
import { TASK_EXAMPLE, TASK_PART } from "../tasks/task_schema.ts";
import { LEASE_TIME } from "../workers/worker_values.ts";

/** Most leases of one answer. */
const MAX_LEASES = 100;

/** The members of a request that leases tasks. */
const LEASE_FIELDS = {
  max: withDefault(
    integer({ minimum: 1, maximum: MAX_LEASES }),
    1,
    "Most tasks; there may be fewer, however many wait",
  ),
  wait: withDefault(
    durationMs({ maximumMs: 30_000 }),
    "PT0S",
    "How long to wait for the first task",
  ),
  jobs: optional(
    list(JOB_NAME, { minItems: 1, maxItems: 100, isUnique: true }),
    "Only tasks of these jobs",
  ),
  lease: optional(
    LEASE_TIME,
    "How long the leases last; the worker's time if absent",
  ),
  instance: optional(
    text({
      minLength: 1,
      maxLength: 200,
      pattern: ONE_LINE,
      mustBe: "a single line",
    }),
    "The worker's name for its process",
  ),
  secrets: withDefault(
    boolean(),
    false,
    "Whether the leases include the worker's secrets",
  ),
};

/** The body of a request that leases tasks. */
export type LeaseBody = ObjectOf<typeof LEASE_FIELDS>;

/** An example of that body. */
export const LEASE_BODY_EXAMPLE = {
  max: 10,
  wait: "PT20S",
  instance: "web-1",
} as const;

/** The schema of the body that leases tasks. */
export const LEASE_BODY: Schema<LeaseBody> = named(
  "LeaseWish",
  object(LEASE_FIELDS),
  {
    description: "A worker's request for tasks",
    examples: [LEASE_BODY_EXAMPLE],
  },
);

const LEASE_FACTS = object({
  id: described(text(), "Its id (`lse_…`)"),
  token: described(text(), "What proves that it is yours; send it as bearer"),
  fence: described(
    integer({ minimum: 1 }),
    "Grows with every attempt of the task; give it to your own store to " +
      "refuse what comes from an earlier one",
  ),
  run: described(
    integer({ minimum: 0 }),
    "The number of the task's run, 0 for the first",
  ),
  attempt: described(integer({ minimum: 1 }), "Which try of the run it is"),
  expires_at: described(
    dateTime(),
    "When others may take the task unless a heartbeat extends the lease",
  ),
});

const SECRET_VALUES = record(text({ maxLength: MAX_SECRET_VALUE_BYTES }), {
  maxEntries: MAX_SECRETS_PER_WORKER,
});

/** A dependency of a leased task. */
const DEPENDENCY: Shape = named(
  "DependencyResult",
  shape(shownObject({
    id: said("The task that this one depends on"),
    status: {
      enum: [...TASK_STATUSES, "removed"],
      description: "Its status; `removed` when it is gone",
    },
    result: { description: "The result of its last success; null for none" },
    result_truncated: {
      type: "boolean",
      description: "Whether the result is only the beginning of it",
    },
    result_omitted: {
      type: "boolean",
      description: "Whether it is left out, since those before it take all " +
        "the room there is; read the task itself then",
    },
  }, ["result_truncated", "result_omitted"])),
  {
    description: "The state of a dependency of the task",
    examples: [{
      id: "tsk_01h455vb4pex5vsknk084sn02q",
      status: "complete",
      result: { rows: 17 },
    }],
  },
);

const LEASE = shownObject({
  ...LEASE_FACTS.json.properties,
  task: said("What is to be done", TASK_PART.json),
  dependencies: {
    type: "array",
    maxItems: 100,
    description: "The dependencies of a task that has some, in its order, " +
      `with results of ${MAX_TASK_RESULT_CHARS / 1_024} KiB together`,
    items: DEPENDENCY.json,
  },
  secrets: said(
    "The worker's secrets by name, where they were asked for",
    SECRET_VALUES.json,
  ),
  resumed: said(
    "The end of the wait before it, if there was one",
    RESUMED.json,
  ),
  state: { description: "What the last `wait_for` of the run saved" },
}, ["secrets", "dependencies", "resumed", "state"]);

/** The leases that a worker was granted. */
export const LEASES: Shape = named(
  "Leases",
  shape({
    ...shownObject({
      leases: said("One for each leased task", {
        type: "array",
        maxItems: MAX_LEASES,
        items: LEASE,
      }),
    }),
    description: "Tasks that are the worker's until their leases end",
    examples: [{
      leases: [{
        id: "lse_01h455vb4pex5vsknk084sn02q_1",
        token: "lt_Qm9ndXMgdG9rZW4gZm9yIHRoZSBkb2N1bWVudGF0aW9u",
        fence: 1,
        run: 0,
        attempt: 1,
        expires_at: "2030-01-31T08:30:30.000Z",
        task: TASK_EXAMPLE,
      }],
    }],
  }, [LEASE_FACTS, TASK_PART, DEPENDENCY, SECRET_VALUES, RESUMED]),
);

const STATE_EXAMPLE = {
  id: "lse_01h455vb4pex5vsknk084sn02q_1",
  task: "tsk_01h455vb4pex5vsknk084sn02q",
  status: "complete",
  date: null,
  expires_at: null,
  canceled: false,
  repeated: false,
} as const;

/** The state of a lease and its task. */
export const LEASE_STATE: Shape = named(
  "LeaseState",
  object({
    id: described(text(), "The lease"),
    task: described(text(), "The id of its task"),
    status: described(choice(TASK_STATUSES), "The status of the task"),
    date: described(
      nullable(dateTime()),
      "When the task is due next; null when it runs or has ended",
    ),
    expires_at: described(
      nullable(dateTime()),
      "When the lease ends; null when it has",
    ),
    canceled: described(
      boolean(),
      "Whether the task was canceled; stop the work then",
    ),
    repeated: described(
      boolean(),
      "Whether the same was reported before, so nothing was changed",
    ),
  }),
  { description: "How a lease and its task are", examples: [STATE_EXAMPLE] },
);

const PROBLEM = named("Problem", PROBLEM_SHAPE);

const RESULT = shownObject({
  status: { type: "integer", description: "The status it would have alone" },
  lease: said("How the lease is after the report", LEASE_STATE.json),
  problem: said("Why the report was refused", PROBLEM.json),
}, ["lease", "problem"]);

/** The outcome of each report of a batch. */
export const LEASE_RESULTS: Shape = named(
  "LeaseResults",
  shape({
    ...shownObject({
      results: said("One for each report, in their order", {
        type: "array",
        items: RESULT,
      }),
    }),
    description: "The outcomes of reports about leases",
    examples: [{ results: [{ status: 200, lease: STATE_EXAMPLE }] }],
  }, [LEASE_STATE, PROBLEM]),
);

/** Most bytes of a body that reports an outcome, whatever the tenant's plan. */
export const MAX_OUTCOME_BYTES = 4 * 1_048_576;

/** Most log lines of one call. */
const MAX_LINES = 100;

/** Most characters of the log lines of one call. */
const MAX_LOG_CHARS = 262_144;

/** Most bytes of progress. */
const MAX_PROGRESS_BYTES = 4_096;

/** Any JSON; the size of the body bounds it. */
const ANYTHING = asGiven({});

/** Text of any length, with line ends, as error messages are. */
const FREE_TEXT = parsed(
  asGiven({ type: "string" }),
  (value) =>
    typeof value === "string" ? { kind: "ok", value: value.toWellFormed() } : {
      kind: "invalid",
      code: "wrong_type",
      reason: "Cannot accept value: it is not text",
    },
);

/** The members of each action's report. */
const FIELDS = {
  heartbeat: {
    extend: optional(
      durationMs({ minimumMs: 1_000, maximumMs: 86_400_000 }),
      "How long the lease is to last from now; its own time if absent, and " +
        "never longer than the attempt may take",
    ),
    progress: optional(
      anyJson({ maxBytes: MAX_PROGRESS_BYTES }),
      "How far the work is; the task's attempt has the last progress that " +
        "was reported, and the history not all of it",
    ),
  },
  complete: {
    result: optional(ANYTHING, "The result; only the first 64 KiB are kept"),
  },
  fail: {
    error: optional(
      oneOf([
        { when: (value) => typeof value === "string", schema: FREE_TEXT },
        {
          when: isJsonObject,
          schema: object({
            code: optional(
              text({
                minLength: 1,
                maxLength: 64,
                pattern: /^[A-Za-z0-9][A-Za-z0-9_.:-]*$/,
                mustBe: 'letters, digits, "_", ".", ":" and "-"',
              }),
              "A code for programs, which `retry.on` may name",
            ),
            message: described(FREE_TEXT, "A message for people"),
            detail: optional(ANYTHING, "More details"),
          }),
        },
      ], { mustBe: "text nor an object with a message" }),
      "Why; a message, or more than that",
    ),
    retry: withDefault(boolean(), true, "False when another try is useless"),
    retry_after: optional(
      durationMs(),
      "The next try comes no sooner than this from now",
    ),
  },
  release: {
    delay: optional(
      durationMs(),
      "How long the task is held back; not at all if absent",
    ),
    reason: optional(FREE_TEXT, "Why, for the history"),
  },
  wait: {
    wait_for: described(WAIT_FOR, "The event or the approval to wait for"),
  },
  log: {
    lines: described(
      parsed(
        list(FREE_TEXT, { minItems: 1, maxItems: MAX_LINES }),
        (lines) =>
          lines.reduce((sum, { length }) => sum + length, 0) <= MAX_LOG_CHARS
            ? { kind: "ok", value: lines }
            : {
              kind: "invalid",
              code: "too_many_bytes",
              reason: "Cannot accept value: the lines have more than " +
                `${MAX_LOG_CHARS} characters`,
            },
      ),
      "Lines for the history; the first 1,000 characters of each are kept",
    ),
  },
};

/** The actions that a lease's holder may report. */
export type LeaseAction = keyof typeof FIELDS;

type BodyOf<Action extends LeaseAction> = ObjectOf<typeof FIELDS[Action]>;

/** A report of a lease's holder. */
export type ActionReport = {
  [Action in LeaseAction]: { readonly action: Action } & BodyOf<Action>;
}[LeaseAction];

/** The bodies of the actions' routes. */
export const REPORT_BODIES: {
  readonly [Action in LeaseAction]: Schema<BodyOf<Action>>;
} = {
  heartbeat: named(
    "LeaseHeartbeat",
    object(FIELDS.heartbeat),
    "The work goes on",
  ),
  complete: named(
    "LeaseComplete",
    object(FIELDS.complete),
    "The work is done",
  ),
  fail: named(
    "LeaseFail",
    object(FIELDS.fail),
    "The attempt has failed",
  ),
  release: named(
    "LeaseRelease",
    object(FIELDS.release),
    "The worker gives the task back undone",
  ),
  wait: named(
    "LeaseWait",
    object(FIELDS.wait),
    "The attempt ends, and the task waits without a worker",
  ),
  log: named(
    "LeaseLog",
    object(FIELDS.log),
    "Lines for the task's history",
  ),
};

const HOLDER = {
  id: described(text({ maxLength: 64 }), "The lease"),
  token: described(text({ maxLength: 200 }), "What came with the lease"),
};

/** A report in a batch, with the lease that it is about. */
type HeldReport = ActionReport & ObjectOf<typeof HOLDER>;

/** The schema of a report in a batch. */
export const HELD_REPORT: Schema<HeldReport> = named(
  "LeaseWord",
  oneOf([
    heldReport("complete", FIELDS.complete),
    heldReport("fail", FIELDS.fail),
    heldReport("heartbeat", FIELDS.heartbeat),
    heldReport("release", FIELDS.release),
    heldReport("wait", FIELDS.wait),
    heldReport("log", FIELDS.log),
  ], {
    mustBe: 'a "heartbeat", a "complete", a "fail", a "release", a "wait" ' +
      'nor a "log" by its "action"',
  }),
  "A report about a lease, with what proves that the lease is yours",
);

/** The schema of one action's reports in a batch. */
function heldReport<const Action extends LeaseAction, F extends Fields>(
  action: Action,
  fields: F,
) {
  return {
    when: (value: unknown) => isJsonObject(value) && value.action === action,
    schema: object({
      ...HOLDER,
      action: described(literal(action), "What the report says"),
      ...fields,
    }),
  };
}
