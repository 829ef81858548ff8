/**
 * What an explanation looks like in answers.
 *
 * @module
 */

import { TASK_STATUSES } from "../../domain/task.ts";
import { described, named, shape } from "../../../shared/schema/annotated.ts";
import type { Shape } from "../../../shared/schema/schema.ts";
import { TIME_OR_NULL } from "./task_shape.ts";

/** Why a task is not running. */
export const EXPLANATION: Shape = named(
  "TaskExplanation",
  described(
    shape({
      type: "object",
      properties: {
        task: { type: "string", description: "The id of the task" },
        status: { enum: TASK_STATUSES },
        hindrances: {
          type: "array",
          description: "What holds it back, or that nothing does",
          items: {
            type: "object",
            properties: {
              code: {
                type: "string",
                description: "A word for programs, such as `not_due`, " +
                  "`worker_paused`, `blocked`, `rate_limit`, `next_in_line`",
              },
              message: { type: "string" },
              until: {
                ...TIME_OR_NULL,
                description: "When it ends by itself",
              },
            },
            required: ["code", "message", "until"],
            additionalProperties: false,
          },
        },
        earliest: {
          ...TIME_OR_NULL,
          description: "When all of it has ended by itself, if it does",
        },
      },
      required: ["task", "status", "hindrances", "earliest"],
      additionalProperties: false,
    }),
    {
      examples: [{
        task: "tsk_37efnd0000749gadqcbm8b2hrm",
        status: "scheduled",
        hindrances: [{
          code: "not_due",
          message: "It is not due for 3 h 2 min",
          until: "2027-01-15T11:02:00.000Z",
        }],
        earliest: "2027-01-15T11:02:00.000Z",
      }],
    },
  ),
);
