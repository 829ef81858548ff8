/**
 * Deliveries of webhooks: their list on the page of a webhook, and the page of
 * each with what was sent and came back.
 *
 * @module
 */

import type { VNode } from "preact";
import { CsrfField } from "../../shared/console/layout.tsx";
import {
  Badge,
  Code,
  FactList,
  formatLength,
  Live,
  Note,
  Time,
  type Tone,
} from "../../shared/console/parts.tsx";
import { Pager, Table } from "../../shared/console/table.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
  withQuery,
} from "./page.ts";
import { prettyJson, TaskLink } from "./task_parts.tsx";
import type { ShownAttempt } from "./task_spans.ts";

/** Deliveries of a page. */
const LIMIT = 25;

const STATUSES = ["pending", "sending", "retrying", "delivered", "failed"];

/** A delivery as the API shows it. */
export interface ShownDelivery {
  /** Begins with `dlv_`. */
  readonly id: string;
  /** The id of the webhook. */
  readonly webhook: string;
  /** The id of the event and of the call. */
  readonly event: string;
  /** The type of the event. */
  readonly type: string;
  /** The task or worker that it is about. */
  readonly task: string | null;
  /** Its status, such as `delivered`. */
  readonly status: string;
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

interface ShownDetail extends ShownDelivery {
  readonly request: string;
  readonly answer: string | null;
  readonly log: readonly ShownAttempt[];
}

/** Asks for the deliveries of a webhook that the page's query selects. */
export async function askDeliveries(
  page: PageCall,
  webhookId: string,
): Promise<ShownList<ShownDelivery>> {
  const status = page.query.get("status") ?? "";
  const cursor = page.query.get("cursor") ?? "";
  const asked = Object.entries({
    webhook: webhookId,
    status: STATUSES.includes(status) ? status : "",
    cursor,
    limit: String(LIMIT),
  }).filter(([, value]) => value !== "");
  const { status: code, body } = await page.ask({
    path: "/v1/deliveries",
    query: new URLSearchParams(asked),
  });
  return code < 400
    ? body as ShownList<ShownDelivery>
    : { data: [], next: null };
}

const TONES: Readonly<Record<string, Tone>> = {
  pending: "calm",
  sending: "busy",
  retrying: "warn",
  delivered: "good",
  failed: "bad",
};

function DeliveryBadge({ status }: { readonly status: string }): VNode {
  return <Badge tone={TONES[status] ?? "dim"}>{status}</Badge>;
}

/** The list of a webhook's deliveries, the newest first. */
export function Deliveries(
  { page, list }: {
    readonly page: PageCall;
    readonly list: ShownList<ShownDelivery>;
  },
): VNode {
  const { base, nowMs, query } = page;
  const [here = ""] = page.path.split("?", 1);
  const status = query.get("status") ?? undefined;
  const rows = list.data;
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      <nav class="row section" aria-label="Deliveries by status">
        {[undefined, ...STATUSES].map((one) => (
          <a
            href={withQuery(here, { status: one })}
            aria-current={one === status ? "true" : undefined}
          >
            {one ?? "all"}
          </a>
        ))}
      </nav>
      {rows.length === 0
        ? <p class="dim">There is no delivery.</p>
        : (
          <Live id="delivery-list">
            <Table
              label="Deliveries"
              rows={rows}
              columns={[
                {
                  name: "Event",
                  cell: ({ id, type }) => (
                    <a href={`${base}/deliveries/${id}`}>{type}</a>
                  ),
                },
                {
                  name: "Status",
                  cell: ({ status }) => <DeliveryBadge status={status} />,
                },
                {
                  name: "About",
                  cell: ({ task }) => <About base={base} task={task} />,
                },
                {
                  name: "Made",
                  cell: ({ created_at: at }) => <Time at={at} nowMs={nowMs} />,
                },
                {
                  name: "Tries",
                  isNumber: true,
                  cell: ({ attempts }) => attempts,
                },
                {
                  name: "Error",
                  cell: ({ error }) =>
                    error === null
                      ? null
                      : (
                        <span class="bad" title={error.message}>
                          {error.code}
                        </span>
                      ),
                },
              ]}
            />
          </Live>
        )}
      <Pager
        first={query.has("cursor") ? withQuery(here, { status }) : undefined}
        next={list.next === null
          ? undefined
          : withQuery(here, { status, cursor: list.next })}
      />
    </section>
  );
}

