/**
 * The pages of alerts: the list, and each with its state and its messages.
 *
 * @module
 */

import type { VNode } from "preact";
import {
  Badge,
  Empty,
  FactList,
  Live,
  Note,
  Time,
} from "../../../shared/console/parts.tsx";
import { Table } from "../../../shared/console/table.tsx";
import { CallResult, type ShownResult } from "../parts/call_result.tsx";
import {
  may,
  type PageAnswer,
  type PageCall,
  refusalOf,
  type ShownList,
} from "../parts/page.ts";
import {
  actOnReceiver,
  askNewest,
  NewestDeliveries,
  ReceiverActions,
} from "../webhooks/receiver_parts.tsx";
import { durationWords } from "../tasks/task_parts.tsx";

/** An alert, with the fields that pages show. */
export interface ShownAlert {
  /** Begins with `alr_`. */
  readonly id: string;
  /** What it is called; empty without a name. */
  readonly name: string;
  /** When it is raised. */
  readonly when: {
    /** What is counted; absent with `nothing`. */
    readonly count?: string;
    /** How many are no reason. */
    readonly over?: number;
    /** Within which time, in ISO 8601. */
    readonly within?: string;
    /** What there is none of; absent with `count`. */
    readonly nothing?: string;
    /** For which time, in ISO 8601. */
    readonly for?: string;
    /** The id of the only worker that is looked at. */
    readonly worker?: string;
    /** The only job that is looked at. */
    readonly job?: string;
  };
  /** Where it is told. */
  readonly send: {
    /** The address of the messages. */
    readonly url: string;
    /** The form of the messages. */
    readonly template: string;
    /** Who e-mails are from. */
    readonly from?: string;
    /** Who e-mails are to. */
    readonly to?: string;
    /** Whether calls have a header `Authorization`. */
    readonly has_authorization: boolean;
  };
  /** How long it is not raised again, in ISO 8601. */
  readonly quiet: string;
  /** Whether it is judged. */
  readonly enabled: boolean;
  /** `when` in words. */
  readonly condition: string;
  /** Since when it is raised; null when it is not. */
  readonly raised_at: string | null;
  /** When it was last raised. */
  readonly last_raised_at: string | null;
  /** The secret of its calls; in the answer that made it alone. */
  readonly signing_secret?: string | null;
  /** When it was created. */
  readonly created_at: string;
  /** When its definition changed last. */
  readonly updated_at: string;
}

/** More alerts than a tenant has. */
const ALL = new URLSearchParams({ limit: "100" });

/** What an alert is called: its name, or else its condition. */
export function alertName(
  { name, condition }: Pick<ShownAlert, "name" | "condition">,
): string {
  return name === "" ? condition : name;
}

/** The path of the API of the alert that a page is of. */
export function alertPath({ params: { id = "" } }: PageCall): string {
  return `/v1/alerts/${encodeURIComponent(id)}`;
}

/** All alerts that the reader sees. */
export async function askAlerts(
  page: PageCall,
): Promise<readonly ShownAlert[]> {
  if (!may(page, "webhooks:read")) return [];
  const { status, body } = await page.ask({ path: "/v1/alerts", query: ALL });
  return status === 200 ? (body as ShownList<ShownAlert>).data : [];
}

function AlertBadge({ alert }: { readonly alert: ShownAlert }): VNode {
  if (!alert.enabled) return <Badge tone="dim" isHollow>disabled</Badge>;
  return alert.raised_at === null
    ? <Badge tone="good" isHollow>quiet</Badge>
    : <Badge tone="bad">raised</Badge>;
}

