/**
 * The table of a task's fields, by their names in the API: who writes each, how
 * clients write it, where it is stored, and how answers show it. Request
 * bodies, the OpenAPI documents, history changes and answers are derived from
 * this table. A new field needs a row here, a property of {@linkcode Task} and
 * of its blank, and a line in the view; the compiler names what is missing.
 *
 * @module
 */

import { asGiven, list, nullable } from "../../shared/schema/composite.ts";
import {
  optional,
  type OptionalField,
  settable,
} from "../../shared/schema/object.ts";
import {
  type JsonSchema,
  type JsonValue,
  said,
  type Schema,
  shownObject,
} from "../../shared/schema/schema.ts";
import { choice, integer, ONE_LINE, text } from "../../shared/schema/values.ts";
import {
  REPEAT,
  REPEAT_SHOWN,
  showRepeat,
  toRepeatInput,
} from "./repeat_rule.ts";
import { DATE_WORDS, guided, PRIORITY_WORDS } from "./other_words.ts";
import { RETAIN, RETAIN_SHOWN, showRetain } from "./retention.ts";
import { RETRY_POLICY } from "./retry_schema.ts";
import { DIALECT_WARNINGS } from "./dialect_warning.ts";
import { type Task, TASK_STATUSES, type TaskDefinition } from "./task.ts";
import { optionalTime } from "./instant.ts";
import { AWAITED } from "./wait_schema.ts";
import {
  ACTOR,
  ATTEMPT_SHOWN,
  ATTEMPT_TIME,
  CALLBACK,
  CALLBACK_SHOWN,
  COUNT,
  COUNT_OR_NULL,
  dateTime,
  duration,
  EXPIRES,
  JOB_NAME,
  LINKS_SHOWN,
  METADATA,
  TASK_ERROR,
  TEXT,
  TEXT_OR_NULL,
  TIME,
  TIME_OR_NULL,
  timeZone,
} from "./value_schemas.ts";

/** What a field means, and how answers show it. */
interface Shown {
  /** The JSON Schema of its value; its description is what the field means. */
  readonly shown: JsonSchema;
  /** The value in the example of the API documents. */
  readonly example?: JsonValue | undefined;
}

/** A field that clients decide and that is stored. */
interface Kept<Key extends keyof TaskDefinition, Input> extends Shown {
  /** The property of the definition that stores the field. */
  readonly key: Key;
  /** The schema of what clients write. */
  readonly input: OptionalField<Input>;
  /** Returns the value that answers show. */
  readonly show: (definition: TaskDefinition) => unknown;
  /**
   * The value as a client would write it. Fields that have this are checked
   * when they change, and left alone when they are sent back as they are.
   */
  readonly asWritten?: ((task: Task) => unknown) | undefined;
}

/** A field that is stored as it is read; null resets it to its default. */
interface PlainField<Key extends keyof TaskDefinition>
  extends Kept<Key, NonNullable<TaskDefinition[Key]> | null> {
  readonly kind: "plain";
}

/**
 * A field whose stored value `defineTask()` derives from what clients write.
 */
interface DefinedField<Key extends keyof TaskDefinition, Input>
  extends Kept<Key, Input> {
  readonly kind: "defined";
}

/** What is told of a field that clients decide. */
interface KeptOptions<Key extends keyof TaskDefinition>
  extends Shown, Partial<Pick<Kept<Key, unknown>, "show" | "asWritten">> {
  /** What the field means, for those who write it and those who read it. */
  readonly about: string;
}

function plain<Key extends keyof TaskDefinition>(
  key: Key,
  schema: Schema<NonNullable<TaskDefinition[Key]>>,
  { about, shown, ...rest }: KeptOptions<Key>,
): PlainField<Key> {
  return {
    kind: "plain",
    key,
    input: settable(schema, about),
    show: (definition) => definition[key] ?? null,
    shown: said(about, shown),
    ...rest,
  };
}

function defined<Key extends keyof TaskDefinition, Input>(
  key: Key,
  schema: Schema<Input>,
  { about, shown, ...rest }: KeptOptions<Key>,
): DefinedField<Key, Input> {
  return {
    kind: "defined",
    key,
    input: optional(schema, about),
    show: (definition) => definition[key],
    shown: said(about, shown),
    ...rest,
  };
}

