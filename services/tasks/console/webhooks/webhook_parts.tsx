/**
 * Webhooks and their deliveries as the API shows them, and the parts of pages
 * that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  formatCount,
  Time,
  type Tone,
} from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import type { ShownAttempt } from "../tasks/task_spans.ts";

/** A webhook, with the fields that pages show. */
export interface ShownWebhook {
  /** Begins with `whk_`. */
  readonly id: string;
  /** What it is called; empty without a name. */
  readonly name: string;
  /** Where events are sent. */
  readonly url: string;
  /** The types that are sent; `task.*` stands for all that begin so. */
  readonly types: readonly string[];
  /** The id of the only worker whose events are sent. */
  readonly worker: string | null;
  /** The only job whose events are sent. */
  readonly job: string | null;
  /** The only group whose events are sent. */
  readonly group: string | null;
  /** Whether events are sent. */
  readonly enabled: boolean;
  /** Why the service has disabled it. */
  readonly disabled_reason: "gone" | "failing" | null;
  /** Since when it is disabled. */
  readonly disabled_at: string | null;
  /** Since when each call has failed. */
  readonly failing_since: string | null;
  /** How many deliveries are under way. */
  readonly open_deliveries: number;
  /** When events were last lost to it. */
  readonly missed_at: string | null;
  /** The secret of its calls; in the answer that made it alone. */
  readonly signing_secret?: string | null;
  /** When it was created. */
  readonly created_at: string;
  /** When its definition changed last. */
  readonly updated_at: string;
}

/** What a webhook is called: its name, or else its address. */
export function webhookName(
  { name, url }: Pick<ShownWebhook, "name" | "url">,
): string {
  return name === "" ? url : name;
}

/** Whether a webhook needs attention. */
export function isTroubled(webhook: ShownWebhook): boolean {
  return webhook.disabled_reason !== null ||
    webhook.enabled && webhook.failing_since !== null;
}

/** The state of a webhook in a word. */
export function WebhookBadge(
  { webhook }: { readonly webhook: ShownWebhook },
): VNode {
  const { enabled, disabled_reason: reason, failing_since: failing } = webhook;
  if (!enabled) {
    return (
      <Badge tone={reason === null ? "dim" : "bad"} isHollow>disabled</Badge>
    );
  }
  return failing === null
    ? <Badge tone="good">enabled</Badge>
    : <Badge tone="bad">failing</Badge>;
}

/** Says in a sentence how a webhook is. */
export function WebhookSentence(
  { webhook }: { readonly webhook: ShownWebhook },
): VNode {
  const { enabled, open_deliveries: open } = webhook;
  if (!enabled) {
    const why = webhook.disabled_reason === "gone"
      ? ": it answered 410, so its receiver is gone"
      : webhook.disabled_reason === "failing"
      ? ": each call of 5 days had failed"
      : "";
    return (
      <span>
        It is sent nothing since <Time at={webhook.disabled_at} />
        {`${why}.`}
      </span>
    );
  }
  const waiting = open === 0
    ? "No delivery is under way."
    : `${formatCount(open)} ${
      open === 1 ? "delivery is" : "deliveries are"
    } under way.`;
  return webhook.failing_since === null ? <span>{waiting}</span> : (
    <span>
      Each call has failed since <Time at={webhook.failing_since} />
      {`. ${waiting} It is disabled after 5 days.`}
    </span>
  );
}

/** A delivery, with the fields that pages show. */
export interface ShownDelivery {
  /** Begins with `dlv_`. */
  readonly id: string;
  /** The id of the webhook, or of the alert. */
  readonly webhook: string;
  /** The id of the event, which is the `webhook-id` of each call. */
  readonly event: string;
  /** The type of the event. */
  readonly type: string;
  /** The task, worker or alert that it is about. */
  readonly task: string | null;
  /** How far it has come. */
  readonly status: "pending" | "sending" | "retrying" | "delivered" | "failed";
  /** How often it was sent. */
  readonly attempts: number;
  /** When it was made. */
  readonly created_at: string;
  /** When it is sent again. */
  readonly next_at: string | null;
  /** When it was taken or given up. */
  readonly ended_at: string | null;
  /** Why it last failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** A delivery with what was sent and came back. */
export interface ShownDeliveryDetail extends ShownDelivery {
  /** The body that is sent. */
  readonly request: string;
  /** The beginning of the body that came back last. */
  readonly answer: string | null;
  /** Each try. */
  readonly log: readonly (ShownAttempt & {
    /** How long the call took, in milliseconds. */
    readonly duration: number | null;
    /** What the receiver answered. */
    readonly http: { readonly status: number } | null;
  })[];
}

/** The statuses of deliveries, each with its colour. */
export const DELIVERY_TONES: Readonly<Record<ShownDelivery["status"], Tone>> = {
  pending: "calm",
  sending: "busy",
  retrying: "warn",
  delivered: "good",
  failed: "bad",
};

/** The status of a delivery. */
export function DeliveryBadge(
  { status }: Pick<ShownDelivery, "status">,
): VNode {
  return (
    <Badge tone={DELIVERY_TONES[status]} isHollow={status === "pending"}>
      {status}
    </Badge>
  );
}

/** What a delivery is about, with a link where it has a page. */
export function Subject(
  { base, id }: { readonly base: string; readonly id: string | null },
): VNode | null {
  if (id === null) return null;
  const room = { tsk: "tasks", wrk: "workers", alr: "alerts" }[id.slice(0, 3)];
  return room === undefined
    ? <span class="mono">{id}</span>
    : (
      <a class="mono" href={`${base}/${room}/${encodeURIComponent(id)}`}>
        {id}
      </a>
    );
}

/** A table of deliveries. */
export function DeliveryTable(
  { base, nowMs, deliveries, names }: {
    /** The path of the console. */
    readonly base: string;
    /** The present, in milliseconds since the epoch. */
    readonly nowMs: number;
    readonly deliveries: readonly ShownDelivery[];
    /**
     * What their receivers are called, by id.
     * @default all have the same, which is not shown
     */
    readonly names?: ReadonlyMap<string, string>;
  },
): VNode {
  const receiver: Column<ShownDelivery> = {
    name: "To",
    cell: ({ webhook }) => names?.get(webhook) ?? webhook,
  };
  return (
    <Table
      label="Deliveries, the newest first"
      rows={deliveries}
      columns={[
        {
          name: "Event",
          isShort: true,
          cell: ({ id, type }) => (
            <a href={`${base}/deliveries/${id}`}>{type}</a>
          ),
        },
        {
          name: "Status",
          cell: ({ status }) => <DeliveryBadge status={status} />,
        },
        ...(names === undefined ? [] : [receiver]),
        {
          name: "About",
          cell: ({ task }) => <Subject base={base} id={task} />,
        },
        {
          name: "Made",
          cell: ({ created_at: at }) => <Time at={at} nowMs={nowMs} />,
        },
        { name: "Calls", isNumber: true, cell: ({ attempts }) => attempts },
        {
          name: "Last error",
          cell: ({ error, next_at: at }) =>
            error === null ? null : (
              <span>
                <span class="bad" title={error.message}>{error.code}</span>
                {at === null ? null : (
                  <span class="dim">
                    {", again "}
                    <Time at={at} nowMs={nowMs} />
                  </span>
                )}
              </span>
            ),
        },
      ]}
    />
  );
}
