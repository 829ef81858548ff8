/**
 * JSON schemas of the values in a task: durations, instants, time zones and
 * others that are more than a text or a number. The domain's own parsers read
 * them.
 *
 * @module
 */

import {
  asGiven,
  list,
  oneOf,
  type Parsed,
  parsed,
  record,
} from "../../shared/schema/composite.ts";
import { object, settable } from "../../shared/schema/object.ts";
import {
  described,
  isJsonObject,
  type JsonSchema,
  named,
  said,
  type Schema,
  shownObject,
} from "../../shared/schema/schema.ts";
import { choice, ONE_LINE, text } from "../../shared/schema/values.ts";
import {
  DAY_MS,
  type Duration,
  DURATION_UNITS,
  formatMs,
  MAX_DURATION_CHARS,
  nominalMs,
  parseDuration,
} from "../../shared/duration.ts";
import { MAX_INSTANT_MS, parseInstant } from "./instant.ts";
import type { TaskCallback } from "./task.ts";
import { parseTimeZone } from "./time_zone.ts";

/** The limits and forms that a duration may have. */
interface DurationOptions {
  /**
   * Whether a plain number is taken, of milliseconds: what the origin of the
   * API has for the time of an attempt.
   *
   * @default {false}
   */
  readonly takesMs?: boolean | undefined;
  /**
   * The shortest duration, in milliseconds; months count with their average
   * length.
   *
   * @default {0}
   */
  readonly minimumMs?: number | undefined;
  /**
   * The longest duration, in milliseconds.
   *
   * @default a hundred years
   */
  readonly maximumMs?: number | undefined;
}

const NUMBER: JsonSchema = { type: "number", minimum: 0 };

const DURATION_OBJECT: JsonSchema = {
  type: "object",
  properties: Object.fromEntries(
    DURATION_UNITS.flatMap((units) => {
      const unit = units.slice(0, -1);
      return [
        [unit, said(`The same as \`${units}\``, NUMBER)],
        [units, said(`How many; added to the other units`, NUMBER)],
      ];
    }),
  ),
  additionalProperties: false,
};

/**
 * A duration: text or an object of units, of the forms that `parseDuration()`
 * reads; or a number of milliseconds, where the option says so.
 */
export function duration(options: DurationOptions = {}): Schema<Duration> {
  const { takesMs = false, minimumMs, maximumMs } = options;
  const schema = parsed(
    asGiven({
      description:
        'ISO 8601 text ("PT30S"), text with units ("1h30m"), or an ' +
        `object of units${takesMs ? ", or a number of milliseconds" : ""}`,
      anyOf: [
        // The format "duration" of JSON Schema knows no fractions.
        { type: "string", maxLength: MAX_DURATION_CHARS },
        ...(takesMs ? [NUMBER] : []),
        DURATION_OBJECT,
      ],
      examples: [
        "PT30S",
        "1h30m",
        { hours: 1, seconds: 5 },
        ...(takesMs ? [30_000] : []),
      ],
    }),
    (value): Parsed<Duration> => {
      const outcome = parseDuration(
        takesMs && typeof value === "number" ? { milliseconds: value } : value,
      );
      if (outcome.kind === "invalid") {
        return { ...outcome, code: "bad_duration" };
      }
      const ms = nominalMs(outcome.duration);
      if (minimumMs !== undefined && ms < minimumMs) {
        return outOfBounds("too_small", minimumMs);
      }
      if (maximumMs !== undefined && ms > maximumMs) {
        return outOfBounds("too_large", maximumMs);
      }
      return { kind: "ok", value: outcome.duration };
    },
  );
  return named(takesMs ? "DurationOrMilliseconds" : "Duration", schema);
}

/** A duration, converted to milliseconds; months have their average length. */
export function durationMs(options: DurationOptions = {}): Schema<number> {
  return parsed(
    duration(options),
    (value) => ({ kind: "ok", value: Math.round(nominalMs(value)) }),
  );
}

/**
 * An instant from 1970 to 9999, RFC 3339 with a zone, converted to milliseconds
 * since the epoch. Digits beyond milliseconds are rounded up, so that what is
 * set for the instant never happens before it.
 */
export function dateTime(): Schema<number> {
  return parsed(
    text({ maxLength: 64, format: "date-time" }),
    (value): Parsed<number> => {
      const outcome = parseInstant(value);
      if (outcome.kind === "invalid") return { ...outcome, code: "bad_time" };
      const atMs = outcome.atMs + (outcome.isCut ? 1 : 0);
      if (atMs >= 0 && atMs <= MAX_INSTANT_MS) {
        return { kind: "ok", value: atMs };
      }
      return {
        kind: "invalid",
        code: "bad_time",
        reason: "Cannot read time: it is not in the years 1970 to 9999, in UTC",
      };
    },
  );
}

/** The name of an IANA time zone, converted to the database's spelling. */
export function timeZone(): Schema<string> {
  return parsed(text({ maxLength: 64 }), parseTimeZone);
}

