/**
 * What histories and attempts look like in answers.
 *
 * @module
 */

import { HISTORY_TYPES } from "../../domain/history.ts";
import { TASK_STATUSES } from "../../domain/task.ts";
import { described, named, shape } from "../../../shared/schema/annotated.ts";
import type {
  JsonObject,
  JsonSchema,
} from "../../../shared/schema/json_schema.ts";
import type { Shape } from "../../../shared/schema/schema.ts";
import { ACTOR, TASK_ERROR, TIME, TIME_OR_NULL } from "./task_shape.ts";

const TEXT: JsonSchema = { type: "string" };
const COUNT: JsonSchema = { type: "integer", minimum: 0 };

/** The answer to a push call. */
const HTTP: JsonSchema = {
  type: "object",
  description: "The answer to a push call",
  properties: { status: { type: "integer" }, duration_ms: COUNT },
  required: ["status", "duration_ms"],
  additionalProperties: false,
};

/** What a folding dropped. */
const FOLDED: JsonSchema = {
  type: "object",
  description: "Which records were dropped: how many up to now, and the hash " +
    "of the last, which is the `prev` of the first one that is left",
  properties: { count: COUNT, hash: TEXT },
  required: ["count", "hash"],
  additionalProperties: false,
};

const RECORD_EXAMPLE: JsonObject = {
  seq: 1,
  at: "2027-01-15T08:00:00.000Z",
  type: "created",
  status: "waiting",
  run: 0,
  actor: { type: "key", id: "dk_0123456789abcdef" },
  prev: "",
  hash: "mvW5Ct5z4OWUS2WpzH0hD6AJu1xQ1sUTGUhDZX29bZc",
};

const RECORD: Shape = named(
  "HistoryRecord",
  shape({
    type: "object",
    properties: {
      seq: { type: "integer", minimum: 1 },
      at: TIME,
      type: { enum: HISTORY_TYPES },
      status: { enum: TASK_STATUSES, description: "The status after it" },
      run: COUNT,
      attempt: { ...TEXT, description: "The attempt it belongs to" },
      actor: ACTOR,
      instance: { ...TEXT, description: "The worker's name for its process" },
      http: HTTP,
      error: TASK_ERROR,
      result: { ...TEXT, description: "The beginning of the result's JSON" },
      progress: {
        description: "What the worker said of its progress; not all that " +
          "was said is in the history",
      },
      changes: {
        type: "array",
        items: {
          type: "object",
          properties: { field: TEXT, from: {}, to: {} },
          required: ["field"],
          additionalProperties: false,
        },
      },
      message: TEXT,
      amount: {
        type: "number",
        description: "Slots that were missed, milliseconds of lag",
      },
      next_date: TIME,
      folded: FOLDED,
      prev: { ...TEXT, description: "The hash of the record before" },
      hash: TEXT,
      text: { ...TEXT, description: "What the hash covers, with `proof`" },
    },
    required: ["seq", "at", "type", "status", "run", "actor", "prev", "hash"],
    additionalProperties: false,
  }),
);

/** A page of a history. */
export const HISTORY_LIST: Shape = pageOf("HistoryList", {
  item: RECORD,
  example: RECORD_EXAMPLE,
});

const ATTEMPT: Shape = named(
  "TaskAttempt",
  shape({
    type: "object",
    properties: {
      id: TEXT,
      run: COUNT,
      outcome: {
        enum: [
          "running",
          "succeeded",
          "failed",
          "timed_out",
          "lost",
          "released",
          "canceled",
        ],
      },
      started_at: TIME,
      ended_at: TIME_OR_NULL,
      duration: {
        type: ["integer", "null"],
        minimum: 0,
        description: "Milliseconds",
      },
      instance: { type: ["string", "null"] },
      http: { anyOf: [HTTP, { type: "null" }] },
      error: { anyOf: [TASK_ERROR, { type: "null" }] },
    },
    required: [
      "id",
      "run",
      "outcome",
      "started_at",
      "ended_at",
      "duration",
      "instance",
      "http",
      "error",
    ],
    additionalProperties: false,
  }),
);

/** A page of attempts. */
export const ATTEMPT_LIST: Shape = pageOf("TaskAttemptList", {
  item: ATTEMPT,
  example: {
    id: "lse_37efnd0000749gadqcbm8b2hrm_1",
    run: 0,
    outcome: "succeeded",
    started_at: "2027-01-15T08:00:00.000Z",
    ended_at: "2027-01-15T08:00:02.500Z",
    duration: 2_500,
    instance: "host-1",
    http: null,
    error: null,
  },
});

function pageOf(
  name: string,
  { item, example }: { readonly item: Shape; readonly example: JsonObject },
): Shape {
  return named(
    name,
    described(
      shape({
        type: "object",
        properties: {
          data: { type: "array", items: item.json },
          next: { type: ["string", "null"] },
        },
        required: ["data", "next"],
        additionalProperties: false,
      }, [item]),
      { examples: [{ data: [example], next: null }] },
    ),
  );
}