/** A field that the service alone decides. */
interface ServiceField extends Shown {
  readonly kind: "service";
  /** The value in the example of the API documents. */
  readonly example: JsonValue;
}

function service(
  about: string,
  { shown = TEXT, example }: {
    readonly shown?: JsonSchema;
    readonly example: JsonValue;
  },
): ServiceField {
  return { kind: "service", shown: said(about, shown), example };
}

const ID = "tsk_37efnd0000749gadqcbm8b2hrm";
const WORKER_ID = "wrk_37efnd00004rtwvqb80bgq0kq4";
const CREATED = "2027-01-15T08:00:00.000Z";

/** Most characters of a group or a key. */
export const MAX_LABEL_CHARS = 200;

/**
 * All fields, by name. The kinds besides `plain` and `defined` are: a `service`
 * field, which only the service decides (a momentary one depends on the instant
 * at which it is shown); a `request` field, which each request reads in its own
 * way; and an `input` field, which says when the task runs and is stored in its
 * state.
 */
export const TASK_FIELDS = {
  id: service("Starts with `tsk_`; ids sort by the time of creation", {
    example: ID,
  }),
  status: {
    kind: "request",
    shown: said(
      "`scheduled` has a date to come, `blocked` waits for dependencies, " +
        "`waiting` for a worker. `retry` failed and is tried again, `done` " +
        "succeeded and runs again. `complete`, `failed`, `canceled` and " +
        "`expired` are ends",
      { enum: TASK_STATUSES },
    ),
    example: "scheduled",
  },
  worker: {
    kind: "request",
    shown: said("The name of who does it"),
    example: "mailer",
  },
  worker_id: service("Does not change when the worker is renamed", {
    example: WORKER_ID,
  }),
  job: defined("job", nullable(JOB_NAME), {
    about: "The handler within the worker; `default` when absent",
    asWritten: ({ job }) => job,
    shown: TEXT,
    example: "report",
  }),
  data: {
    kind: "input",
    input: optional(
      asGiven({}),
      "Input of the job: any JSON, up to the plan's limit; null if left out",
    ),
    shown: {
      description: "What the job is given; absent for callers who see none",
    },
    example: { account: 17 },
    mayLack: true,
  },
  date: {
    kind: "input",
    input: settable(
      guided(dateTime(), DATE_WORDS),
      "Time of the first run; when absent now, or the first slot of a cron " +
        "schedule. A past date is due immediately",
    ),
    asWritten: ({ dateMs }: Task): unknown => dateMs,
    shown: said("When the next attempt is due, or the last one was", TIME),
    example: "2027-01-18T05:30:00.000Z",
  },
  delay: {
    kind: "input",
    input: settable(
      duration(),
      "Time from now to the first run, instead of a date",
    ),
  },
  first_date: service("The start from which slots of an interval are counted", {
    shown: TIME,
    example: CREATED,
  }),
  timezone: defined("timezone", nullable(timeZone()), {
    about: "The IANA time zone of cron and calendar intervals; the tenant's " +
      "when absent",
    shown: TEXT,
    example: "Europe/Berlin",
  }),
  repeat: defined("repeat", nullable(REPEAT), {
    about: "The schedule of further runs; null for a single run",
    show: ({ repeat }) => repeat === undefined ? null : showRepeat(repeat),
    asWritten: ({ repeat }) =>
      repeat === undefined ? null : toRepeatInput(repeat),
    shown: REPEAT_SHOWN,
    example: {
      cron: "30 6 * * MON-FRI",
      catch_up: "one",
      catch_up_window: "PT24H",
      on_time: "PT10S",
      jitter: "PT0S",
      mode: "same",
      on_failure: "continue",
    },
  }),
  retry: {
    // Absent means the worker's policy, null means no retries.
    ...defined("retry", RETRY_POLICY, {
      about: "Retries of failed attempts; the rule of its job or worker when " +
        "absent, none when null",
      shown: RETRY_POLICY.json,
      example: { limit: 5, interval: "PT1M", backoff: "exponential" },
    }),
    mayLack: true,
  },
  timeout: plain("timeoutMs", ATTEMPT_TIME, {
    about:
      "Time limit of an attempt, a number in milliseconds; the limit of its " +
      "job or worker when absent",
    shown: COUNT_OR_NULL,
    example: null,
  }),
  retain: {
    // Absent means what its job, its worker or the plan says.
    ...plain("retain", RETAIN, {
      about: "How long the task is kept after its end; the time of its job, " +
        "its worker or the plan when absent",
      show: ({ retain }) => showRetain(retain),
      asWritten: ({ retain }) => retain ?? null,
      shown: RETAIN_SHOWN,
    }),
    mayLack: true,
  },
  expires: defined("expiresAtMs", nullable(EXPIRES), {
    about: "The task expires if it has not started by then; never when " +
      "absent. An instant after its date, or a duration from its date. For a " +
      "repeating task the date is the first slot",
    show: ({ expiresAtMs }) => optionalTime(expiresAtMs),
    asWritten: ({ expiresAtMs }) =>
      expiresAtMs === undefined ? null : { kind: "at", atMs: expiresAtMs },
    shown: TIME_OR_NULL,
    example: null,
  }),
  dependencies: plain(
    "dependencies",
    list(text({ maxLength: 64 }), { maxItems: 100, isUnique: true }),
    {
      about: "Ids of tasks that must succeed first; in a batch also the " +
        "`ref` of others. The worker gets their results. An existing task " +
        "accepts only tasks that are older than itself or have no dependencies",
      asWritten: ({ dependencies }) => dependencies,
      shown: { type: "array", items: TEXT },
      example: [],
    },
  ),
  on_dependency_failure: plain(
    "onDependencyFailure",
    choice(["fail", "run", "wait"]),
    {
      about: "Action when a dependency fails, expires or is canceled; `fail` " +
        "when absent. A removed dependency fails the task even with `wait`",
      shown: { enum: ["fail", "run", "wait"] },
      example: "fail",
    },
  ),
  priority: plain(
    "priority",
    guided(integer({ minimum: -9, maximum: 9 }), PRIORITY_WORDS),
    {
      about:
        "Higher numbers run first; 0 when absent. A step is worth a minute " +
        "of waiting. Among equals the earliest date runs first",
      shown: { type: "integer", minimum: -9, maximum: 9 },
      example: 0,
    },
  ),
  group: plain(
    "group",
    text({ minLength: 1, maxLength: MAX_LABEL_CHARS, pattern: ONE_LINE }),
    {
      about: "Groups of a worker take turns, and its `limits` may bound each",
      show: ({ group }) => group === "" ? null : group,
      shown: TEXT_OR_NULL,
      example: null,
    },
  ),
  key: plain(
    "key",
    text({ minLength: 1, maxLength: MAX_LABEL_CHARS, pattern: ONE_LINE }),
    {
      about: "A worker has at most one live task with a key; `on_conflict` " +
        "decides about further requests with it",
      shown: TEXT_OR_NULL,
      example: null,
    },
  ),
  callback: defined("callback", nullable(CALLBACK), {
    about:
      "URL to call at the end, optionally with the outcomes to call at. The " +
      "worker's signing secret signs the call. The call contains data and " +
      "result, so only callers who may see these (`payloads`) may set it; " +
      "others get 403",
    show: ({ callback }) => callback ?? null,
    asWritten: ({ callback }) => callback ?? null,
    shown: CALLBACK_SHOWN,
    example: null,
  }),
  tags: plain(
    "tags",
    list(text({ minLength: 1, maxLength: 100, pattern: ONE_LINE }), {
      maxItems: 20,
      isUnique: true,
    }),
    {
      about: "Labels for filters of lists and bulk actions",
      shown: { type: "array", items: TEXT },
      example: ["reports"],
    },
  ),
  metadata: plain("metadata", METADATA, {
    about: "Named labels, for workers and for filters of lists",
    shown: { type: "object", additionalProperties: TEXT },
    example: {},
  }),
  due: {
    ...service("Whether its date has passed and a worker may take it", {
      shown: { type: "boolean" },
      example: false,
    }),
    isMomentary: true,
  },
  run: service("The number of the current run, 0 for the first", {
    shown: COUNT,
    example: 0,
  }),
  executions: service("Attempts that succeeded or failed, in all runs", {
    shown: COUNT,
    example: 0,
  }),
  retries: service("Attempts of the current run after the first", {
    shown: COUNT,
    example: 0,
  }),
  repetitions: service(
    "Runs after the first that the schedule caused; `repeat.limit` bounds them",
    { shown: COUNT, example: 0 },
  ),
  last_outcome: service("How the last run ended; null before one has", {
    shown: { enum: ["succeeded", "failed", null] },
    example: null,
  }),
  lost: service(
    "Attempts that were lost with their worker, which cost no retry",
    {
      shown: COUNT,
      example: 0,
    },
  ),
  missed: service("Slots of the schedule that passed without a run", {
    shown: COUNT,
    example: 0,
  }),
  lag: service("Milliseconds by which the last attempt started late", {
    shown: COUNT_OR_NULL,
    example: null,
  }),
  duration: service("Milliseconds that the last attempt took", {
    shown: COUNT_OR_NULL,
    example: null,
  }),
  result: service(
    "What the last success returned; null for callers who see none",
    { shown: {}, example: null },
  ),
  result_truncated: {
    kind: "service",
    shown: said(
      "Present and true when the result exceeded 64 KiB and is cut to them",
      { type: "boolean" },
    ),
    mayLack: true,
  },
  error: service("Why the last attempt failed; null after a success", {
    shown: { anyOf: [TASK_ERROR, { type: "null" }] },
    example: null,
  }),
  attempt: {
    ...service("The running attempt; null while none runs", {
      shown: ATTEMPT_SHOWN,
      example: null,
    }),
    isMomentary: true,
  },
  next: {
    ...service("The next dates of a repeating task", {
      shown: { type: "array", items: TIME, maxItems: 3 },
      example: [
        "2027-01-18T05:30:00.000Z",
        "2027-01-19T05:30:00.000Z",
        "2027-01-20T05:30:00.000Z",
      ],
    }),
    isMomentary: true,
    mayLack: true,
  },
  again: {
    kind: "service",
    shown: said(
      "Earliest start of the run that a request with the key of the running " +
        "task asked for",
      TIME,
    ),
    mayLack: true,
  },
  waiting_for: {
    kind: "service",
    shown: said(
      "The event or approval it waits for; it is `scheduled` for the end of " +
        "the wait",
      AWAITED.json,
    ),
    isMomentary: true,
    mayLack: true,
  },
  revived_dependents: {
    kind: "service",
    shown: said(
      "In the answer to a retry: the dependents that wait for this task again",
      shownObject({
        count: said("How many tasks wait again", COUNT),
        ids: said("The first of them", {
          type: "array",
          items: TEXT,
          maxItems: 100,
        }),
        is_complete: said("Whether this is the complete list", {
          type: "boolean",
        }),
      }),
    ),
    isMomentary: true,
    mayLack: true,
  },
  warnings: {
    ...service(DIALECT_WARNINGS.description ?? "", {
      shown: DIALECT_WARNINGS,
      example: [],
    }),
    isMomentary: true,
    mayLack: true,
  },
  created_by: service("The creator", {
    shown: ACTOR,
    example: { type: "key", id: "dk_0123456789abcdef" },
  }),
  parent: {
    kind: "service",
    shown: said("The task whose schedule created it"),
    mayLack: true,
  },
  created_at: service("When it was created", { shown: TIME, example: CREATED }),
  updated_at: service("When the service or a request last changed it", {
    shown: TIME,
    example: CREATED,
  }),
  started_at: service("When the last attempt began; null before the first", {
    shown: TIME_OR_NULL,
    example: null,
  }),
  finished_at: service("When it ended; null before", {
    shown: TIME_OR_NULL,
    example: null,
  }),
  kept_until: {
    kind: "service",
    shown: said(
      "When the ended task is removed; absent before the end, and when it is " +
        "kept for ever",
      TIME,
    ),
    mayLack: true,
  },
  version: service(
    "Grows by one with each change; the entity tag is derived from it",
    {
      shown: { type: "integer", minimum: 1 },
      example: 1,
    },
  ),
  links: service("Related paths of the API", {
    shown: LINKS_SHOWN,
    example: {
      self: `/api/v1/tasks/${ID}`,
      history: `/api/v1/tasks/${ID}/history`,
      worker: `/api/v1/workers/${WORKER_ID}`,
    },
  }),
} as const;