function outOfBounds(
  code: "too_small" | "too_large",
  boundMs: number,
): Parsed<never> {
  const comparison = code === "too_small" ? "shorter" : "longer";
  return {
    kind: "invalid",
    code,
    reason: `Cannot accept duration: it is ${comparison} than ${
      formatMs(boundMs)
    }`,
  };
}

/** The name of a job. */
export const JOB_NAME: Schema<string> = text({
  minLength: 1,
  maxLength: 128,
  pattern: ONE_LINE,
  mustBe: "a single line",
});

/** How long an attempt may take. */
export const ATTEMPT_TIME: Schema<number> = durationMs({
  takesMs: true,
  minimumMs: 1_000,
  maximumMs: DAY_MS,
});

/** The value of a named label of a task. */
export const METADATA_VALUE: Schema<string> = text({ maxLength: 500 });

/** The named labels of a task. */
export const METADATA: Schema<Readonly<Record<string, string>>> = record(
  METADATA_VALUE,
  {
    maxEntries: 50,
    names: text({ minLength: 1, maxLength: 100, pattern: ONE_LINE }),
  },
);

/** The name of a calendar. */
export const CALENDAR_NAME: Schema<string> = text({
  minLength: 1,
  maxLength: 64,
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
  mustBe: 'letters, digits, ".", "_" and "-" with a letter or digit first',
});

/** Most characters of a URL that is called. */
export const MAX_URL_CHARS = 4_096;

const CALLBACK_ENDS = ["complete", "failed", "canceled", "expired"] as const;

/** What the members of a callback mean, for clients and in answers. */
const CALLBACK_WORDS = {
  url: "URL that is called by POST: a public address with https, unless the " +
    "service's settings allow others",
  on: "The ends that it is called at; all four when absent",
};

const CALLBACK_URL = text({ minLength: 1, maxLength: MAX_URL_CHARS });

/**
 * The callback at the end of a task: a URL, or an object with the URL and the
 * final statuses that it is called for.
 */
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
        url: described(CALLBACK_URL, CALLBACK_WORDS.url),
        on: settable(
          list(choice(CALLBACK_ENDS), {
            minItems: 1,
            maxItems: CALLBACK_ENDS.length,
            isUnique: true,
          }),
          CALLBACK_WORDS.on,
        ),
      }),
      ({ url, on }) => ({
        kind: "ok",
        value: { url, on: on ?? CALLBACK_ENDS },
      }),
    ),
  },
], { mustBe: "a URL nor an object with one" });

/** Tells a text that is to be a duration from one that is to be a time. */
function isDuration(text: string): boolean {
  return /^(?:P|[\d.]+[a-z])/i.test(text);
}

/** When a task expires: at an instant, or some time after its date. */
type ExpiresInput =
  | { readonly kind: "at"; readonly atMs: number }
  | { readonly kind: "after"; readonly duration: Duration };

/** When a task expires. */
export const EXPIRES: Schema<ExpiresInput> = oneOf([
  {
    when: (value: unknown) => typeof value === "string" && !isDuration(value),
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

/** The schema of the actor who did something, in answers. */
export const ACTOR: JsonSchema = shownObject({
  type: said(
    "A person, a program with a key, a worker, a role of the database that " +
      "has enqueued the task, or the service itself",
    { enum: ["user", "key", "worker", "role", "system"] },
  ),
  id: said("The id of the user, key or worker, or the name of the role"),
});

/** Why an attempt failed, in answers. */
export const TASK_ERROR: JsonSchema = shownObject({
  code: said("A word for programs, such as `timed_out`"),
  message: said("A message for people"),
  detail: { description: "Further details from the worker" },
  http_status: said("The status that a push worker answered", {
    type: "integer",
  }),
  dependency: said("The id of the failed dependency"),
  at: said("When the attempt failed", TIME),
}, ["detail", "http_status", "dependency"]);

/** The schema of the callback of a task, in answers. */
export const CALLBACK_SHOWN: JsonSchema = {
  ...shownObject({
    url: said(CALLBACK_WORDS.url),
    on: said(CALLBACK_WORDS.on, {
      type: "array",
      items: { enum: CALLBACK_ENDS },
    }),
  }),
  type: ["object", "null"],
};

/** The process of a worker, in answers. */
export const INSTANCE_SHOWN: JsonSchema = said(
  "The worker's name for the process that has the lease; null without one",
  TEXT_OR_NULL,
);

/** The schema of the running attempt, in answers. */
export const ATTEMPT_SHOWN: JsonSchema = {
  ...shownObject({
    id: said("The lease that holds the task (`lse_…`)"),
    started_at: said("When a worker took the task", TIME),
    expires_at: said("When the lease ends without a further heartbeat", TIME),
    instance: INSTANCE_SHOWN,
    progress: { description: "The progress that the worker reported last" },
  }),
  type: ["object", "null"],
  description: "The running attempt; null while none runs",
};

/**
 * The schema of the links of a task to itself, its history and its worker, in
 * answers.
 */
export const LINKS_SHOWN: JsonSchema = shownObject({
  self: said("The path of the task"),
  history: said("The path of its history"),
  worker: said("The path of its worker"),
});
