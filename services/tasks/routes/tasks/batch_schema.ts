/**
 * The body that makes many tasks, and what is answered to it.
 *
 * @module
 */

import { PROBLEM_SHAPE } from "../../http/problem_answer.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
  shape,
} from "../../../shared/schema/schema.ts";
import { boolean } from "../../../shared/schema/values.ts";
import { asGiven, list } from "../../../shared/schema/composite.ts";
import { object, withDefault } from "../../../shared/schema/object.ts";
import { TASK_EXAMPLE } from "./task_example.ts";
import { NEW_TASK } from "./task_schema.ts";
import { TASK } from "./task_shape.ts";

/** Most tasks of a batch, whatever the plan says. */
const MAX_TASKS = 10_000;

/** The body as it was read. */
export interface BatchInput {
  /** The tasks as they came. */
  readonly tasks: readonly unknown[];
  /** Whether all are made or none. */
  readonly atomic: boolean;
}

/** The body; its tasks are read one by one. */
export const BATCH: Schema<BatchInput> = named(
  "TaskBatch",
  object({
    tasks: described(
      list(asGiven(NEW_TASK.json, [NEW_TASK]), {
        minItems: 1,
        maxItems: MAX_TASKS,
      }),
      "The tasks; the plan says how many there may be",
    ),
    atomic: withDefault(
      described(boolean(), "Whether all are made or none"),
      false,
    ),
  }),
);

const PROBLEM = named("Problem", PROBLEM_SHAPE);

/** What became of each task. */
export const BATCH_RESULTS: Shape = named(
  "TaskBatchResults",
  described(
    shape({
      type: "object",
      properties: {
        results: {
          type: "array",
          description: "One for each task, in their order",
          items: {
            type: "object",
            properties: {
              status: {
                type: "integer",
                description: "What the answer to this task alone would be",
              },
              task: TASK.json,
              id: {
                type: "string",
                description: "The task's id in the place of the task, where " +
                  "`Prefer: return=minimal` asks for no more",
              },
              problem: PROBLEM.json,
            },
            required: ["status"],
            additionalProperties: false,
          },
        },
      },
      required: ["results"],
      additionalProperties: false,
    }, [TASK, PROBLEM]),
    { examples: [{ results: [{ status: 201, task: TASK_EXAMPLE }] }] },
  ),
);
