/**
 * Deliveries of webhooks and alerts as the API shows them, and the parts of
 * pages that show them.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, Time, type Tone } from "../../../shared/console/parts.tsx";
import { type Column, Table } from "../../../shared/console/table.tsx";
import type { PageCall, Texts } from "../parts/page.ts";
import type { ShownAttempt } from "../tasks/task_spans.ts";

/** A delivery, with the fields that pages show. */
export type ShownDelivery =
  & Texts<
    "id" | "webhook" | "event" | "type" | "created_at",
    "task" | "next_at" | "ended_at"
  >
  & {
    /** How far it has come. */
    readonly status: keyof typeof DELIVERY_TONES;
    /** How often it was sent. */
    readonly attempts: number;
    /** Why it last failed. */
    readonly error: { readonly code: string; readonly message: string } | null;
  };

/** A delivery with what was sent and came back. */
export type ShownDeliveryDetail = ShownDelivery & {
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
};

/** The statuses of deliveries, each with its colour. */
export const DELIVERY_TONES = {
  pending: "calm",
  sending: "busy",
  retrying: "warn",
  delivered: "good",
  failed: "bad",
} as const satisfies Readonly<Record<string, Tone>>;

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
  { page: { base, nowMs }, deliveries, names }: {
    readonly page: PageCall;
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
        { name: "Made", at: ({ created_at: at }) => at, nowMs },
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
