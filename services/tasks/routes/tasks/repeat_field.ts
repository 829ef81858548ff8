/**
 * The field that says how a task repeats.
 *
 * @module
 */

import { formatDuration } from "../../domain/duration.ts";
import type { RepeatRule } from "../../domain/task.ts";
import { nullable } from "../../../shared/schema/alternatives.ts";
import { described, named } from "../../../shared/schema/annotated.ts";
import { choice } from "../../../shared/schema/choice.ts";
import { parsed } from "../../../shared/schema/derived.ts";
import { dateTime, duration, durationMs } from "../../domain/value_schemas.ts";
import { optional } from "../../../shared/schema/field.ts";
import { integer } from "../../../shared/schema/numbers.ts";
import { object } from "../../../shared/schema/object.ts";
import type { Schema } from "../../../shared/schema/schema.ts";
import { text } from "../../../shared/schema/text.ts";

const DAY_MS = 86_400_000;

/** What a task's catch-up window is unless it says. */
export const DEFAULT_CATCH_UP_WINDOW_MS: number = DAY_MS;

/** How a task repeats, as a client says it; null is as good as absent. */
export interface RepeatInput {
  /** How far apart its slots are, as ISO 8601 text. */
  readonly interval?: string | null;
  /** A cron expression, not read yet. */
  readonly cron?: string | null;
  /** Repetitions after the first run. */
  readonly limit?: number | null;
  /** The last instant at which a run may be due, in milliseconds since the epoch. */
  readonly until?: number | null;
  /** What becomes of slots that passed. */
  readonly catch_up?: RepeatRule["catchUp"] | null;
  /** How old a slot may be to be caught up, in milliseconds. */
  readonly catch_up_window?: number | null;
  /** By how much chance may delay a run, in milliseconds. */
  readonly jitter?: number | null;
  /** Whether the same task runs again. */
  readonly mode?: RepeatRule["mode"] | null;
  /** Whether a run that failed for good ends the schedule. */
  readonly on_failure?: RepeatRule["onFailure"] | null;
}

/** Any form of duration, read as its one ISO 8601 text. */
function durationText(): Schema<string> {
  return parsed(
    duration(),
    (value) => ({ kind: "ok", value: formatDuration(value) }),
  );
}

/** How a task repeats; what goes together is checked with the whole task. */
export const REPEAT: Schema<RepeatInput> = named(
  "Repeat",
  described(
    object({
      interval: optional(nullable(described(
        durationText(),
        "How far apart the slots are, counted from the first date; months " +
          "and days by the calendar of the time zone",
      ))),
      cron: optional(nullable(described(
        text({ maxLength: 1_000 }),
        "Five fields, or six with seconds first, or a nickname such as " +
          "@daily; instead of an interval",
      ))),
      limit: optional(nullable(described(
        integer({ minimum: 0, maximum: 1_000_000_000 }),
        "Repetitions after the first run; no bound when absent",
      ))),
      until: optional(nullable(described(
        dateTime(),
        "The last instant at which a run may be due",
      ))),
      catch_up: optional(nullable(described(
        choice(["one", "all", "none"]),
        "What becomes of slots that passed while nobody could run them: one " +
          "run for all, all within the window, or none; `one` when absent. Of " +
          "`all` the mode `spawn` makes the latest 10,000",
      ))),
      catch_up_window: optional(nullable(described(
        durationMs({ maximumMs: 366 * DAY_MS }),
        "How old a slot may be for `all`; a day when absent",
      ))),
      jitter: optional(nullable(described(
        durationMs({ maximumMs: DAY_MS }),
        "By how much chance may delay a run; not longer than the spacing",
      ))),
      mode: optional(nullable(described(
        choice(["same", "spawn"]),
        "Whether this task runs again or each slot makes a task of its own; " +
          "slots for whose tasks the plan has no room are missed",
      ))),
      on_failure: optional(nullable(described(
        choice(["stop", "continue"]),
        "Whether a run that failed for good ends the schedule; when absent " +
          "it does for an interval and does not for cron. One by hand never " +
          "does",
      ))),
    }),
    {
      description: "How a task repeats: by an interval or by cron",
      examples: [{ interval: "P1D" }],
    },
  ),
);
