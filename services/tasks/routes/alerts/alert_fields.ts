/**
 * The fields of alerts, as the API reads and shows them.
 *
 * @module
 */

import { formatMs } from "../../../shared/duration.ts";
import {
  nullable,
  type Parsed,
  parsed,
} from "../../../shared/schema/composite.ts";
import {
  type ChangesOf,
  object,
  type ObjectOf,
  optional,
  readOnly,
  settable,
  withDefault,
} from "../../../shared/schema/object.ts";
import {
  described,
  named,
  type Schema,
} from "../../../shared/schema/schema.ts";
import {
  boolean,
  choice,
  integer,
  text,
} from "../../../shared/schema/values.ts";
import {
  ALERT_COUNTS,
  type AlertRule,
  describeRule,
} from "../../domain/alert_rule.ts";
import { optionalTime, utcTime } from "../../domain/instant.ts";
import type { Alert, AlertSend } from "../../domain/records.ts";
import {
  dateTime,
  durationMs,
  MAX_URL_CHARS,
} from "../../domain/value_schemas.ts";
import type { AlertState } from "../../engine/alerts/alert_state.ts";
import {
  changesSchema,
  createViewer,
  type FieldsOf,
  type RecordTable,
  type RecordView,
  shownId,
  shownTime,
  toFields,
} from "../record_table.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MAX_NAME_CHARS = 128;
const MAX_HEADER_CHARS = 4_096;
const MAX_ADDRESS_CHARS = 320;

const NAME = text({ minLength: 1, maxLength: MAX_NAME_CHARS });
const TIME = durationMs({ minimumMs: MINUTE_MS, maximumMs: DAY_MS });

/** The condition as a client sends it; the worker is an id or a name. */
const WHEN: Schema<AlertRule> = parsed(
  object({
    count: optional(
      choice(ALERT_COUNTS),
      "Raises the alert when there were more than `over` of these `within` a " +
        "time",
    ),
    over: optional(
      integer({ minimum: 0, maximum: 1_000_000_000 }),
      "How many are no reason; 0 when absent",
    ),
    within: settable(TIME, "A minute to a day, with `count`"),
    nothing: optional(
      choice(ALERT_COUNTS),
      "Raises the alert when there were none of these `for` a time",
    ),
    for: settable(TIME, "A minute to a day, with `nothing`"),
    worker: settable(NAME, "Only tasks of this worker: an id or a name"),
    job: settable(NAME, "Only tasks of this job of the `worker`"),
  }),
  (given): Parsed<AlertRule> => {
    const { count, over, within, nothing, for: forMs, worker, job } = given;
    const of = { workerId: worker ?? undefined, job: job ?? undefined };
    if (of.job !== undefined && of.workerId === undefined) {
      return {
        kind: "invalid",
        pointer: "/job",
        code: "needs_worker",
        reason: "Cannot count tasks of a job: give its worker, too",
      };
    }
    const isCount = count !== undefined && within && nothing === undefined &&
      !forMs;
    if (isCount) {
      return {
        kind: "ok",
        value: { count, over: over ?? 0, withinMs: within, ...of },
      };
    }
    const isNothing = nothing !== undefined && forMs && count === undefined &&
      over === undefined && !within;
    if (isNothing) {
      return { kind: "ok", value: { count: nothing, withinMs: forMs, ...of } };
    }
    return {
      kind: "invalid",
      code: "bad_condition",
      reason:
        'Cannot use condition: give "count" with "within", or "nothing" ' +
        'with "for"',
    };
  },
);

/** Where messages are sent, as a client sends it. */
export interface GivenSend extends Omit<AlertSend, "authorization"> {
  /** The value of the header, in clear. */
  readonly plain?: string | undefined;
  /** Whether the header stays as it was, as long as the URL does. */
  readonly keepsHeader: boolean;
}

const ADDRESS = text({ minLength: 3, maxLength: MAX_ADDRESS_CHARS });

const SEND: Schema<GivenSend> = parsed(
  object({
    url: described(
      text({ minLength: 1, maxLength: MAX_URL_CHARS }),
      "Where messages are sent, by POST",
    ),
    template: withDefault(
      choice(["standard", "slack", "discord", "email"]),
      "standard",
      "The form of messages: an event of Standard Webhooks, or the JSON that " +
        "incoming webhooks of Slack or Discord take, or JSON with `from`, " +
        "`to`, `subject` and `text`, as e-mail gateways take",
    ),
    from: settable(ADDRESS, "Who e-mails are from"),
    to: settable(ADDRESS, "Who e-mails are to"),
    authorization: settable(
      text({
        minLength: 1,
        maxLength: MAX_HEADER_CHARS,
        pattern: /^[\x20-\x7e]+$/,
        mustBe: "visible ASCII",
      }),
      "The value of the header Authorization; sealed, and never shown",
    ),
    has_authorization: readOnly(
      boolean(),
      "Whether calls have the header Authorization",
    ),
  }),
  (given): Parsed<GivenSend> => {
    const { url, template, from, to, authorization } = given;
    const isEmail = template === "email";
    if (isEmail !== (from != null && to != null)) {
      return {
        kind: "invalid",
        pointer: isEmail && from == null ? "/from" : "/to",
        code: "bad_template",
        reason: isEmail
          ? 'Cannot send e-mails: give "from" and "to"'
          : 'Cannot use "from" and "to": the template is not "email"',
      };
    }
    return {
      kind: "ok",
      value: {
        ...{ url, template, from: from ?? undefined, to: to ?? undefined },
        plain: authorization ?? undefined,
        keepsHeader: authorization === undefined,
      },
    };
  },
);

