/**
 * What the routes of tasks share: their parts, who may call them, and the
 * schemas of tasks in bodies and answers.
 *
 * @module
 */

import { reworded } from "../../../shared/schema/composite.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import {
  object,
  type ObjectOf,
  optional,
  readOnly,
  type ReadOnlyField,
  settable,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  type JsonObject,
  type JsonSchema,
  named,
  said,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";
import { choice, text } from "../../../shared/schema/values.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import { INPUT_FIELDS } from "../../domain/task_definition.ts";
import { guided, TASK_WORDS } from "../../domain/other_words.ts";
import { RETRY_POLICY } from "../../domain/retry_schema.ts";
import { AWAITED } from "../../domain/wait_schema.ts";
import { TASK_FIELDS } from "../../domain/task_fields.ts";
import { KEY_POLICIES } from "../../domain/key_policy.ts";
import { COUNT, durationMs, TEXT_OR_NULL } from "../../domain/value_schemas.ts";
import type { Operations } from "../../engine/bulk/operations.ts";
import type { KeyLocks } from "../../engine/key_locks.ts";
import type { BodyLimits } from "../../http/route.ts";
import { PAGE_WORDS } from "../../http/page.ts";
import type { ApiParts } from "../api_parts.ts";

/** The parts that the routes of tasks need. */
export interface TasksParts extends ApiParts {
  /** Locks a task while it is changed. */
  readonly locks: KeyLocks;
  /** Runs bulk actions in the background. */
  readonly operations: Operations;
}

/** Most bytes of a task in a body, beside its data. */
const TASK_OVERHEAD_BYTES = 131_072;

/**
 * The largest body with one task, in bytes. In the body, the data may be longer
 * than the text that is counted, because of blanks and escapes.
 */
export function taskBodyBytes({ payloadBytes }: BodyLimits): number {
  return payloadBytes * 2 + TASK_OVERHEAD_BYTES;
}

/** What routes that read tasks have in common. */
export const READS_TASKS = {
  method: "GET",
  hosts: "tenant",
  tags: ["tasks"],
  access: { kind: "member", role: "viewer", scope: "tasks:read" },
} as const;

/** The access of routes that create and change tasks. */
export const WRITES_TASKS = {
  kind: "member",
  role: "member",
  scope: "tasks:write",
} as const;

/** The order of a list. */
export const ORDER: Schema<"asc" | "desc"> = described(
  choice(["asc", "desc"]),
  "The earliest first, or the latest",
);

type ShownField = Extract<
  (typeof TASK_FIELDS)[keyof typeof TASK_FIELDS],
  { readonly shown: unknown }
>;

/** The fields that answers show, by name. */
const FIELDS: readonly (readonly [string, ShownField])[] = Object.entries(
  TASK_FIELDS,
).flatMap(([name, field]) => "shown" in field ? [[name, field]] : []);

/** The names of the fields that answers show. */
export const TASK_FIELD_NAMES: readonly string[] = FIELDS.map(([name]) => name);

const PROPERTIES: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  FIELDS.map(([name, { shown }]) => [name, shown]),
);

const SERVICE_FIELDS = FIELDS.filter(([, { kind }]) => kind === "service");

const READ_ONLY_FIELDS = readOnlyFields(SERVICE_FIELDS);

/**
 * Fields that a client must send back unchanged or leave out. Fields that
 * depend on the moment of the answer are not among them, since a client cannot
 * know their value.
 */
export const COMPARED_FIELDS: Readonly<Record<string, ReadOnlyField>> =
  readOnlyFields(
    SERVICE_FIELDS.filter(([, field]) => !("isMomentary" in field)),
  );

function readOnlyFields(
  fields: readonly (readonly [string, ShownField])[],
): Readonly<Record<string, ReadOnlyField>> {
  return Object.fromEntries(
    fields.map((
      [name, { shown }],
    ) => [name, readOnly(shape(shown, [AWAITED]))]),
  );
}

/** An example of a body that creates a task. */
export const NEW_TASK_EXAMPLE: JsonObject = {
  worker: "mailer",
  job: "report",
  data: { account: 17 },
  repeat: { cron: "30 6 * * MON-FRI" },
  timezone: "Europe/Berlin",
  retry: { limit: 5, interval: "PT1M", backoff: "exponential" },
  tags: ["reports"],
};

/** The same example as the API answers it. */
export const TASK_EXAMPLE: JsonObject = Object.fromEntries(
  FIELDS.flatMap(([name, field]) =>
    "example" in field && field.example !== undefined
      ? [[name, field.example]]
      : []
  ),
);

/** The name or the id of a worker. */
export const WORKER_REFERENCE: Schema<string> = text({
  minLength: 1,
  maxLength: 128,
});

const WORKER_FIELD: Schema<string> = described(
  WORKER_REFERENCE,
  "The name or the id of the worker",
);

/** The longest window of requests with one key, in milliseconds. */
const MAX_PACING_MS = 31 * 86_400_000;

const PACING_WINDOW = durationMs({ minimumMs: 1, maximumMs: MAX_PACING_MS });

