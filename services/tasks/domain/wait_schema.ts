/**
 * Reads waits as workers write them in JSON, and shows them.
 *
 * @module
 */

import { parsed } from "../../shared/schema/composite.ts";
import { jsonText } from "../../shared/schema/json_value.ts";
import {
  object,
  type ObjectOf,
  optional,
  withDefault,
} from "../../shared/schema/object.ts";
import {
  named,
  said,
  type Schema,
  type Shape,
  shape,
  shownObject,
} from "../../shared/schema/schema.ts";
import { boolean, choice, text } from "../../shared/schema/values.ts";
import { utcTime } from "./instant.ts";
import type { Task } from "./task.ts";
import type { EventOf } from "./task_event.ts";
import { ACTOR, durationMs, TIME } from "./value_schemas.ts";
import {
  APPROVER_ROLES,
  type AskedThing,
  MAX_KEPT_CHARS,
  type Resumption,
} from "./wait.ts";

const DAY_MS = 86_400_000;

/** The longest wait, in milliseconds. */
const MAX_WAIT_MS = 366 * DAY_MS;

/** The name of an event. */
export const EVENT_NAME: Schema<string> = text({
  minLength: 1,
  maxLength: 64,
  pattern: /^[A-Za-z0-9][A-Za-z0-9_.:-]*$/,
  mustBe: 'letters, digits, "_", ".", ":" and "-"',
});

/** The most bytes of the data of an event, and of a saved state. */
export const MAX_EVENT_BYTES: number = MAX_KEPT_CHARS;

const APPROVAL_FIELDS = {
  by: withDefault(
    choice(APPROVER_ROLES),
    "member",
    "The least role of who decides",
  ),
  by_another: withDefault(
    boolean(),
    false,
    "Whether the person who created the task may not decide, by their own " +
      "name or by a key that they made",
  ),
};

const WAIT_FIELDS = {
  event: optional(
    EVENT_NAME,
    "The name of the event to wait for; give this or `approval`",
  ),
  approval: optional(
    object(APPROVAL_FIELDS),
    "The decision of a person to wait for",
  ),
  timeout: withDefault(
    durationMs({ minimumMs: 1_000, maximumMs: MAX_WAIT_MS }),
    "P7D",
    "How long to wait",
  ),
  on_timeout: withDefault(
    choice(["resume", "fail"]),
    "resume",
    "After that time: `resume` begins another attempt, whose `resumed` says " +
      "`timed_out`; `fail` ends the run as failed, without retries",
  ),
  message: optional(
    text({ minLength: 1, maxLength: 2_000 }),
    "What people are asked or told. All who see the task see it",
  ),
  state: optional(
    jsonText({ maxBytes: MAX_EVENT_BYTES }),
    "Any JSON up to 64 KiB that the next attempts get; what was saved before " +
      "stays if absent",
  ),
};

/** A wait that was read, as the event of a task has it. */
export type ReadWait = Pick<
  EventOf<"wait">,
  "asked" | "timeoutMs" | "onTimeout" | "message" | "stateJson"
>;

/** The schema of a wait. */
export const WAIT_FOR: Schema<ReadWait> = named(
  "WaitFor",
  parsed(object(WAIT_FIELDS), (fields) => {
    const asked = toAsked(fields);
    if (asked === undefined) {
      return {
        kind: "invalid",
        reason: "Cannot accept wait: it needs either `event` or `approval`",
      };
    }
    const { timeout, on_timeout: onTimeout, message, state } = fields;
    return {
      kind: "ok",
      value: {
        asked,
        timeoutMs: timeout,
        onTimeout,
        message,
        stateJson: state,
      },
    };
  }),
  {
    description: "What a task waits for after an attempt, without a worker",
    examples: [{
      approval: { by: "admin" },
      timeout: "P2D",
      message: "Send the offer to 1,200 customers?",
      state: { draft: 7 },
    }],
  },
);

