/**
 * Values of a task's fields: how clients write those that are more than a text
 * or a number, and how answers show them.
 *
 * @module
 */

import { list, oneOf, parsed } from "../../shared/schema/composite.ts";
import { object, settable } from "../../shared/schema/object.ts";
import {
  isJsonObject,
  type JsonSchema,
  type Schema,
  shownObject,
} from "../../shared/schema/schema.ts";
import { choice, text } from "../../shared/schema/values.ts";
import type { Duration } from "./duration.ts";
import type { TaskCallback } from "./task.ts";
import { dateTime, duration } from "./value_schemas.ts";

const CALLBACK_ENDS = ["complete", "failed", "canceled", "expired"] as const;

const CALLBACK_URL = text({ minLength: 1, maxLength: 4_096 });

/** Who is called at the end of a task: a URL, or one with the ends. */
export const CALLBACK: Schema<TaskCallback> = oneOf([
  {
    when: (value: unknown) => typeof value === "string",
    schema: parsed(CALLBACK_URL, (url) => ({
      kind: "ok",
      value: { url, on: CALLBACK_ENDS },
    })),
  },
  {
    when: isJsonObject,
    schema: parsed(
      object({
        url: CALLBACK_URL,
        on: settable(list(choice(CALLBACK_ENDS), {
          minItems: 1,
          maxItems: CALLBACK_ENDS.length,
          isUnique: true,
        })),
      }),
      ({ url, on }) => ({
        kind: "ok",
        value: { url, on: on ?? CALLBACK_ENDS },
      }),
    ),
  },
], { mustBe: "a URL nor an object with one" });

/** When a task expires: at an instant, or some time after its date. */
type ExpiresInput =
  | { readonly kind: "at"; readonly atMs: number }
  | { readonly kind: "after"; readonly duration: Duration };

/** When a task expires. */
export const EXPIRES: Schema<ExpiresInput> = oneOf([
  {
    when: (value: unknown) => typeof value === "string" && !/^P/i.test(value),
    schema: parsed(dateTime(), (atMs) => ({
      kind: "ok",
      value: { kind: "at" as const, atMs },
    })),
  },
  {
    when: (value: unknown) => value !== null,
    schema: parsed(duration({ minimumMs: 1 }), (value) => ({
      kind: "ok",
      value: { kind: "after" as const, duration: value },
    })),
  },
], { mustBe: "a time nor a duration" });

/** A text in answers. */
export const TEXT: JsonSchema = { type: "string" };

/** A text in answers that may be missing. */
export const TEXT_OR_NULL: JsonSchema = { type: ["string", "null"] };

/** A number of things in answers. */
export const COUNT: JsonSchema = { type: "integer", minimum: 0 };

/** A number in answers that may be missing. */
export const COUNT_OR_NULL: JsonSchema = {
  type: ["integer", "null"],
  minimum: 0,
};

/** A time in answers. */
export const TIME: JsonSchema = { type: "string", format: "date-time" };

/** A time in answers that may be missing. */
export const TIME_OR_NULL: JsonSchema = {
  type: ["string", "null"],
  format: "date-time",
};

/** Who did something, in answers. */
export const ACTOR: JsonSchema = shownObject({
  type: { enum: ["user", "key", "worker", "system"] },
  id: TEXT,
});

/** Why an attempt failed, in answers. */
export const TASK_ERROR: JsonSchema = shownObject({
  code: { ...TEXT, description: "A word for programs, such as `timed_out`" },
  message: TEXT,
  detail: { description: "What else the worker said" },
  http_status: { type: "integer" },
  at: TIME,
}, ["detail", "http_status"]);

/** Who is called at the end of a task, in answers. */
export const CALLBACK_SHOWN: JsonSchema = {
  ...shownObject({
    url: TEXT,
    on: { type: "array", items: { enum: CALLBACK_ENDS } },
  }),
  type: ["object", "null"],
};

/** The attempt under way, in answers. */
export const ATTEMPT_SHOWN: JsonSchema = {
  ...shownObject({
    id: TEXT,
    started_at: TIME,
    expires_at: TIME,
    instance: TEXT_OR_NULL,
    progress: { description: "What the worker last said of it" },
  }),
  type: ["object", "null"],
  description: "The attempt under way",
};

/** Where a task, its history and its worker are, in answers. */
export const LINKS_SHOWN: JsonSchema = shownObject({
  self: TEXT,
  history: TEXT,
  worker: TEXT,
});