/** What is needed besides an alert to show it. */
export interface AlertFacts {
  /** Whether it is raised. */
  readonly state: AlertState;
  /**
   * A new signing secret, to be shown once.
   *
   * @default none is shown
   */
  readonly secret?: string | null | undefined;
}

/** Fields that clients decide, and those that change with them. */
const DEFINED_TABLE = {
  id: { field: readOnly(shownId("alr")), key: "id" },
  name: {
    field: withDefault(
      text({ maxLength: MAX_NAME_CHARS }),
      "",
      "What messages call it",
    ),
    key: "name",
  },
  when: {
    field: described(WHEN, "When it is raised"),
    key: "when",
    show: ({ when }: Alert) => viewRule(when),
  },
  send: {
    field: described(
      SEND,
      "Where it is told that it is raised or over; a change replaces it as a " +
        "whole, but keeps `authorization` while it has the same `url`",
    ),
    key: "send",
    show: ({ send: { authorization, ...send } }: Alert) => ({
      ...send,
      has_authorization: authorization !== undefined,
    }),
  },
  quiet: {
    field: withDefault(
      durationMs({ minimumMs: 0, maximumMs: DAY_MS }),
      "PT5M",
      "How long after it was raised it is not raised again",
    ),
    key: "quietMs",
    show: ({ quietMs }: Alert) => formatMs(quietMs),
  },
  enabled: {
    field: withDefault(boolean(), true, "Whether it is judged"),
    key: "isEnabled",
  },
  created_at: {
    field: readOnly(shownTime("When it was created")),
    show: ({ createdAtMs }: Alert) => utcTime(createdAtMs),
  },
} as const satisfies RecordTable<Alert, AlertFacts>;

/** The fields of an alert. */
export const ALERT_TABLE = {
  ...DEFINED_TABLE,
  condition: {
    field: readOnly(text(), "`when` in words"),
    show: ({ when }: Alert) => describeRule(when),
  },
  raised_at: {
    field: readOnly(
      nullable(dateTime()),
      "Since when it is raised; null when it is not",
    ),
    show: (_: Alert, { state }: AlertFacts) => optionalTime(state.raisedAtMs),
  },
  last_raised_at: {
    field: readOnly(nullable(dateTime()), "When it was last raised"),
    show: (_: Alert, { state }: AlertFacts) => optionalTime(state.toldAtMs),
  },
  signing_secret: {
    field: readOnly(
      nullable(text()),
      "The secret that signs messages of the template `standard` (`whsec_…`), " +
        "shown once: in the answer that made it",
    ),
    show: (_: Alert, { secret }: AlertFacts) => secret,
  },
  updated_at: {
    field: readOnly(shownTime("When it was last changed")),
    show: ({ updatedAtMs }: Alert) => utcTime(updatedAtMs),
  },
  version: {
    field: readOnly(
      integer({ minimum: 1 }),
      "Grows by one with each change of its definition",
    ),
    key: "version",
  },
} as const satisfies RecordTable<Alert, AlertFacts>;

/** The fields that are compared with the record where a client sends them. */
export const DEFINED_FIELDS: FieldsOf<typeof DEFINED_TABLE> = toFields(
  DEFINED_TABLE,
);

const ALERT_FIELDS: FieldsOf<typeof ALERT_TABLE> = toFields(ALERT_TABLE);

/** An alert as the API shows it. */
export const viewAlert: (alert: Alert, facts: AlertFacts) => RecordView =
  createViewer(ALERT_TABLE);

/** The body that creates an alert. */
export type NewAlert = ObjectOf<typeof ALERT_FIELDS>;

/** The body that changes an alert; null resets a field. */
export type AlertChanges = ObjectOf<ChangesOf<typeof ALERT_FIELDS>>;

/** An example of a body that creates an alert. */
export const ALERT_EXAMPLE = {
  when: { count: "failed", over: 10, within: "PT5M" },
  send: { url: "https://hooks.slack.com/services/T0/B0/x", template: "slack" },
} as const;

/** The schema of an alert, to be created or as it is shown. */
export const ALERT: Schema<NewAlert> = named("Alert", object(ALERT_FIELDS), {
  description: "A condition on what tasks do that is told when it comes true",
  examples: [ALERT_EXAMPLE],
});

/** The schema of a body that changes an alert. */
export const ALERT_CHANGES: Schema<AlertChanges> = changesSchema(
  "AlertChanges",
  ALERT_FIELDS,
  { when: { nothing: "completed", for: "PT10M" } },
);

function viewRule(rule: AlertRule): RecordView {
  const { count, over, withinMs, workerId, job } = rule;
  const time = formatMs(withinMs);
  return {
    ...over === undefined
      ? { nothing: count, for: time }
      : { count, over, within: time },
    worker: workerId,
    job,
  };
}
