/**
 * What a task looks like in answers.
 *
 * @module
 */

import { TASK_STATUSES } from "../../domain/task.ts";
import {
  described,
  type JsonSchema,
  named,
  type Shape,
  shape,
} from "../../../shared/schema/schema.ts";
import { retryPolicy } from "../../domain/retry_kind.ts";
import { CALLBACK_ENDS } from "./task_fields.ts";
import { TASK_EXAMPLE } from "./task_example.ts";

const RETRY = retryPolicy();
const TEXT: JsonSchema = { type: "string" };
const TEXT_OR_NULL: JsonSchema = { type: ["string", "null"] };
const COUNT: JsonSchema = { type: "integer", minimum: 0 };
const COUNT_OR_NULL: JsonSchema = { type: ["integer", "null"], minimum: 0 };

/** A time in answers. */
export const TIME: JsonSchema = { type: "string", format: "date-time" };

/** A time in answers that may be missing. */
export const TIME_OR_NULL: JsonSchema = {
  type: ["string", "null"],
  format: "date-time",
};

/** Who did something, in answers. */
export const ACTOR: JsonSchema = {
  type: "object",
  properties: {
    type: { enum: ["user", "key", "worker", "system"] },
    id: TEXT,
  },
  required: ["type", "id"],
  additionalProperties: false,
};

/** Why an attempt failed, in answers. */
export const TASK_ERROR: JsonSchema = {
  type: "object",
  properties: {
    code: { ...TEXT, description: "A word for programs, such as `timed_out`" },
    message: TEXT,
    detail: { description: "What else the worker said" },
    http_status: { type: "integer" },
    at: TIME,
  },
  required: ["code", "message", "at"],
  additionalProperties: false,
};

const REPEAT_SHOWN: JsonSchema = {
  type: ["object", "null"],
  properties: {
    interval: { type: "string", format: "duration" },
    cron: TEXT,
    limit: COUNT,
    until: TIME,
    catch_up: { enum: ["one", "all", "none"] },
    catch_up_window: { type: "string", format: "duration" },
    jitter: { type: "string", format: "duration" },
    mode: { enum: ["same", "spawn"] },
    on_failure: { enum: ["stop", "continue"] },
  },
  required: ["catch_up", "catch_up_window", "jitter", "mode", "on_failure"],
  additionalProperties: false,
};

const ATTEMPT: JsonSchema = {
  type: ["object", "null"],
  description: "The attempt under way",
  properties: {
    id: TEXT,
    started_at: TIME,
    expires_at: TIME,
    instance: TEXT_OR_NULL,
    progress: { description: "What the worker last said of it" },
  },
  required: ["id", "started_at", "expires_at", "instance", "progress"],
  additionalProperties: false,
};

/** Fields that may be absent from a task. */
const OPTIONAL: readonly string[] = [
  "data",
  "retry",
  "result_truncated",
  "next",
  "parent",
];

/** Fields that the service alone decides, by name. */
export const READ_ONLY_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  id: TEXT,
  worker_id: TEXT,
  first_date: { ...TIME, description: "The anchor of its schedule" },
  due: {
    type: "boolean",
    description: "Whether its date has come and a worker may take it",
  },
  run: { ...COUNT, description: "The number of the run, 0 for the first" },
  executions: { ...COUNT, description: "Attempts of all runs" },
  retries: { ...COUNT, description: "Retries of this run" },
  repetitions: { ...COUNT, description: "Runs after the first" },
  last_outcome: { enum: ["succeeded", "failed", null] },
  lost: { ...COUNT, description: "Attempts that were lost with their worker" },
  missed: { ...COUNT, description: "Slots that were passed over" },
  lag: {
    ...COUNT_OR_NULL,
    description: "Milliseconds by which the last attempt started late",
  },
  duration: {
    ...COUNT_OR_NULL,
    description: "Milliseconds that the last attempt took",
  },
  result: { description: "What the last success returned" },
  result_truncated: { type: "boolean" },
  error: {
    anyOf: [TASK_ERROR, { type: "null" }],
    description: "Why the last attempt failed",
  },
  attempt: ATTEMPT,
  next: {
    type: "array",
    items: TIME,
    maxItems: 3,
    description: "The next dates of a task that repeats",
  },
  created_by: ACTOR,
  parent: { ...TEXT, description: "The task whose schedule made it" },
  created_at: TIME,
  updated_at: TIME,
  started_at: TIME_OR_NULL,
  finished_at: TIME_OR_NULL,
  version: { type: "integer", minimum: 1 },
  links: {
    type: "object",
    properties: { self: TEXT, history: TEXT, worker: TEXT },
    required: ["self", "history", "worker"],
    additionalProperties: false,
  },
};

const PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  status: { enum: TASK_STATUSES },
  worker: { ...TEXT, description: "The worker's name" },
  job: TEXT,
  data: {
    description: "What the job is given; absent for callers who see none",
  },
  date: { ...TIME, description: "When the next attempt is due" },
  timezone: TEXT,
  repeat: REPEAT_SHOWN,
  retry: RETRY.json,
  timeout: { ...COUNT_OR_NULL, description: "Milliseconds" },
  expires: TIME_OR_NULL,
  dependencies: { type: "array", items: TEXT },
  on_dependency_failure: { enum: ["fail", "run", "wait"] },
  priority: { type: "integer", minimum: -9, maximum: 9 },
  group: TEXT_OR_NULL,
  key: TEXT_OR_NULL,
  callback: {
    type: ["object", "null"],
    properties: {
      url: TEXT,
      on: { type: "array", items: { enum: CALLBACK_ENDS } },
    },
    required: ["url", "on"],
    additionalProperties: false,
  },
  tags: { type: "array", items: TEXT },
  metadata: { type: "object", additionalProperties: TEXT },
  ...READ_ONLY_PROPERTIES,
};

/** The names of a task's fields. */
export const TASK_FIELD_NAMES: readonly string[] = Object.keys(PROPERTIES);

/** A task. */
export const TASK: Shape = named(
  "Task",
  described(
    shape({
      type: "object",
      properties: PROPERTIES,
      required: TASK_FIELD_NAMES.filter((name) => !OPTIONAL.includes(name)),
      additionalProperties: false,
    }, [RETRY]),
    { description: "A task", examples: [TASK_EXAMPLE] },
  ),
);

/** A task of which a list may show some fields alone. */
export const TASK_PART: Shape = named(
  "TaskPart",
  described(
    shape({
      type: "object",
      properties: PROPERTIES,
      required: ["id"],
      additionalProperties: false,
    }, [RETRY]),
    "A task, or the fields of it that were asked for",
  ),
);

/** A page of tasks. */
export const TASK_LIST: Shape = named(
  "TaskList",
  described(
    shape({
      type: "object",
      properties: {
        data: { type: "array", items: TASK_PART.json },
        next: {
          ...TEXT_OR_NULL,
          description:
            "The cursor of the next page, also of one that is short " +
            "or empty; null on the last",
        },
        count: {
          ...COUNT,
          description:
            "How many there are, when asked; 10,000 at most, among " +
            "20,000 that are looked at",
        },
        count_is_exact: {
          type: "boolean",
          description:
            "Whether that is all there are; there may be more if not",
        },
      },
      required: ["data", "next"],
      additionalProperties: false,
    }, [TASK_PART]),
    { examples: [{ data: [TASK_EXAMPLE], next: null }] },
  ),
);
