/**
 * The fields of webhooks, as the API reads and shows them.
 *
 * @module
 */

import { list, nullable } from "../../../shared/schema/composite.ts";
import {
  type ChangesOf,
  object,
  type ObjectOf,
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
import { optionalTime, utcTime } from "../../domain/instant.ts";
import type { Webhook } from "../../domain/records.ts";
import { dateTime, MAX_URL_CHARS } from "../../domain/value_schemas.ts";
import { MAX_OPEN_DELIVERIES } from "../../engine/webhooks/webhook_feed.ts";
import type { WebhookState } from "../../engine/webhooks/webhook_state.ts";
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

const MAX_TYPES = 50;
const MAX_NAME_CHARS = 128;

const NAME = text({ minLength: 1, maxLength: MAX_NAME_CHARS });

/** What is needed besides a webhook to show it. */
export interface WebhookFacts {
  /** What is known of it now. */
  readonly state: WebhookState;
  /**
   * A new signing secret, to be shown once.
   *
   * @default none is shown
   */
  readonly secret?: string | null | undefined;
}

/** Fields that clients decide, and those that change with them. */
const DEFINED_TABLE = {
  id: { field: readOnly(shownId("whk")), key: "id" },
  url: {
    field: described(
      text({ minLength: 1, maxLength: MAX_URL_CHARS }),
      "Where events are sent, by POST",
    ),
    key: "url",
  },
  name: {
    field: withDefault(
      text({ maxLength: MAX_NAME_CHARS }),
      "",
      "What it is called",
    ),
    key: "name",
  },
  types: {
    field: withDefault(
      list(text({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: MAX_TYPES,
      }),
      ["task.*"],
      "The types of events that are sent; `task.*` stands for all that " +
        "begin so",
    ),
    key: "types",
  },
  worker: {
    field: settable(
      NAME,
      "Only events of this worker and its tasks: an id or a name",
    ),
    key: "workerId",
    show: ({ workerId }: Webhook) => workerId ?? null,
  },
  job: {
    field: settable(NAME, "Only events of tasks of this job"),
    key: "job",
    show: ({ job }: Webhook) => job ?? null,
  },
  group: {
    field: settable(NAME, "Only events of tasks of this group"),
    key: "group",
    show: ({ group }: Webhook) => group ?? null,
  },
  enabled: {
    field: withDefault(
      boolean(),
      true,
      "Whether events are sent. One that is enabled again gets what happens " +
        "from then on",
    ),
    key: "isEnabled",
  },
  created_at: {
    field: readOnly(shownTime("When it was created")),
    show: ({ createdAtMs }: Webhook) => utcTime(createdAtMs),
  },
} as const satisfies RecordTable<Webhook, WebhookFacts>;

/** The fields of a webhook. */
export const WEBHOOK_TABLE = {
  ...DEFINED_TABLE,
  disabled_reason: {
    field: readOnly(
      nullable(choice(["gone", "failing"])),
      "Why the service has disabled it: it answered 410, or each call of the " +
        "last 5 days has failed",
    ),
    show: ({ disabledReason }: Webhook) => disabledReason ?? null,
  },
  disabled_at: {
    field: readOnly(nullable(dateTime()), "Since when it is disabled"),
    show: ({ disabledAtMs }: Webhook) => optionalTime(disabledAtMs),
  },
  failing_since: {
    field: readOnly(
      nullable(dateTime()),
      "Since when each call has failed; null while it answers",
    ),
    show: (_: Webhook, { state }: WebhookFacts) =>
      optionalTime(state.health?.failingSinceMs),
  },
  open_deliveries: {
    field: readOnly(
      integer({ minimum: 0 }),
      `How many deliveries are under way. At ${MAX_OPEN_DELIVERIES} further ` +
        "events wait in the log, which has those of a day",
    ),
    show: (_: Webhook, { state }: WebhookFacts) => state.open,
  },
  missed_at: {
    field: readOnly(
      nullable(dateTime()),
      "When events were last gone from the log before there was room for them",
    ),
    show: (_: Webhook, { state }: WebhookFacts) =>
      optionalTime(state.place?.missedAtMs),
  },
  signing_secret: {
    field: readOnly(
      nullable(text()),
      "The secret that signs its calls (`whsec_…`), shown once: in the answer " +
        "that made it",
    ),
    show: (_: Webhook, { secret }: WebhookFacts) => secret,
  },
  updated_at: {
    field: readOnly(shownTime("When it was last changed")),
    show: ({ updatedAtMs }: Webhook) => utcTime(updatedAtMs),
  },
  version: {
    field: readOnly(
      integer({ minimum: 1 }),
      "Grows by one with each change of its definition",
    ),
    key: "version",
  },
} as const satisfies RecordTable<Webhook, WebhookFacts>;

/** The fields that are compared with the record where a client sends them. */
export const DEFINED_FIELDS: FieldsOf<typeof DEFINED_TABLE> = toFields(
  DEFINED_TABLE,
);

const WEBHOOK_FIELDS: FieldsOf<typeof WEBHOOK_TABLE> = toFields(WEBHOOK_TABLE);

/** A webhook as the API shows it. */
export const viewWebhook: (
  webhook: Webhook,
  facts: WebhookFacts,
) => RecordView = createViewer(WEBHOOK_TABLE);

/** The body that creates a webhook. */
export type NewWebhook = ObjectOf<typeof WEBHOOK_FIELDS>;

/** The body that changes a webhook; null resets a field. */
export type WebhookChanges = ObjectOf<ChangesOf<typeof WEBHOOK_FIELDS>>;

/** An example of a body that creates a webhook. */
export const WEBHOOK_EXAMPLE = {
  url: "https://example.com/hooks/tasks",
  types: ["task.failed", "worker.*"],
} as const;

/** The schema of a webhook, to be created or as it is shown. */
export const WEBHOOK: Schema<NewWebhook> = named(
  "Webhook",
  object(WEBHOOK_FIELDS),
  {
    description: "An address that events are sent to",
    examples: [WEBHOOK_EXAMPLE],
  },
);

/** The schema of a body that changes a webhook. */
export const WEBHOOK_CHANGES: Schema<WebhookChanges> = changesSchema(
  "WebhookChanges",
  WEBHOOK_FIELDS,
  { types: ["task.failed"] },
);
