/**
 * Trying a worker, as bodies of requests and answers.
 *
 * @module
 */

import { nullable, record } from "../../../shared/schema/composite.ts";
import {
  described,
  named,
  type Schema,
  type Shape,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import { durationMs } from "../../domain/value_schemas.ts";
import {
  object,
  type ObjectOf,
  withDefault,
} from "../../../shared/schema/object.ts";
import { jsonText } from "../../../shared/schema/json_value.ts";
import { JOB_NAME } from "./worker_fields.ts";

/** Most characters of the worker's answer that are told. */
export const MAX_TRIAL_BODY_CHARS = 16_384;

/** The members of what a worker is tried with. */
export const TRIAL_FIELDS = {
  job: withDefault(JOB_NAME, "default"),
  data: withDefault(jsonText({ maxBytes: 1_048_576 }), null),
  timeout: withDefault(
    described(
      durationMs({
        numberUnit: "milliseconds",
        minimumMs: 1_000,
        maximumMs: 30_000,
      }),
      "How long the call may take",
    ),
    "PT10S",
  ),
};

/** What a worker is tried with. */
export type Trial = ObjectOf<typeof TRIAL_FIELDS>;

/** What a worker is tried with. */
export const TRIAL: Schema<Trial> = named(
  "WorkerTest",
  object(TRIAL_FIELDS),
);

/** What came of it. */
export const TRIAL_RESULT: Shape = named(
  "WorkerTestResult",
  described(
    object({
      call: object({
        method: choice(["POST", "PUT", "PATCH"]),
        url: described(text({ maxLength: 4_096 }), "With its references"),
        id: described(nullable(text()), "The `webhook-id` of the call"),
        signatures: described(
          integer({ minimum: 0 }),
          "How many keys it was signed with",
        ),
      }),
      outcome: described(
        choice(["succeeded", "accepted", "failed"]),
        "What it would have meant for a task",
      ),
      duration: described(nullable(integer({ minimum: 0 })), "Milliseconds"),
      answer: nullable(object({
        status: integer({ minimum: 100, maximum: 599 }),
        headers: record(text({ maxLength: 65_536 }), { maxEntries: 20 }),
        body: described(
          text({ maxLength: MAX_TRIAL_BODY_CHARS }),
          "As text, without the worker's secrets",
        ),
        truncated: boolean(),
      })),
      error: nullable(object({
        code: text(),
        message: text({ maxLength: 65_536 }),
      })),
    }),
    {
      examples: [{
        call: {
          method: "POST",
          url: "https://mailer.example.com/tasks",
          id: "tsk_01h455vb4pex5vsknk084sn02q.0",
          signatures: 1,
        },
        outcome: "succeeded",
        duration: 42,
        answer: {
          status: 200,
          headers: { "content-type": "application/json" },
          body: '{"ok":true}',
          truncated: false,
        },
        error: null,
      }],
    },
  ),
);