const NEW_TASK_FIELDS = {
  worker: WORKER_FIELD,
  ...INPUT_FIELDS,
  ref: optional(
    text({
      minLength: 1,
      maxLength: 64,
      pattern: /^(?!tsk_)[A-Za-z0-9][A-Za-z0-9_.:-]*$/,
      mustBe: 'letters, digits, "_", ".", ":" and "-", and no task\'s id',
    }),
    "In a batch, a name for this task in `dependencies` of other tasks; it " +
      "is not stored",
  ),
  on_conflict: withDefault(
    choice(KEY_POLICIES),
    "return",
    "Action when a live task has the key. `return` returns that task, " +
      "`reject` refuses. `replace` sets the new values and date, `keep_date` " +
      "only the new values. `run_after` sets the new values, and adds one " +
      "more run if a run has begun. A task that runs once is not replaced " +
      "while it runs; a repeating task keeps its date unless one is given",
  ),
  debounce: optional(
    object({
      window: described(
        PACING_WINDOW,
        "Required time without a request with the key",
      ),
      max_wait: optional(
        durationMs({ minimumMs: 1, maximumMs: MAX_PACING_MS }),
        "Maximum time from the first request to the run",
      ),
    }),
    "Runs once when no request with the key has arrived for the window. " +
      "Until the task is due, each request sets the new values and moves its " +
      "date to a window from then. Instead of a date and `on_conflict`",
  ),
  throttle: optional(
    object({
      window: described(
        PACING_WINDOW,
        "Minimum time from one run to the next",
      ),
    }),
    "Runs at most once a window. The first request with the key runs " +
      "immediately. The others within the window share one run at its end, " +
      "with the newest values. Instead of a date and `on_conflict`",
  ),
  status: optional(
    choice(["waiting", "scheduled", "paused"]),
    "`paused` pauses the task; the other two have no effect",
  ),
};

/** The body that creates a task, after reading. */
export type NewTaskInput = ObjectOf<typeof NEW_TASK_FIELDS>;

/** The schema of the body that creates a task. */
export const NEW_TASK: Schema<NewTaskInput> = guided(
  reworded(
    named("NewTask", object(NEW_TASK_FIELDS), {
      description: "A task to be made",
      examples: [NEW_TASK_EXAMPLE],
    }),
    namingReadOnly,
  ),
  TASK_WORDS,
);

const CHANGE_FIELDS = {
  worker: optional(WORKER_FIELD),
  ...INPUT_FIELDS,
  status: settable(
    choice(TASK_STATUSES, {
      aliases: { cancel: "canceled", cancelled: "canceled" },
    }),
    "`canceled` cancels it, `paused` pauses it, `waiting` lets it go on " +
      "or runs it again; the status it has already changes nothing",
  ),
};

/**
 * The body that changes a task, after reading; read-only fields are as they
 * were sent.
 */
export type TaskChangesInput = ObjectOf<typeof CHANGE_FIELDS>;

/** The schema of the body that changes a task. */
export const TASK_CHANGES: Schema<TaskChangesInput> = named(
  "TaskChanges",
  guided(object({ ...CHANGE_FIELDS, ...READ_ONLY_FIELDS }), TASK_WORDS),
  {
    description: "Given fields are changed, others stay, and null resets " +
      "a field to its default. Fields that the service decides may " +
      "be sent back as they are",
    examples: [{ date: "2027-02-01T08:00:00Z", tags: ["urgent"] }],
  },
);

/** The fault of a field that only the service writes: it is not unknown. */
function namingReadOnly(
  fault: Fault,
  { at }: { readonly at: string },
): Fault {
  const name = fault.pointer.slice(at.length + 1);
  const isOurs = fault.code === "unknown_field" &&
    Object.hasOwn(READ_ONLY_FIELDS, name);
  return !isOurs ? fault : {
    ...fault,
    code: "read_only",
    detail: `Cannot set field "${name}": the service sets it`,
  };
}

/** The schema of a task. */
export const TASK: Shape = named(
  "Task",
  shape(
    shownObject(
      PROPERTIES,
      FIELDS.flatMap(([name, field]) => "mayLack" in field ? [name] : []),
    ),
    [RETRY_POLICY, AWAITED],
  ),
  {
    description: "Work for a date, and its progress",
    examples: [TASK_EXAMPLE],
  },
);

/** The schema of a task in a list, which may show only some fields. */
export const TASK_PART: Shape = named(
  "TaskPart",
  shape(
    shownObject(PROPERTIES, TASK_FIELD_NAMES.filter((name) => name !== "id")),
    [RETRY_POLICY, AWAITED],
  ),
  "A task, or the fields of it that were asked for",
);

/** The schema of a page of tasks. */
export const TASK_LIST: Shape = named(
  "TaskList",
  shape(
    shownObject({
      data: said(PAGE_WORDS.data, { type: "array", items: TASK_PART.json }),
      next: said(PAGE_WORDS.next, TEXT_OR_NULL),
      count: {
        ...COUNT,
        description: "How many there are, when asked; 10,000 at most, among " +
          "20,000 that are looked at",
      },
      count_is_exact: {
        type: "boolean",
        description: "Whether that is all there are; there may be more if not",
      },
    }, ["count", "count_is_exact"]),
    [TASK_PART],
  ),
  {
    description: PAGE_WORDS.page,
    examples: [{ data: [TASK_EXAMPLE], next: null }],
  },
);
