/**
 * The fields of a task that its owner decides.
 *
 * @module
 */

import type { Duration } from "../../domain/duration.ts";
import type { TaskCallback, TaskDefinition } from "../../domain/task.ts";
import {
  asGiven,
  list,
  nullable,
  oneOf,
  parsed,
  record,
} from "../../../shared/schema/composite.ts";
import {
  described,
  isJsonObject,
  type JsonValue,
  type Schema,
} from "../../../shared/schema/schema.ts";
import {
  choice,
  integer,
  ONE_LINE,
  text,
} from "../../../shared/schema/values.ts";
import {
  dateTime,
  duration,
  durationMs,
  timeZone,
} from "../../domain/value_schemas.ts";
import { object, optional } from "../../../shared/schema/object.ts";
import { retryPolicy } from "../../domain/retry_kind.ts";
import { REPEAT, type RepeatInput } from "../../domain/repeat_rule.ts";

/** Ends of a task that somebody may be called at. */
export const CALLBACK_ENDS = [
  "complete",
  "failed",
  "canceled",
  "expired",
] as const;

/** When a task expires: at an instant, or some time after its date. */
export type ExpiresInput =
  | { readonly kind: "at"; readonly atMs: number }
  | { readonly kind: "after"; readonly duration: Duration };

const CALLBACK_URL = text({ minLength: 1, maxLength: 4_096 });

const CALLBACK = oneOf([
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
        on: optional(
          nullable(list(choice(CALLBACK_ENDS), {
            minItems: 1,
            maxItems: CALLBACK_ENDS.length,
            isUnique: true,
          })),
        ),
      }),
      ({ url, on }) => ({
        kind: "ok",
        value: { url, on: on ?? CALLBACK_ENDS },
      }),
    ),
  },
], { mustBe: "a URL nor an object with one" });

const EXPIRES: Schema<ExpiresInput> = oneOf([
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

/** Fields that requests to make a task and to change one have in common. */
export const DEFINITION_FIELDS = {
  job: optional(nullable(described(
    text({ minLength: 1, maxLength: 128, pattern: ONE_LINE }),
    'The handler within the worker; "default" when absent',
  ))),
  data: optional(described(
    asGiven({}),
    "What the job is given: any JSON, as much as the plan allows",
  )),
  date: optional(nullable(described(
    dateTime(),
    "When to run first; now when absent, and what has passed is due at once",
  ))),
  delay: optional(nullable(described(
    duration(),
    "How long from now to run first, instead of a date",
  ))),
  timezone: optional(nullable(described(
    timeZone(),
    "The IANA zone of cron and calendar intervals; the tenant's when absent",
  ))),
  repeat: optional(nullable(REPEAT)),
  retry: optional(described(
    retryPolicy(),
    "When a failed attempt is tried again; the worker's rule when absent, " +
      "not at all when null",
  )),
  timeout: optional(nullable(described(
    durationMs({
      numberUnit: "milliseconds",
      minimumMs: 1_000,
      maximumMs: 86_400_000,
    }),
    "How long an attempt may take; the worker's time when absent. A number " +
      "counts milliseconds here",
  ))),
  expires: optional(nullable(described(
    EXPIRES,
    "Not started by then, it expires: an instant behind its date, or a " +
      "duration from its date, which is the first slot of one that repeats",
  ))),
  dependencies: optional(nullable(described(
    list(text({ maxLength: 64 }), { maxItems: 100, isUnique: true }),
    "Ids of tasks that have to succeed before; a task that is there already " +
      "takes those that are older than itself, or wait for none themselves",
  ))),
  on_dependency_failure: optional(nullable(described(
    choice(["fail", "run", "wait"]),
    "What a dependency that fails means; `fail` when absent",
  ))),
  priority: optional(nullable(described(
    integer({ minimum: -9, maximum: 9 }),
    "Higher goes first; a step is worth a minute of waiting. Of equal ones the " +
      "first date goes first",
  ))),
  group: optional(nullable(described(
    text({ minLength: 1, maxLength: 200, pattern: ONE_LINE }),
    "Groups of a worker take turns",
  ))),
  key: optional(nullable(described(
    text({ minLength: 1, maxLength: 200, pattern: ONE_LINE }),
    "A worker has one live task with a key at most",
  ))),
  callback: optional(nullable(described(
    CALLBACK,
    "Who is called at the end: a URL, or one with the ends to be called at; " +
      "the worker's signing secret signs the call. As it holds data and " +
      "result, only who sees these (`payloads`) sets it, else 403",
  ))),
  tags: optional(nullable(described(
    list(text({ minLength: 1, maxLength: 100, pattern: ONE_LINE }), {
      maxItems: 20,
      isUnique: true,
    }),
    "Labels",
  ))),
  metadata: optional(nullable(described(
    record(text({ maxLength: 500 }), {
      maxEntries: 50,
      names: text({ minLength: 1, maxLength: 100, pattern: ONE_LINE }),
    }),
    "Named labels",
  ))),
};

/** The worker's name or id. */
export const WORKER_FIELD: Schema<string> = described(
  text({ minLength: 1, maxLength: 128 }),
  "The name or the id of the worker",
);

/** What becomes of a task whose key a live one has. */
export type ConflictChoice = "return" | "reject" | "replace" | "keep_date";

/** The field that decides it. */
export const CONFLICT_FIELD: Schema<ConflictChoice> = described(
  choice(["return", "reject", "replace", "keep_date"]),
  "When a live task has the key: answer with that one, refuse, give it the " +
    "new values and date, or the new values alone",
);

/** The fields of a definition as they were read; what is absent was not given. */
export interface DefinitionInput {
  /** The handler within the worker. */
  readonly job?: string | null;
  /** Any JSON, as it came. */
  readonly data?: unknown;
  /** When to run first, in milliseconds since the epoch. */
  readonly date?: number | null;
  /** How long from now to run first. */
  readonly delay?: Duration | null;
  /** The IANA zone. */
  readonly timezone?: string | null;
  /** How it repeats. */
  readonly repeat?: RepeatInput | null;
  /** The retry policy as it came; null means none. */
  readonly retry?: JsonValue;
  /** How long an attempt may take, in milliseconds. */
  readonly timeout?: number | null;
  /** When it expires. */
  readonly expires?: ExpiresInput | null;
  /** Ids of tasks that have to succeed before. */
  readonly dependencies?: readonly string[] | null;
  /** What a dependency that fails means. */
  readonly on_dependency_failure?: TaskDefinition["onDependencyFailure"] | null;
  /** From -9 to 9. */
  readonly priority?: number | null;
  /** The group. */
  readonly group?: string | null;
  /** The key. */
  readonly key?: string | null;
  /** Who is called at the end. */
  readonly callback?: TaskCallback | null;
  /** Labels. */
  readonly tags?: readonly string[] | null;
  /** Named labels. */
  readonly metadata?: Readonly<Record<string, string>> | null;
}
