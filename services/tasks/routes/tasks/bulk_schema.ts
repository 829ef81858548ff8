/**
 * The body of bulk actions and the schemas of their answers.
 *
 * @module
 */

import {
  COUNT,
  METADATA,
  TIME,
  TIME_OR_NULL,
} from "../../domain/value_schemas.ts";
import {
  list,
  oneOf,
  parsed,
  refined,
} from "../../../shared/schema/composite.ts";
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
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import {
  object,
  type ObjectOf,
  optional,
  settable,
  withDefault,
} from "../../../shared/schema/object.ts";
import { BULK_ACTIONS } from "../../engine/bulk/operation.ts";
import { WORKER_REFERENCE } from "./task_schema.ts";
import {
  FILTER_FIELDS,
  FILTER_WORDS,
  LABEL,
  STATUS_WORD,
} from "./list_tasks.ts";

/** Most ids of an order, and most tasks that are changed before the answer. */
export const MAX_AT_ONCE = 10_000;

/** One value or a list of them. */
function oneOrMore<T>(item: Schema<T>): Schema<readonly T[]> {
  return oneOf([
    {
      when: Array.isArray,
      schema: list(item, { minItems: 1, maxItems: 100 }),
    },
    {
      when: (value: unknown) => value !== null,
      schema: parsed(item, (value) => ({ kind: "ok", value: [value] })),
    },
  ], { mustBe: "a value nor a list of them" }) as Schema<readonly T[]>;
}

const FILTER = refined(
  object({
    worker: optional(
      oneOrMore(WORKER_REFERENCE),
      "Names or ids of workers; one that is not there is refused",
    ),
    status: optional(oneOrMore(STATUS_WORD), FILTER_WORDS.status),
    ...FILTER_FIELDS,
    tag: optional(oneOrMore(LABEL), FILTER_WORDS.tag),
    metadata: optional(METADATA, FILTER_WORDS.metadata),
    due: optional(boolean(), FILTER_WORDS.due),
    repeats: optional(boolean(), FILTER_WORDS.repeats),
  }),
  // A filter that was forgotten must not mean all tasks.
  ({ by: _by, tz: _tz, ...conditions }) =>
    Object.keys(conditions).length > 0 ? [] : [{
      code: "empty_filter",
      reason: "Cannot accept filter: it has no condition; for all tasks, " +
        'name statuses such as "active"',
    }],
);

/** The members of the body of a bulk action. */
const BULK_FIELDS = {
  action: described(choice(BULK_ACTIONS), "What is done to each of the tasks"),
  ids: settable(
    list(text({ maxLength: 64 }), {
      minItems: 1,
      maxItems: MAX_AT_ONCE,
      isUnique: true,
    }),
    "The tasks by their ids",
  ),
  filter: settable(FILTER, "The tasks by the conditions of lists"),
  dry_run: withDefault(
    boolean(),
    false,
    "Whether to write nothing and count what would be done",
  ),
  limit: settable(
    integer({ minimum: 1 }),
    "How many tasks at most; the oldest come first",
  ),
};

/** The body of a bulk action, after reading. */
export type BulkInput = ObjectOf<typeof BULK_FIELDS>;

/** The body of a bulk action. */
export const BULK: Schema<BulkInput> = named(
  "BulkAction",
  refined(
    object(BULK_FIELDS),
    ({ ids, filter }) =>
      (ids ?? undefined) === undefined !==
          ((filter ?? undefined) === undefined)
        ? []
        : [{
          code: "exclusive",
          reason: 'Cannot select tasks: give either "ids" or "filter"',
        }],
  ),
  {
    description: "An action, and the tasks that it is applied to",
    examples: [{
      action: "retry",
      filter: { status: "failed", worker: "mailer" },
      limit: 500,
    }],
  },
);

const RESULT: Readonly<Record<string, JsonSchema>> = {
  action: said("The outcome for each task", { enum: BULK_ACTIONS }),
  dry_run: said("Whether nothing was written", { type: "boolean" }),
  matched: { ...COUNT, description: "Tasks that were looked at" },
  changed: { ...COUNT, description: "Tasks that were changed, or would be" },
  unchanged: { ...COUNT, description: "Tasks that needed no change" },
  failed: {
    ...COUNT,
    description: "Tasks that the action could not be applied to",
  },
  errors: {
    type: "array",
    description: "The first of these",
    items: shownObject({
      id: said("The task"),
      code: said("Why the action could not be applied, for programs"),
      detail: said("The same for people"),
    }),
  },
};

const RESULT_EXAMPLE: JsonObject = {
  action: "retry",
  dry_run: false,
  matched: 12,
  changed: 11,
  unchanged: 0,
  failed: 1,
  errors: [{
    id: "tsk_37efnd0000749gadqcbm8b2hrm",
    code: "wrong_state",
    detail: 'Cannot retry: the task is "waiting"',
  }],
};

/** The result of a bulk action. */
export const BULK_RESULT: Shape = named(
  "BulkResult",
  shape(shownObject(RESULT)),
  { description: "The result of a bulk action", examples: [RESULT_EXAMPLE] },
);

const OPERATION_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  id: said("Begins with `opr_`"),
  status: said("`failed` when the service could not continue it", {
    enum: ["running", "done", "failed"],
  }),
  ...RESULT,
  created_at: said("When it was requested", TIME),
  updated_at: said("When its numbers changed last", TIME),
  finished_at: said("When it ended; null while it runs", TIME_OR_NULL),
  links: said(
    "Related paths of the API",
    shownObject({ self: said("The path of the operation") }),
  ),
};

/** A bulk action that runs in the background. */
export const OPERATION: Shape = named(
  "Operation",
  shape(shownObject(OPERATION_PROPERTIES)),
  {
    description: "A bulk action that continues after its answer",
    examples: [{
      id: "opr_37efnd0000749gadqcbm8b2hrm",
      status: "running",
      ...RESULT_EXAMPLE,
      created_at: "2027-01-15T08:00:00.000Z",
      updated_at: "2027-01-15T08:00:01.000Z",
      finished_at: null,
      links: { self: "/api/v1/operations/opr_37efnd0000749gadqcbm8b2hrm" },
    }],
  },
);