/** Shows all alerts. */
export async function alertListPage(page: PageCall): Promise<PageAnswer> {
  const { base, nowMs } = page;
  const answer = await page.ask({ path: "/v1/alerts", query: ALL });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const { data } = answer.body as ShownList<ShownAlert>;
  const path = `${base}/alerts`;
  return {
    kind: "page",
    title: "Alerts",
    actions: may(page, "webhooks:write")
      ? <a class="button primary" href={`${path}/new`}>New alert</a>
      : null,
    content: data.length === 0
      ? (
        <Empty>
          <p>
            There are no alerts yet. An alert tells Slack, Discord, an e-mail
            gateway or a program of yours when too much fails, or nothing
            happens.
          </p>
        </Empty>
      )
      : (
        <Live id="alerts">
          <Table
            label="Alerts"
            rows={data}
            columns={[
              {
                name: "Alert",
                cell: (alert) => (
                  <a href={`${path}/${alert.id}`}>{alertName(alert)}</a>
                ),
              },
              {
                name: "State",
                isShort: true,
                cell: (alert) => <AlertBadge alert={alert} />,
              },
              { name: "Raised when", cell: ({ condition }) => condition },
              {
                name: "Last raised",
                cell: ({ last_raised_at: at }) =>
                  at === null
                    ? <span class="dim">never</span>
                    : <Time at={at} nowMs={nowMs} />,
              },
              { name: "Told as", cell: ({ send }) => send.template },
            ]}
          />
        </Live>
      ),
  };
}

/** Shows an alert. */
export async function alertPage(page: PageCall): Promise<PageAnswer> {
  return await showAlert(page);
}

/** Does what a button of an alert's page says. */
export async function actOnAlert(page: PageCall): Promise<PageAnswer> {
  return await actOnReceiver(page, { path: alertPath(page), show: showAlert });
}

async function showAlert(
  page: PageCall,
  result?: ShownResult,
): Promise<PageAnswer> {
  const { base } = page;
  const answer = await page.ask({ path: alertPath(page) });
  const refusal = refusalOf(answer);
  if (refusal !== undefined) return refusal;
  const alert = answer.body as ShownAlert;
  const deliveries = await askNewest(page, alert.id);
  const isWriter = may(page, "webhooks:write");
  return refusalOf(deliveries) ?? {
    kind: "page",
    title: `Alert ${alertName(alert)}`,
    heading: <span>{alertName(alert)}</span>,
    actions: isWriter
      ? <a class="button" href={`${base}/alerts/${alert.id}/edit`}>Edit</a>
      : null,
    content: (
      <>
        <Live id="alert">
          <Note tone={alert.raised_at === null ? "busy" : "bad"}>
            <p class="lead">
              <AlertBadge alert={alert} /> <Sentence alert={alert} />
            </p>
          </Note>
        </Live>
        {isWriter
          ? (
            <ReceiverActions
              page={page}
              isEnabled={alert.enabled}
              question="Remove this alert? Messages that wait are not sent."
            />
          )
          : null}
        {result === undefined ? null : <CallResult result={result} />}
        <Definition alert={alert} base={base} />
        <NewestDeliveries page={page} id={alert.id} answer={deliveries} />
      </>
    ),
  };
}

function Sentence({ alert }: { readonly alert: ShownAlert }): VNode {
  const { condition, enabled, raised_at: at } = alert;
  if (!enabled) return <span>It is not judged.</span>;
  return at === null ? <span>{`It is raised when ${condition}.`}</span> : (
    <span>
      Since <Time at={at} />
      {`: ${condition}.`}
    </span>
  );
}

function Definition(
  { alert: { when, send, ...alert }, base }: {
    readonly alert: ShownAlert;
    readonly base: string;
  },
): VNode {
  const { worker } = when;
  const { last_raised_at: at } = alert;
  return (
    <section aria-labelledby="definition">
      <h2 id="definition">Definition</h2>
      <FactList
        facts={[
          ["Id", <code>{alert.id}</code>],
          ["Raised when", alert.condition],
          [
            "Worker",
            worker && <a href={`${base}/workers/${worker}`}>{worker}</a>,
          ],
          ["Job", when.job],
          ["Told as", send.template],
          ["URL", <code>{send.url}</code>],
          ["From", send.from],
          ["To", send.to],
          ["Authorization", send.has_authorization ? "sealed" : null],
          ["Raised again after", durationWords(alert.quiet)],
          ["Last raised", at && <Time at={at} />],
          ["Created", <Time at={alert.created_at} />],
          ["Changed", <Time at={alert.updated_at} />],
        ]}
      />
    </section>
  );
}
