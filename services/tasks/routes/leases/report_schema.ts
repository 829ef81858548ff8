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
  type Fields,
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

/** What the holder of a lease may report, by the action: the members of each. */
const FIELDS = {
  heartbeat: {
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
  },
  complete: {
    result: optional(ANYTHING, "The result; only the first 64 KiB are kept"),
  },
  fail: {
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
  },
  release: {
    delay: optional(
      durationMs(),
      "How long the task is held back; not at all if absent",
    ),
    reason: optional(FREE_TEXT, "Why, for the history"),
  },
  log: {
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
  },
};

/** The actions of a lease's holder. */
export type LeaseAction = keyof typeof FIELDS;

type BodyOf<Action extends LeaseAction> = ObjectOf<typeof FIELDS[Action]>;

/** Something that the holder of a lease reports. */
export type ActionReport = {
  [Action in LeaseAction]: { readonly action: Action } & BodyOf<Action>;
}[LeaseAction];

/** The bodies of the actions' requests. */
export const REPORT_BODIES: {
  readonly [Action in LeaseAction]: Schema<BodyOf<Action>>;
} = {
  heartbeat: named("LeaseHeartbeat", object(FIELDS.heartbeat)),
  complete: named("LeaseComplete", object(FIELDS.complete)),
  fail: named("LeaseFail", object(FIELDS.fail)),
  release: named("LeaseRelease", object(FIELDS.release)),
  log: named("LeaseLog", object(FIELDS.log)),
};

const HOLDER = {
  id: described(text({ maxLength: 64 }), "The lease"),
  token: described(text({ maxLength: 200 }), "Its token"),
};

/** A report of a batch, with the lease that it is about. */
export type HeldReport = ActionReport & ObjectOf<typeof HOLDER>;

/** A report of a batch. */
export const HELD_REPORT: Schema<HeldReport> = named(
  "LeaseWord",
  oneOf([
    heldReport("complete", FIELDS.complete),
    heldReport("fail", FIELDS.fail),
    heldReport("heartbeat", FIELDS.heartbeat),
    heldReport("release", FIELDS.release),
    heldReport("log", FIELDS.log),
  ], {
    mustBe: 'a "heartbeat", a "complete", a "fail", a "release" nor a "log" ' +
      'by its "action"',
  }),
);

/** How a batch has a report of this action. */
function heldReport<const Action extends LeaseAction, F extends Fields>(
  action: Action,
  fields: F,
) {
  return {
    when: (value: unknown) => isJsonObject(value) && value.action === action,
    schema: object({ ...HOLDER, action: literal(action), ...fields }),
  };
}
