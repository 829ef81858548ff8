/**
 * What the holder of a lease may report, as bodies of requests. Outcomes are worth
 * more than their form: what is too long is cut later and not refused here.
 *
 * @module
 */

import {
  asGiven,
  list,
  oneOf,
  parsed,
} from "../../../shared/schema/composite.ts";
import {
  described,
  isJsonObject,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import { boolean, literal, text } from "../../../shared/schema/values.ts";
import { durationMs } from "../../domain/value_schemas.ts";
import {
  object,
  type ObjectOf,
  optional,
  withDefault,
} from "../../../shared/schema/object.ts";
import { anyJson } from "../../../shared/schema/json_value.ts";

/** Most bytes of a body with outcomes, whatever the tenant's plan. */
export const MAX_OUTCOME_BYTES = 4 * 1_048_576;

/** Most log lines of one call. */
const MAX_LINES = 100;

/** Most characters of the log lines of one call. */
const MAX_LOG_CHARS = 262_144;

/** Most bytes of progress. */
const MAX_PROGRESS_BYTES = 4_096;

/** Any JSON; the body it is in was bounded and checked. */
const ANYTHING = asGiven({});

/** Text of any length and with line ends, as errors have it. */
const FREE_TEXT = parsed(
  asGiven({ type: "string" }),
  (value) =>
    typeof value === "string" ? { kind: "ok", value: value.toWellFormed() } : {
      kind: "invalid",
      code: "wrong_type",
      reason: "Cannot take value: it is not text",
    },
);

/** The members of a heartbeat. */
const HEARTBEAT_FIELDS = {
  extend: optional(
    durationMs({ minimumMs: 1_000, maximumMs: 86_400_000 }),
    "How long the lease is to last from now; its own time if absent, and " +
      "never longer than the attempt may take",
  ),
  progress: optional(
    anyJson({ maxBytes: MAX_PROGRESS_BYTES }),
    "How far the work is; the task's attempt has the last progress that " +
      "was reported, and the history not all of it",
  ),
};

/** The members of a success. */
const COMPLETE_FIELDS = {
  result: optional(ANYTHING, "The result; only the first 64 KiB are kept"),
};

/** The members of a failure. */
const FAIL_FIELDS = {
  error: optional(
    oneOf([
      { when: (value) => typeof value === "string", schema: FREE_TEXT },
      {
        when: isJsonObject,
        schema: object({
          code: optional(
            text({
              minLength: 1,
              maxLength: 64,
              pattern: /^[A-Za-z0-9][A-Za-z0-9_.:-]*$/,
              mustBe: 'letters, digits, "_", ".", ":" and "-"',
            }),
            "A code for programs, which `retry.on` may name",
          ),
          message: FREE_TEXT,
          detail: optional(ANYTHING, "More details"),
        }),
      },
    ], { mustBe: "text nor an object with a message" }),
    "Why; a message, or more than that",
  ),
  retry: withDefault(boolean(), true, "False when another try is useless"),
  retry_after: optional(
    durationMs(),
    "The next try comes no sooner than this from now",
  ),
};

/** The members of a release. */
const RELEASE_FIELDS = {
  delay: optional(
    durationMs(),
    "How long the task is held back; not at all if absent",
  ),
  reason: optional(FREE_TEXT, "Why, for the history"),
};

/** The members of log lines. */
const LOG_FIELDS = {
  lines: described(
    parsed(
      list(FREE_TEXT, { minItems: 1, maxItems: MAX_LINES }),
      (lines) =>
        lines.reduce((sum, { length }) => sum + length, 0) <= MAX_LOG_CHARS
          ? { kind: "ok", value: lines }
          : {
            kind: "invalid",
            code: "too_many_bytes",
            reason: "Cannot take value: the lines have more than " +
              `${MAX_LOG_CHARS} characters`,
          },
    ),
    "Lines for the history; the first 1,000 characters of each are kept",
  ),
};

/** The body of each action. */
interface ReportBodies {
  /** The lease is to be extended. */
  readonly heartbeat: ObjectOf<typeof HEARTBEAT_FIELDS>;
  /** The attempt succeeded. */
  readonly complete: ObjectOf<typeof COMPLETE_FIELDS>;
  /** The attempt failed. */
  readonly fail: ObjectOf<typeof FAIL_FIELDS>;
  /** The task is released. */
  readonly release: ObjectOf<typeof RELEASE_FIELDS>;
  /** Something for the history. */
  readonly log: ObjectOf<typeof LOG_FIELDS>;
}

/** The actions of a lease's holder. */
export type LeaseAction = keyof ReportBodies;

/** Something that the holder of a lease reports. */
export type ActionReport = {
  [Action in LeaseAction]: { readonly action: Action } & ReportBodies[Action];
}[LeaseAction];

/** The body of a heartbeat. */
export const HEARTBEAT_BODY: Schema<ReportBodies["heartbeat"]> = named(
  "LeaseHeartbeat",
  object(HEARTBEAT_FIELDS),
);

/** The body of a success. */
export const COMPLETE_BODY: Schema<ReportBodies["complete"]> = named(
  "LeaseComplete",
  object(COMPLETE_FIELDS),
);

/** The body of a failure. */
export const FAIL_BODY: Schema<ReportBodies["fail"]> = named(
  "LeaseFail",
  object(FAIL_FIELDS),
);

/** The body of a release. */
export const RELEASE_BODY: Schema<ReportBodies["release"]> = named(
  "LeaseRelease",
  object(RELEASE_FIELDS),
);

/** The body of log lines. */
export const LOG_BODY: Schema<ReportBodies["log"]> = named(
  "LeaseLog",
  object(LOG_FIELDS),
);

const HOLDER = {
  id: described(text({ maxLength: 64 }), "The lease"),
  token: described(text({ maxLength: 200 }), "Its token"),
};

/** A report of a batch, with the lease that it is about. */
export type HeldReport = ActionReport & {
  readonly id: string;
  readonly token: string;
};

/** A report of a batch. */
export const HELD_REPORT: Schema<HeldReport> = named(
  "LeaseWord",
  oneOf([
    {
      when: hasAction("complete"),
      schema: object({
        ...HOLDER,
        action: literal("complete"),
        ...COMPLETE_FIELDS,
      }),
    },
    {
      when: hasAction("fail"),
      schema: object({ ...HOLDER, action: literal("fail"), ...FAIL_FIELDS }),
    },
    {
      when: hasAction("heartbeat"),
      schema: object({
        ...HOLDER,
        action: literal("heartbeat"),
        ...HEARTBEAT_FIELDS,
      }),
    },
    {
      when: hasAction("release"),
      schema: object({
        ...HOLDER,
        action: literal("release"),
        ...RELEASE_FIELDS,
      }),
    },
    {
      when: hasAction("log"),
      schema: object({ ...HOLDER, action: literal("log"), ...LOG_FIELDS }),
    },
  ], {
    mustBe: 'a "heartbeat", a "complete", a "fail", a "release" nor a "log" ' +
      'by its "action"',
  }),
);

function hasAction(action: LeaseAction): (value: unknown) => boolean {
  return (value) => isJsonObject(value) && value.action === action;
}