function About(
  { base, task }: { readonly base: string; readonly task: string | null },
): VNode | null {
  if (task === null) return null;
  return task.startsWith("tsk_")
    ? <TaskLink base={base} id={task} />
    : <span class="mono">{task}</span>;
}

/** Shows a delivery. */
export async function deliveryPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const answer = await page.ask({ path: deliveryPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const delivery = answer.body as ShownDetail;
  const { status, error, log } = delivery;
  return {
    kind: "page",
    title: `Delivery of ${delivery.type}`,
    heading: <span>{delivery.type}</span>,
    actions: (
      <a class="button" href={`${base}/webhooks/${delivery.webhook}`}>
        To the webhook
      </a>
    ),
    content: (
      <>
        <Live id="delivery">
          <Note tone={TONES[status] ?? "busy"}>
            <p class="lead">
              <DeliveryBadge status={status} />{" "}
              {`Tries so far: ${delivery.attempts}.`}
              {delivery.next_at === null ? null : (
                <>
                  {" "}It is sent again at <Time at={delivery.next_at} />.
                </>
              )}
            </p>
            {error === null ? null : <p>{`${error.code}: ${error.message}`}</p>}
          </Note>
        </Live>
        {may(page, "webhooks:write") ? <Again page={page} /> : null}
        <div class="grid">
          <section aria-labelledby="facts">
            <h2 id="facts">Facts</h2>
            <FactList
              facts={[
                ["webhook-id", <code>{delivery.event}</code>],
                ["About", <About base={base} task={delivery.task} />],
                ["Made", <Time at={delivery.created_at} />],
                [
                  "Ended",
                  delivery.ended_at && <Time at={delivery.ended_at} />,
                ],
              ]}
            />
          </section>
          <section aria-labelledby="bodies">
            <h2 id="bodies">Request and answer</h2>
            <Code id="request" name="Request" text={pretty(delivery.request)} />
            {delivery.answer === null || delivery.answer === ""
              ? <p class="dim">No body came back.</p>
              : <Code id="answer" name="Answer" text={delivery.answer} wraps />}
          </section>
        </div>
        <Tries log={log} nowMs={nowMs} />
      </>
    ),
  };
}

function Tries(
  { log, nowMs }: {
    readonly log: readonly ShownAttempt[];
    readonly nowMs: number;
  },
): VNode | null {
  if (log.length === 0) return null;
  return (
    <section aria-labelledby="tries">
      <h2 id="tries">Tries</h2>
      <Table
        label="Tries"
        rows={log}
        columns={[
          {
            name: "Sent",
            cell: ({ started_at: at }) => <Time at={at} nowMs={nowMs} />,
          },
          {
            name: "Took",
            cell: ({ started_at: at, ended_at: end }) =>
              formatLength(
                (end === null ? nowMs : Date.parse(end)) - Date.parse(at),
              ),
          },
          {
            name: "Outcome",
            cell: ({ outcome, error }) => error?.code ?? outcome,
          },
        ]}
      />
    </section>
  );
}

function Again({ page }: { readonly page: PageCall }): VNode {
  return (
    <section aria-label="Actions">
      <form method="post" action={page.path.split("?", 1)[0]} class="row">
        <CsrfField csrf={page.csrf} />
        <button type="submit">Send again</button>
      </form>
    </section>
  );
}

function pretty(json: string): string {
  try {
    return prettyJson(JSON.parse(json));
  } catch {
    // It is shown as it was sent.
    return json;
  }
}

function deliveryPath({ params: { id = "" } }: PageCall): string {
  return `/v1/deliveries/${encodeURIComponent(id)}`;
}

/** Sends the event of a delivery again. */
export async function redeliver(page: PageCall): Promise<PageAnswer> {
  const path = `${deliveryPath(page)}/redeliver`;
  const answer = await page.ask({ method: "POST", path });
  const [here = ""] = page.path.split("?", 1);
  return refusalOf(answer) ?? { kind: "redirect", to: `${here}?done=again` };
}
