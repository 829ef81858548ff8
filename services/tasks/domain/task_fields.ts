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
  described,
  type JsonSchema,
  type JsonValue,
  type Schema,
  shownObject,
} from "../../shared/schema/schema.ts";
import { choice, integer, ONE_LINE, text } from "../../shared/schema/values.ts";
import {
  REPEAT,
  REPEAT_SHOWN,
  repeatInputOf,
  showRepeat,
} from "./repeat_rule.ts";
import { DATE_WORDS, guided, PRIORITY_WORDS } from "./other_words.ts";
import { RETAIN, RETAIN_SHOWN, showRetain } from "./retention.ts";
import { RETRY_POLICY } from "./retry_schema.ts";
import { DIALECT_WARNINGS } from "./dialect_warning.ts";
import { type Task, TASK_STATUSES, type TaskDefinition } from "./task.ts";
import { optionalTime } from "./instant.ts";
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

/** How answers show a field. */
interface Shown {
  /** The JSON Schema of its value. */
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

function plain<Key extends keyof TaskDefinition>(
  key: Key,
  schema: Schema<NonNullable<TaskDefinition[Key]>>,
  { about, ...rest }:
    & { readonly about: string }
    & Shown
    & Partial<Pick<Kept<Key, unknown>, "show" | "asWritten">>,
): PlainField<Key> {
  return {
    kind: "plain",
    key,
    input: settable(schema, about),
    show: (definition) => definition[key] ?? null,
    ...rest,
  };
}

function defined<Key extends keyof TaskDefinition, Input>(
  key: Key,
  schema: Schema<Input>,
  rest: Shown & Partial<Pick<Kept<Key, unknown>, "show" | "asWritten">>,
): DefinedField<Key, Input> {
  return {
    kind: "defined",
    key,
    input: optional(schema),
    show: (definition) => definition[key],
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
  shown: JsonSchema,
  example: JsonValue,
  description?: string,
): ServiceField {
  return {
    kind: "service",
    shown: description === undefined ? shown : { ...shown, description },
    example,
  };
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
  id: service(TEXT, ID),
  status: {
    kind: "request",
    shown: { enum: TASK_STATUSES },
    example: "scheduled",
  },
  worker: {
    kind: "request",
    shown: { ...TEXT, description: "The worker's name" },
    example: "mailer",
  },
  worker_id: service(TEXT, WORKER_ID),
  job: defined(
    "job",
    nullable(described(
      JOB_NAME,
      'The handler within the worker; "default" when absent',
    )),
    { asWritten: ({ job }) => job, shown: TEXT, example: "report" },
  ),
  data: {
    kind: "input",
    input: optional(
      asGiven({}),
      "What the job is given: any JSON, as much as the plan allows",
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
      "When to run first; now when absent, and what has passed is due at once",
    ),
    asWritten: ({ dateMs }: Task): unknown => dateMs,
    shown: { ...TIME, description: "When the next attempt is due" },
    example: "2027-01-18T05:30:00.000Z",
  },
  delay: {
    kind: "input",
    input: settable(
      duration(),
      "How long from now to run first, instead of a date",
    ),
  },
  first_date: service(TIME, CREATED, "The anchor of its schedule"),
  timezone: defined(
    "timezone",
    nullable(described(
      timeZone(),
      "The IANA zone of cron and calendar intervals; the tenant's when absent",
    )),
    { shown: TEXT, example: "Europe/Berlin" },
  ),
  repeat: defined("repeat", nullable(REPEAT), {
    show: ({ repeat }) => repeat === undefined ? null : showRepeat(repeat),
    asWritten: ({ repeat }) =>
      repeat === undefined ? null : repeatInputOf(repeat),
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
    ...defined(
      "retry",
      described(
        RETRY_POLICY,
        "When a failed attempt is tried again; the worker's rule when absent, " +
          "not at all when null",
      ),
      {
        shown: RETRY_POLICY.json,
        example: { limit: 5, interval: "PT1M", backoff: "exponential" },
      },
    ),
    mayLack: true,
  },
  timeout: plain(
    "timeoutMs",
    ATTEMPT_TIME,
    {
      about:
        "How long an attempt may take; the worker's time when absent. Here alone " +
        "a number is taken, of milliseconds",
      shown: { ...COUNT_OR_NULL, description: "Milliseconds" },
      example: null,
    },
  ),
  retain: {
    // Absent means what its job, its worker or the plan says.
    ...plain("retain", RETAIN, {
      about: "How long it is kept after its end; as its job, its worker or " +
        "the plan says when absent",
      show: ({ retain }) => showRetain(retain),
      asWritten: ({ retain }) => retain ?? null,
      shown: RETAIN_SHOWN,
    }),
    mayLack: true,
  },
  expires: defined(
    "expiresAtMs",
    nullable(described(
      EXPIRES,
      "Not started by then, it expires: an instant behind its date, or a " +
        "duration from its date, which is the first slot of one that repeats",
    )),
    {
      show: ({ expiresAtMs }) => optionalTime(expiresAtMs),
      asWritten: ({ expiresAtMs }) =>
        expiresAtMs === undefined ? null : { kind: "at", atMs: expiresAtMs },
      shown: TIME_OR_NULL,
      example: null,
    },
  ),
  dependencies: plain(
    "dependencies",
    list(text({ maxLength: 64 }), { maxItems: 100, isUnique: true }),
    {
      about:
        "Ids of tasks that have to succeed before, in a batch also the `ref` of " +
        "others; a task that is there already takes those that are older than " +
        "itself, or wait for none themselves. Its worker gets their results",
      asWritten: ({ dependencies }) => dependencies,
      shown: { type: "array", items: TEXT },
      example: [],
    },
  ),
  on_dependency_failure: plain(
    "onDependencyFailure",
    choice(["fail", "run", "wait"]),
    {
      about:
        "What a dependency that fails means; `fail` when absent. One that " +
        "was removed fails a task that would `wait`, too",
      shown: { enum: ["fail", "run", "wait"] },
      example: "fail",
    },
  ),
  priority: plain(
    "priority",
    guided(integer({ minimum: -9, maximum: 9 }), PRIORITY_WORDS),
    {
      about:
        "Higher goes first; a step is worth a minute of waiting. Of equal " +
        "ones the first date goes first",
      shown: { type: "integer", minimum: -9, maximum: 9 },
      example: 0,
    },
  ),
  group: plain(
    "group",
    text({ minLength: 1, maxLength: MAX_LABEL_CHARS, pattern: ONE_LINE }),
    {
      about: "Groups of a worker take turns",
      show: ({ group }) => group === "" ? null : group,
      shown: TEXT_OR_NULL,
      example: null,
    },
  ),
  key: plain(
    "key",
    text({ minLength: 1, maxLength: MAX_LABEL_CHARS, pattern: ONE_LINE }),
    {
      about: "A worker has one live task with a key at most",
      shown: TEXT_OR_NULL,
      example: null,
    },
  ),
  callback: defined(
    "callback",
    nullable(described(
      CALLBACK,
      "Who is called at the end: a URL, or one with the ends to be called at; " +
        "the worker's signing secret signs the call. As it holds data and " +
        "result, only who sees these (`payloads`) sets it, else 403",
    )),
    {
      show: ({ callback }) => callback ?? null,
      asWritten: ({ callback }) => callback ?? null,
      shown: CALLBACK_SHOWN,
      example: null,
    },
  ),
  tags: plain(
    "tags",
    list(text({ minLength: 1, maxLength: 100, pattern: ONE_LINE }), {
      maxItems: 20,
      isUnique: true,
    }),
    {
      about: "Labels",
      shown: { type: "array", items: TEXT },
      example: ["reports"],
    },
  ),
  metadata: plain(
    "metadata",
    METADATA,
    {
      about: "Named labels",
      shown: { type: "object", additionalProperties: TEXT },
      example: {},
    },
  ),
  due: {
    ...service(
      { type: "boolean" },
      false,
      "Whether its date has come and a worker may take it",
    ),
    isMomentary: true,
  },
  run: service(COUNT, 0, "The number of the run, 0 for the first"),
  executions: service(COUNT, 0, "Attempts of all runs"),
  retries: service(COUNT, 0, "Tries of this run after its first one"),
  repetitions: service(COUNT, 0, "Runs after the first"),
  last_outcome: service({ enum: ["succeeded", "failed", null] }, null),
  lost: service(COUNT, 0, "Attempts that were lost with their worker"),
  missed: service(COUNT, 0, "Slots that were passed over"),
  lag: service(
    COUNT_OR_NULL,
    null,
    "Milliseconds by which the last attempt started late",
  ),
  duration: service(
    COUNT_OR_NULL,
    null,
    "Milliseconds that the last attempt took",
  ),
  result: service({}, null, "What the last success returned"),
  result_truncated: {
    kind: "service",
    shown: { type: "boolean" },
    mayLack: true,
  },
  error: service(
    { anyOf: [TASK_ERROR, { type: "null" }] },
    null,
    "Why the last attempt failed",
  ),
  attempt: { ...service(ATTEMPT_SHOWN, null), isMomentary: true },
  next: {
    ...service({ type: "array", items: TIME, maxItems: 3 }, [
      "2027-01-18T05:30:00.000Z",
      "2027-01-19T05:30:00.000Z",
      "2027-01-20T05:30:00.000Z",
    ], "The next dates of a task that repeats"),
    isMomentary: true,
    mayLack: true,
  },
  again: {
    kind: "service",
    shown: {
      ...TIME,
      description:
        "When the run begins, at the soonest, that was asked for by " +
        "the key of a task under way",
    },
    mayLack: true,
  },
  revived_dependents: {
    kind: "service",
    shown: {
      ...shownObject({
        count: COUNT,
        ids: { type: "array", items: TEXT, maxItems: 100 },
        is_complete: { type: "boolean" },
      }),
      description: "In the answer to a retry: the tasks that wait for this " +
        "one again, and whether these are all that failed by it",
    },
    isMomentary: true,
    mayLack: true,
  },
  warnings: {
    ...service(DIALECT_WARNINGS, []),
    isMomentary: true,
    mayLack: true,
  },
  created_by: service(ACTOR, { type: "key", id: "dk_0123456789abcdef" }),
  parent: {
    kind: "service",
    shown: { ...TEXT, description: "The task whose schedule made it" },
    mayLack: true,
  },
  created_at: service(TIME, CREATED),
  updated_at: service(TIME, CREATED),
  started_at: service(TIME_OR_NULL, null),
  finished_at: service(TIME_OR_NULL, null),
  kept_until: {
    kind: "service",
    shown: {
      ...TIME,
      description: "When one that has ended is removed; absent before the " +
        "end, and when it is kept for ever",
    },
    mayLack: true,
  },
  version: service({ type: "integer", minimum: 1 }, 1),
  links: service(LINKS_SHOWN, {
    self: `/api/v1/tasks/${ID}`,
    history: `/api/v1/tasks/${ID}/history`,
    worker: `/api/v1/workers/${WORKER_ID}`,
  }),
} as const;