function toAsked(
  { event, approval }: Pick<ObjectOf<typeof WAIT_FIELDS>, "event" | "approval">,
): AskedThing | undefined {
  if ((event === undefined) === (approval === undefined)) return undefined;
  return event !== undefined ? { kind: "event", event } : {
    kind: "approval",
    by: approval?.by ?? "member",
    byAnother: approval?.by_another ?? false,
  };
}

/** What a task waits for, as the API shows it. */
export const AWAITED: Shape = named(
  "Awaited",
  shape(shownObject({
    event: said("The event's name"),
    approval: said(
      "Whose decision it is",
      shownObject({
        by: said("The least role", { enum: APPROVER_ROLES }),
        by_another: said("Whether the task's creator may not decide", {
          type: "boolean",
        }),
      }),
    ),
    message: said("What people are asked or told"),
    since: said("When the wait began", TIME),
    until: said("When its time is over", TIME),
    on_timeout: said("What happens then", { enum: ["resume", "fail"] }),
  }, ["event", "approval", "message"])),
  "What a task waits for without a worker",
);

/** Shows what a task waits for; undefined when it does not wait. */
export function showAwaited(
  { wait, dateMs }: Pick<Task, "wait" | "dateMs">,
): Readonly<Record<string, unknown>> | undefined {
  const awaited = wait?.for;
  if (awaited === undefined) return undefined;
  return {
    ...awaited.kind === "event" ? { event: awaited.event } : {
      approval: { by: awaited.by, by_another: awaited.byAnother },
    },
    message: awaited.message,
    since: utcTime(awaited.sinceMs),
    until: utcTime(dateMs),
    on_timeout: awaited.onTimeout,
  };
}

/** The end of a wait, as the API shows it. */
export const RESUMED: Shape = named(
  "Resumed",
  shape(shownObject({
    kind: said(
      "The end of the wait: an event, a decision, its timeout, or a caller " +
        "who ran the task",
      { enum: ["event", "approval", "timeout", "run"] },
    ),
    timed_out: said("Whether the time was over", { type: "boolean" }),
    event: said("The event's name"),
    data: { description: "The event's data; absent for who sees no payloads" },
    approved: said("The decision", { type: "boolean" }),
    comment: said("What the person said to it"),
    actor: said("Who sent the event, decided or ran the task", ACTOR),
    at: said("When that was", TIME),
  }, ["event", "data", "approved", "comment", "actor"])),
  {
    description: "The end of a task's wait before this attempt",
    examples: [{
      kind: "approval",
      timed_out: false,
      approved: true,
      comment: "Go ahead",
      actor: { type: "user", id: "usr_06f1cdq1s5n0q2v4x7z9b3d5f8" },
      at: "2027-01-15T08:00:00.000Z",
    }],
  },
);

/** How the data of events and saved states are shown. */
interface ShowOptions {
  /** Whether they are. */
  readonly payloads: boolean;
  /** Shows JSON text as the value that it is of. */
  readonly place: (json: string) => unknown;
}

/**
 * Shows what ended the wait before an attempt, and what was saved for it; no
 * members for the attempts of most tasks.
 */
export function showResumed(
  { wait }: Pick<Task, "wait">,
  options: ShowOptions,
): { readonly resumed?: unknown; readonly state?: unknown } {
  const { resumed, stateJson } = wait ?? {};
  return {
    ...resumed === undefined
      ? {}
      : { resumed: showResumption(resumed, options) },
    ...options.payloads && stateJson !== undefined
      ? { state: options.place(stateJson) }
      : {},
  };
}

function showResumption(
  resumed: Resumption,
  { payloads, place }: ShowOptions,
): Readonly<Record<string, unknown>> {
  const shown = {
    kind: resumed.kind,
    timed_out: resumed.kind === "timeout",
    at: utcTime(resumed.atMs),
  };
  switch (resumed.kind) {
    case "event":
      return {
        ...shown,
        event: resumed.name,
        data: payloads ? place(resumed.dataJson) : undefined,
        actor: resumed.by,
      };
    case "approval":
      return {
        ...shown,
        approved: resumed.isApproved,
        comment: resumed.comment,
        actor: resumed.by,
      };
    case "run":
      return { ...shown, actor: resumed.by };
    case "timeout":
      return shown;
  }
}
